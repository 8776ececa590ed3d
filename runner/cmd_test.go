package runner_test

import (
	"io/fs"
	"strings"
	"time"
	"unicode"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("Cmd", func() {
	It("reveals its argv to who asks by name", func() {
		cmd := runner.Command("/usr/bin/git", "commit", "-m", "first")
		Expect(cmd.Argv()).To(Equal([]string{"/usr/bin/git", "commit", "-m", "first"}))
		Expect(cmd.Program()).To(Equal("git"))
		Expect(cmd.String()).To(Equal(`command "git" with 3 args`))
		cmd.Argv()[1] = "changed"
		Expect(cmd.Argv()[1]).To(Equal("commit"))
	})

	It("writes a command line that a shell reads back as the same arguments", func(ctx SpecContext) {
		args := []string{"plain-1.0_/@:=%+,", "", "two words", "it's", `"$HOME" \ * ? [a] ~ # ; & | > <`, "a\nb\tc", "é\xff"}
		cmd := runner.Command("printf", append([]string{`%s\0`}, args...)...)
		back, err := runner.Run(ctx, runner.Contained{}, shell(cmd.CommandLine()))
		Expect(err).NotTo(HaveOccurred())
		Expect(back).To(HaveStdout(strings.Join(args, "\x00") + "\x00"))
		Expect(runner.Command("ls", "-l", "/tmp").CommandLine()).To(Equal("ls -l /tmp"))
	})

	It("shows a hostile name without its control and bidi characters, and not all of a long one", func() {
		shown := runner.Command("/bin/evil\x1b[31m\n\u202egnp\u2028\u200b\xff").Program()
		Expect(shown).To(HavePrefix("evil"))
		for _, r := range shown {
			Expect(unicode.IsPrint(r)).To(BeTrue(), "%q in %q", r, shown)
		}
		long := runner.Command(strings.Repeat("é", 5000)).Program()
		Expect(len(long)).To(BeNumerically("<=", 200))
		Expect(long).To(HaveSuffix("é..."))
	})

	It("is cloned to be changed", func() {
		cmd := runner.Command("x")
		seen := 0
		one := cmd.Tapped(func(runner.StreamID, []byte) { seen++ })
		two := one.Tapped(func(runner.StreamID, []byte) { seen += 10 })
		three := one.Tapped(func(runner.StreamID, []byte) { seen += 100 })
		run := runner.Finished{Outcome: runner.Exited(0), Stdout: []byte("x")}
		for c, want := range map[*runner.Cmd]int{cmd: 0, one: 1, two: 11, three: 101, two.Clone(): 11} {
			seen = 0
			runner.Settle(c, run)
			Expect(seen).To(Equal(want))
		}
		clone := cmd.Clone()
		clone.Timeout, clone.Dir = time.Second, "/tmp"
		clone.Env = clone.Env.Set("A", "1")
		Expect(cmd.Timeout).To(BeZero())
		Expect(cmd.Dir).To(BeEmpty())
		Expect(cmd.Env.Names()).To(BeEmpty())
	})

	DescribeTable("refuses what makes no sense, and names the field",
		func(ctx SpecContext, field string, spoil func(*runner.Cmd) *runner.Cmd) {
			cmd := spoil(fixture("exit"))
			err := cmd.Validate()
			Expect(err).To(MatchError(runner.ErrInvalid))
			invalid, ok := err.(*runner.InvalidError)
			Expect(ok).To(BeTrue())
			Expect(invalid.Field).To(Equal(field))
			_, err = runner.Contained{}.Start(ctx, cmd)
			Expect(err).To(Equal(invalid))
		},
		Entry("a zero Cmd", "Command", func(*runner.Cmd) *runner.Cmd { return &runner.Cmd{} }),
		Entry("no name", "Command", func(*runner.Cmd) *runner.Cmd { return runner.Command("") }),
		Entry("NUL in the name", "Command", func(*runner.Cmd) *runner.Cmd { return runner.Command("a\x00") }),
		Entry("NUL in an argument", "Command", func(*runner.Cmd) *runner.Cmd { return runner.Command("a", "\x00") }),
		Entry("an unknown policy", "Output", func(c *runner.Cmd) *runner.Cmd { c.Output.Stderr.Policy = 9; return c }),
		Entry("a negative cap", "Output", func(c *runner.Cmd) *runner.Cmd { c.Output.Stdout.MaxBytes = -1; return c }),
		Entry("a negative timeout", "Timeout", func(c *runner.Cmd) *runner.Cmd { c.Timeout = -1; return c }),
		Entry("a negative idle timeout", "IdleTimeout", func(c *runner.Cmd) *runner.Cmd { c.IdleTimeout = -1; return c }),
		Entry("two names in Arg0", "Arg0", func(c *runner.Cmd) *runner.Cmd { c.Arg0 = contain.Seal("a", "b"); return c }),
		Entry("NUL in Arg0", "Arg0", func(c *runner.Cmd) *runner.Cmd { c.Arg0 = contain.Seal("\x00"); return c }),
		Entry("nobody's user", "Credential", birth(func(c *runner.Cmd) { c.Credential = &contain.Credential{UID: 1<<32 - 1} })),
		Entry("nobody's group among others", "Credential", birth(func(c *runner.Cmd) { c.Credential = &contain.Credential{Groups: []uint32{1, 1<<32 - 1}} })),
		Entry("a umask beyond the permissions", "Umask", birth(func(c *runner.Cmd) { c.Umask = new(fs.FileMode(0o1000)) })),
		Entry("a soft limit above the hard one", "Rlimits", birth(func(c *runner.Cmd) { c.Rlimits.Stack = &contain.Rlimit{Soft: 2, Hard: 1} })),
		Entry("core dumps and none", "Rlimits", birth(func(c *runner.Cmd) { c.NoCoreDumps, c.Rlimits.Core = true, &contain.Rlimit{Hard: 1} })),
		Entry("a priority that there is not", "Nice", birth(func(c *runner.Cmd) { c.Nice = new(20) })),
		Entry("an I/O class that there is not", "IOPriority", birth(func(c *runner.Cmd) { c.IOPriority = &contain.IOPriority{} })),
		Entry("an I/O level that there is not", "IOPriority", birth(func(c *runner.Cmd) { c.IOPriority = &contain.IOPriority{Class: contain.IOIdle, Level: 8} })),
		Entry("no processor at all", "CPUAffinity", birth(func(c *runner.Cmd) { c.CPUAffinity = []int{} })),
		Entry("a negative processor", "CPUAffinity", birth(func(c *runner.Cmd) { c.CPUAffinity = []int{0, -1} })),
		Entry("an out-of-memory score out of range", "OOMScoreAdj", birth(func(c *runner.Cmd) { c.OOMScoreAdj = new(-1001) })),
		Entry("a negative grace", "Grace", func(c *runner.Cmd) *runner.Cmd { c.Grace = -1; return c }),
	)
})

// birth spoils what a child is born with.
func birth(spoil func(*runner.Cmd)) func(*runner.Cmd) *runner.Cmd {
	return func(c *runner.Cmd) *runner.Cmd {
		spoil(c)
		return c
	}
}
