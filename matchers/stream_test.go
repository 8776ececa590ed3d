package matchers_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gcustom"

	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

func numberedLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

var _ = Describe("HaveStdout", func() {
	verdicts("HaveStdout", func() []verdict {
		hundred := numberedLines(100)
		return []verdict{
			{"same string", HaveStdout("main\n"), wrote("main\n", ""), true},
			{"same bytes", HaveStdout([]byte("\xff\x00")), wrote("\xff\x00", ""), true},
			{"empty", HaveStdout(""), wrote("", ""), true},
			{"pattern", HaveStdout(regexp.MustCompile(`^ma.n$`)), wrote("main", ""), true},
			{"matcher", HaveStdout(ContainSubstring("ai")), wrote("main", ""), true},
			{"one line", HaveStdout("main\n"), wrote("mein\n", ""), false},
			{"a missing line end", HaveStdout("main\n"), wrote("main", ""), false},
			{"nothing at all", HaveStdout("main\n"), wrote("", "ignored"), false},
			{"something instead of nothing", HaveStdout(""), wrote("main\n", ""), false},
			{"a changed line among many", HaveStdout(hundred), wrote(strings.Replace(hundred, "line 50\n", "line fifty\n", 1), ""), false},
			{"a lost line", HaveStdout(hundred), wrote(strings.Replace(hundred, "line 99\n", "", 1), ""), false},
			{
				"a long line", HaveStdout(strings.Repeat("x", 1000) + "a" + strings.Repeat("y", 1000)),
				wrote(strings.Repeat("x", 1000)+"b"+strings.Repeat("y", 1000), ""), false,
			},
			{"bytes that would trick a terminal", HaveStdout("plain"), wrote("\x1b[2Jplain \u202egnp.exe \xff\x00", ""), false},
			{"no match of a pattern", HaveStdout(regexp.MustCompile(`^\d+$`)), wrote("main\nmaster\n", ""), false},
			{"no match in many lines", HaveStdout(ContainSubstring("fifty")), wrote(hundred, ""), false},
			{"truncated", HaveStdout("12345"), wrote("12345", "", func(cmd *runner.Cmd) {
				cmd.Output.Stdout = runner.Stream{Policy: runner.Head, MaxBytes: 3}
			}), false},
			{"redacted", HaveStdout("secret a\n").Redacted(), wrote("secret b\n", ""), false},
			{"redacted pattern", HaveStdout(regexp.MustCompile("^secret a")).Redacted(), wrote("secret b\n", ""), false},
			{"redacted matcher", HaveStdout(ContainSubstring("secret a")).Redacted(), wrote("secret b\n", ""), false},
			{"redacted and there", HaveStdout(ContainSubstring("secret")).Redacted(), wrote("secret b\n", ""), true},
		}
	})

	It("keeps a message within 4 kB, whatever the output", func() {
		huge := strings.Repeat(strings.Repeat("\x00", 2000)+"\n", 2000)
		for _, v := range []any{"x", strings.Repeat("\x01", 1<<20), MatchRegexp("x"), regexp.MustCompile(strings.Repeat("y", 5000))} {
			m := HaveStdout(v)
			Expect(m.Match(wrote(huge, ""))).To(BeFalse())
			Expect(len(m.FailureMessage(nil))).To(BeNumerically("<=", 4096))
			Expect(len(m.NegatedFailureMessage(nil))).To(BeNumerically("<=", 4096))
		}
	})

	It("refuses what it cannot compare", func() {
		for _, v := range []any{3, nil, (*regexp.Regexp)(nil)} {
			_, err := HaveStdout(v).Match(wrote("", ""))
			Expect(err).To(MatchError(HavePrefix("matchers: HaveStdout takes a string, []byte, *regexp.Regexp or matcher, not ")))
		}
	})

	It("passes the failure of a matcher on, without the output where that is redacted", func() {
		broken := gcustom.MakeMatcher(func(got string) (bool, error) { return false, errors.New("cannot read " + got) })
		_, err := HaveStdout(broken).Match(wrote("secret", ""))
		Expect(err).To(MatchError("matchers: the matcher given to HaveStdout cannot judge 6 bytes in 1 line: cannot read secret"))
		_, err = HaveStdout(broken).Redacted().Match(wrote("secret", ""))
		Expect(err).To(MatchError("matchers: the matcher given to HaveStdout cannot judge 6 bytes in 1 line: *errors.errorString"))
	})
})

var _ = Describe("HaveStderr", func() {
	verdicts("HaveStderr", func() []verdict {
		return []verdict{
			{"same string", HaveStderr("oops"), wrote("ignored", "oops"), true},
			{"another string", HaveStderr("oops"), wrote("ignored", "ouch"), false},
			{"truncated", HaveStderr("12345"), wrote("", "12345", func(cmd *runner.Cmd) {
				cmd.Output.Stderr = runner.Stream{Policy: runner.Tail, MaxBytes: 3}
			}), false},
		}
	})
})
