package matchers_test

import (
	"context"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/fixtures"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// found is the Result of a run that looked around.
func found(report string) *runner.Result { return wrote(report, "") }

const tidyReport = "env PATH\nenv MODE\nfd 0\nfd 1\nfd 2\nstdin null\ndir /canary-dir\n"

var _ = Describe("BeHermetic", func() {
	verdicts("BeHermetic", func() []verdict {
		untidy := "env PATH\nenv HOME\nenv EDITOR\nfd 7\nfd 3\nstdin terminal\ndir /canary-dir\n"
		return []verdict{
			{"tidy", BeHermetic("PATH", "MODE", "TMPDIR"), found(tidyReport), true},
			{"tidy, in its directory", BeHermetic("PATH", "MODE").In("/canary-dir/"), found(tidyReport), true},
			{"with a descriptor that is meant", BeHermetic().WithFDs(3, 5).WithFDs(4), found("fd 3\nfd 4\nstdin pipe\ndir /x\n"), true},
			{"a variable too many", BeHermetic("PATH"), found(tidyReport), false},
			{"in another directory", BeHermetic("PATH", "MODE").In("/canary-other"), found(tidyReport), false},
			{"all that is wrong", BeHermetic("PATH").In("/canary-other").WithFDs(7), found(untidy), false},
			{"nothing allowed", BeHermetic(), found(untidy), false},
		}
	})

	DescribeTable("has no verdict, in either direction, about what is no report", func(actual any, text string) {
		for _, m := range []types.GomegaMatcher{BeHermetic("PATH"), Not(BeHermetic("PATH"))} {
			_, err := m.Match(actual)
			Expect(err).To(MatchError(ContainSubstring(text)))
			Expect(err).NotTo(MatchError(ContainSubstring("canary")))
		}
	},
		Entry("nothing", found(""), "is no report of what is inside"),
		Entry("a report that ends early", found("env PATH\nstdin null\n"), "it lacks a line of stdin or dir"),
		Entry("other output", found("canary-output\n"), "line 1 is none of a report"),
		Entry("a descriptor that is none", found("fd canary-fd\nstdin null\ndir /\n"), "line 1 of the report has no descriptor"),
		Entry("descriptors that cannot be listed", found("fd unknown\nstdin null\ndir /\n"), "could not list its descriptors"),
		Entry("a child that failed", ended(runner.Exited(3)), "`tool` did not report what it found inside: it exited with code 3"),
		Entry("another type", 7, "BeHermetic cannot judge a int; it takes *runner.Result"),
		Entry("nil", nil, "BeHermetic got nil"),
		Entry("a nil Result", (*runner.Result)(nil), "nil *runner.Result"),
	)

	It("has no verdict, in either direction, about a run that is not over, and polls one until it is", func() {
		for _, m := range []types.GomegaMatcher{BeHermetic(), Not(BeHermetic())} {
			_, err := m.Match(live())
			Expect(err).To(BeAssignableToTypeOf(&NotSettledError{}))
		}
		later := func() *runner.Process {
			p, err := fake.Play(context.Background(), runner.Command("tool"), fake.Script{
				Chunks: []fake.Chunk{{After: 10 * time.Millisecond, Data: []byte(tidyReport)}}, Teardown: held,
			})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(p.Close)
			return p
		}
		Eventually(later()).Should(BeHermetic("PATH", "MODE"))
		promptly(func() time.Duration {
			p := later()
			Eventually(p).Should(HaveSucceeded())
			g, failures := failing()
			started := time.Now()
			g.Eventually(p).WithTimeout(30 * time.Second).Should(BeHermetic())
			Expect(*failures).To(ConsistOf(ContainSubstring("No future change is possible")))
			return time.Since(started)
		})
	})

	It("takes the word of a real child, which finds what is left open for it", Label("live"), func(ctx SpecContext) {
		if os.PathSeparator == '\\' {
			Skip("a process cannot list its handles on this system")
		}
		dir := GinkgoT().TempDir()
		argv := fixtures.Argv("inside")
		cmd := runner.Command(argv[0], argv[1:]...)
		cmd.Env, cmd.Dir = runner.CleanEnv().Set("MODE", "canary-value"), dir
		Expect(runner.Run(ctx, runner.Contained{}, cmd)).To(BeHermetic("MODE").In(dir))
		Expect(runner.Run(ctx, runner.Contained{}, cmd)).NotTo(BeHermetic().In(dir))
		Expect(runner.Run(ctx, runner.Contained{}, cmd)).NotTo(BeHermetic("MODE").In(GinkgoT().TempDir()))
		// The control: what the caller's environment has is found.
		GinkgoT().Setenv("BOOMBOX_MATCHERS_CANARY", "canary-value")
		loose := runner.Command(argv[0], argv[1:]...)
		m := BeHermetic("PATH")
		Expect(m.Match(must(runner.Run(ctx, runner.Contained{}, loose)))).To(BeFalse())
		Expect(m.FailureMessage(nil)).To(And(ContainSubstring("BOOMBOX_MATCHERS_CANARY"), Not(ContainSubstring("canary-value"))))
	})
})

func must(r *runner.Result, err error) *runner.Result {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return r
}
