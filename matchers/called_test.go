package matchers_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// caller is a fake that was asked for these commands.
func caller(calls ...*runner.Cmd) *fake.Runner {
	spy := fake.Spy(fake.DryRun(nil))
	for _, cmd := range calls {
		_, _ = spy.Start(context.Background(), cmd)
	}
	return spy
}

var _ = Describe("HaveCalled", func() {
	verdicts("HaveCalled", func() []verdict {
		spy := caller(
			runner.Command("/usr/bin/git", "add", "canary-file"), runner.Command("git", "push", "canary-remote"), runner.Command("ls"),
			runner.Command("git", "push", "canary-other"),
		)
		return []verdict{
			{"with arguments", HaveCalled("git", "push"), spy, true},
			{"by its path", HaveCalled("/bin/git", "add", "canary-file"), spy, true},
			{"anything", HaveCalled(), spy, true},
			{"as often", HaveCalled("git", "push").Times(2), spy, true},
			{"never, as it should be", HaveCalled("rm").Times(0), spy, true},
			{"other program", HaveCalled("rm"), spy, false},
			{"other argument", HaveCalled("git", "push", "canary-third"), spy, false},
			{"more arguments", HaveCalled("ls", "canary-argument"), spy, false},
			{"more often", HaveCalled("git").Times(BeNumerically("<", 2)), spy, false},
			{"nothing was called", HaveCalled(), caller(), false},
		}
	})

	It("shows no argument in any message", func() {
		for _, m := range []types.GomegaMatcher{HaveCalled("tool", "canary-wanted"), HaveCalled("tool", "canary-called").Times(7)} {
			Expect(m.Match(caller(runner.Command("tool", "canary-called")))).To(BeFalse())
			Expect(m.FailureMessage(nil) + m.NegatedFailureMessage(nil)).NotTo(ContainSubstring("canary"))
			Expect(m).NotTo(ExposeSecrets(NewSecret("wanted", "canary-wanted"), NewSecret("called", "canary-called")))
		}
	})

	It("counts the calls that were refused", func() {
		denied := fake.Deny()
		_, err := denied.Start(context.Background(), runner.Command("rm", "-rf"))
		Expect(err).To(HaveOccurred())
		Expect(denied).To(HaveCalled("rm", "-rf").Times(1))
	})

	It("has no verdict, in either direction, about anything else", func() {
		for _, actual := range []any{nil, 7, runner.Contained{}, (*fake.Runner)(nil)} {
			for _, m := range []types.GomegaMatcher{HaveCalled("x"), Not(HaveCalled("x"))} {
				_, err := m.Match(actual)
				Expect(err).To(MatchError(HavePrefix("matchers: ")), "%T", actual)
			}
		}
		_, err := HaveCalled().Times("often").Match(caller())
		Expect(err).To(MatchError("matchers: HaveCalled takes one int64 or a matcher, not string"))
	})
})

func ExampleHaveCalled() {
	g, _ := example()
	spy := fake.Spy(fake.DryRun(nil))
	_, _ = runner.Run(ctx, spy, runner.Command("git", "push", "origin"))

	g.Expect(spy).To(HaveCalled("git", "push").Times(1))
	g.Expect(spy).NotTo(HaveCalled("rm"))
	g.Expect(spy).To(HaveCalled("git", "fetch"))
	// Output:
	// Expected the runner to have been asked for `git` with the first argument given
	//     got:        it was not, in 1 call
	//       call 1: `git` with 2 arguments, differs in argument 1
}
