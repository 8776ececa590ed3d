//go:build unix

package matchers_test

import (
	"errors"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// What the other specs say of scripts holds for processes.
var _ = Describe("on real processes", Label("live"), func() {
	child := func(name string, args ...string) *runner.Cmd {
		argv := fixtures.Argv(name, args...)
		return runner.Command(argv[0], argv[1:]...)
	}
	mechanism := func() contain.Mechanism {
		best, ok := contain.Host().Best()
		Expect(ok).To(BeTrue())
		return best.Mechanism
	}

	It("tells a timeout, its deadline and the end of the whole tree", func(ctx SpecContext) {
		cmd := child("setsid")
		cmd.Timeout = 2 * time.Second
		res, err := runner.Run(ctx, runner.Contained{}, cmd)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(And(
			HaveTimedOut().At(2*time.Second).Within(10*time.Second),
			HaveStdout(HavePrefix("ready ")),
			BeContainedBy(mechanism()),
			HaveReapedTree(),
			Not(HaveSurvivors()),
			Not(HaveExited()),
		))
	})

	It("tells an exit from a signal", func(ctx SpecContext) {
		Expect(runner.Run(ctx, runner.Contained{}, child("exit", "3"))).To(HaveExited(3))
		p, err := runner.Contained{}.Start(ctx, child("sleep"))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(p.Close)

		_, err = HaveExited().Match(p)
		early, ok := errors.AsType[*NotSettledError](err)
		Expect(ok).To(BeTrue())
		pid, _ := p.PID()
		Expect(early.PID).To(Equal(pid))

		Expect(p.Signal(syscall.SIGTERM)).To(Succeed())
		Eventually(ctx, p).Should(BeSignaled(syscall.SIGTERM))
	}, NodeTimeout(time.Minute))

	It("sees the members of a group come and go", func(ctx SpecContext) {
		group, err := contain.New(contain.Options{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(group.Close)
		Expect(group).NotTo(HaveSurvivors())
		Expect(group).To(BeContainedBy(mechanism()))

		p, err := runner.Contained{Group: group}.Start(ctx, child("sleep"))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(p.Close)
		Expect(group).To(HaveSurvivors())
		Expect(group.Members).To(HaveSurvivors())

		Expect(group.Kill()).To(Succeed())
		Eventually(ctx, group).ShouldNot(HaveSurvivors())
		Eventually(ctx, group.Members).ShouldNot(HaveSurvivors())
		Eventually(ctx, p).Should(And(BeSignaled(syscall.SIGKILL), HaveReapedTree()))
	}, NodeTimeout(time.Minute))
})
