package matchers_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("HaveStdoutLines", func() {
	verdicts("HaveStdoutLines", func() []verdict {
		return []verdict{
			{"same lines", HaveStdoutLines("a", "b"), wrote("a\nb\n", ""), true},
			{"without a last line end", HaveStdoutLines("a", "b"), wrote("a\nb", ""), true},
			{"of Windows", HaveStdoutLines("a", "b"), wrote("a\r\nb\r\n", ""), true},
			{"lines that satisfy", HaveStdoutLines("a", HavePrefix("b")), wrote("a\nbc\n", ""), true},
			{"lone matcher", HaveStdoutLines(ContainElement("b")), wrote("a\nb\n", ""), true},
			{"no line", HaveStdoutLines(), wrote("", "warning"), true},
			{"empty line", HaveStdoutLines(""), wrote("\n", ""), true},
			{"other line", HaveStdoutLines("a", "x"), wrote("a\nb\n", ""), false},
			{"line that does not satisfy", HaveStdoutLines("a", HavePrefix("x")), wrote("a\nb\n", ""), false},
			{"line too few", HaveStdoutLines("a", "b"), wrote("a\n", ""), false},
			{"line too many", HaveStdoutLines("a"), wrote("a\nb\n", ""), false},
			{"other order", HaveStdoutLines("b", "a"), wrote("a\nb\n", ""), false},
			{"lone matcher says no", HaveStdoutLines(HaveLen(3)), wrote("a\nb\n", ""), false},
			{"redacted", HaveStdoutLines("secret", "x").Redacted(), wrote("secret\nb\n", ""), false},
			{"truncated", HaveStdoutLines("a"), wrote("a\nb\n", "", func(cmd *runner.Cmd) {
				cmd.Output.Stdout = runner.Stream{Policy: runner.Head, MaxBytes: 3}
			}), false},
		}
	})

	It("refuses what is neither a string nor a matcher", func() {
		_, err := HaveStdoutLines("a", 3).Match(wrote("a\n", ""))
		Expect(err).To(MatchError("matchers: HaveStdoutLines takes strings and matchers, not int"))
	})
})

var _ = Describe("HaveOutput", func() {
	verdicts("HaveOutput", func() []verdict {
		return []verdict{
			{"both, one after the other", HaveOutput("ab"), wrote("a", "b"), true},
			{"in one of them", HaveOutput(ContainSubstring("deprecated")), wrote("a\n", "deprecated\n"), true},
			{"nothing at all", HaveOutput(""), wrote("", ""), true},
			{"something", HaveOutput(""), wrote("", "warning\n"), false},
			{"in neither", HaveOutput(ContainSubstring("x")), wrote("a\n", "b\n"), false},
		}
	})
})

var _ = Describe("HaveTruncated", func() {
	head := func(cmd *runner.Cmd) { cmd.Output = runner.Both(runner.Stream{Policy: runner.Head, MaxBytes: 4}) }
	verdicts("HaveTruncated", func() []verdict {
		return []verdict{
			{"either", HaveTruncated(), wrote("", "12345", head), true},
			{"that stream", HaveTruncated(runner.Stderr), wrote("", "12345", head), true},
			{"both streams", HaveTruncated(runner.Stdout, runner.Stderr), wrote("12345", "12345", head), true},
			{"overflowed", HaveTruncated(), wrote("12345", "", func(cmd *runner.Cmd) {
				cmd.Output.Stdout.MaxBytes = 4
			}), true},
			{"the other stream", HaveTruncated(runner.Stdout), wrote("", "12345", head), false},
			{"none", HaveTruncated(), wrote("1234", "1234", head), false},
		}
	})
})

var _ = Describe("HaveBeenReplayed", func() {
	verdicts("HaveBeenReplayed", func() []verdict {
		return []verdict{
			{"replayed", HaveBeenReplayed(), result(fake.Script{Teardown: held, Replayed: true}), true},
			{"not replayed", HaveBeenReplayed(), ended(runner.Exited(0)), false},
		}
	})
})

var _ = Describe("HaveDuration", func() {
	verdicts("HaveDuration", func() []verdict {
		return []verdict{
			{"that", HaveDuration(12 * time.Millisecond), ended(runner.Exited(0)), true},
			{"short enough", HaveDuration(BeNumerically("<", time.Second)), ended(runner.Exited(0)), true},
			{"too short", HaveDuration(BeNumerically(">", time.Second)), ended(runner.Exited(0)), false},
			{"other", HaveDuration(time.Second), ended(runner.TimedOut, timeout(time.Second)), false},
		}
	})

	It("has no verdict on a replay that does not know", func() {
		p, err := fake.Play(GinkgoT().Context(), runner.Command("tool"), fake.Script{Replayed: true})
		Expect(err).NotTo(HaveOccurred())
		for _, m := range []any{HaveDuration(BeNumerically("<", time.Second)), Not(HaveDuration(time.Hour))} {
			_, err = m.(interface{ Match(any) (bool, error) }).Match(p)
			Expect(err).To(MatchError(ContainSubstring("does not say how long")))
		}
	})

	It("refuses an argument that it cannot compare", func() {
		_, err := HaveDuration(3).Match(ended(runner.Exited(0)))
		Expect(err).To(MatchError("matchers: HaveDuration takes one time.Duration or a matcher, not int"))
	})
})
