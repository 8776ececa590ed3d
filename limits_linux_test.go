package boombox_test

import (
	"context"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/suite"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("a cap", Label("live", "limits"), func() {
	DescribeTable("that cannot be enforced refuses the run before anything starts", func(ctx SpecContext, limits contain.Limits, kind contain.LimitKind) {
		b := prepareBoxed("sleep", "1ms")
		b.cmd.Limits = limits
		b.cmd.Timeout = 5 * time.Second
		res, err := runner.Run(ctx, runner.Contained{}, b.cmd)
		if err == nil {
			Skip("this host enforces the cap on " + string(kind))
		}
		Expect(res).To(BeNil())
		var refusal *contain.LimitError
		Expect(err).To(BeAssignableToTypeOf(refusal))
		Expect(err.(*contain.LimitError).Kind).To(Equal(kind))
		Expect(err).To(MatchError(contain.ErrUnsupported))
		Expect(b.out.held.Len()).To(BeZero())
		Expect(b.left()).NotTo(HaveSurvivors())
	},
		Entry("memory", contain.Limits{Memory: 64 << 20}, contain.LimitMemory),
		Entry("processes", contain.Limits{Processes: 8}, contain.LimitProcesses),
		Entry("cpu", contain.Limits{CPU: 0.5}, contain.LimitCPU),
	)

	It("that makes no sense is invalid, and not merely unsupported", func(ctx SpecContext) {
		b := prepareBoxed("sleep", "1ms")
		b.cmd.Limits.Memory = -1
		_, err := runner.Run(ctx, runner.Contained{}, b.cmd)
		Expect(err).To(HaveOccurred())
		Expect(err).NotTo(MatchError(contain.ErrUnsupported))
		Expect(b.left()).NotTo(HaveSurvivors())
	})

	const patience = 10 * time.Second

	// needs prepares a fixture with caps, or skips where the host has them not.
	needs := func(limits contain.Limits, need contain.Guarantee, child string, args ...string) *boxed {
		GinkgoHelper()
		suite.Require(need)
		b := prepareBoxed(child, args...)
		b.cmd.Limits = limits
		return b
	}

	// counted skips where the caps hold, and nobody counts what they refuse.
	counted := func(res *runner.Result) {
		GinkgoHelper()
		if res.Teardown().Mechanism == contain.PIDNamespace {
			Skip("this host's caps hold, and nobody counts what they refuse")
		}
	}

	// capped runs a fixture with caps until it is over.
	capped := func(
		ctx context.Context, timeout time.Duration, limits contain.Limits, need contain.Guarantee, child string, args ...string,
	) *runner.Result {
		GinkgoHelper()
		b := needs(limits, need, child, args...)
		b.cmd.Timeout = timeout
		res, err := runner.Run(ctx, runner.Contained{}, b.cmd)
		Expect(err).NotTo(HaveOccurred())
		Expect(b.left()).NotTo(HaveSurvivors())
		counted(res)
		return res
	}

	// refused runs a bomb with a cap on processes until its given line says that it was refused one, and kills it.
	refused := func(ctx context.Context, most int, child string, line int) *runner.Result {
		GinkgoHelper()
		b := needs(contain.Limits{Processes: most}, contain.CapProcesses, child, "100")
		b.start(ctx, runner.Contained{})
		b.await(line)
		Expect(b.out.text(line)).To(Equal("refused"))
		began := time.Now()
		Expect(b.p.Kill()).To(Succeed())
		res := b.settle()
		Expect(time.Since(began)).To(BeNumerically("<", 2*time.Second), "everything is gone")
		Expect(b.left()).NotTo(HaveSurvivors())
		counted(res)
		return res
	}

	It("on processes holds a fork bomb, whose every task is gone with the run", Label("forkbomb"), func(ctx SpecContext) {
		Expect(refused(ctx, 20, "taskbomb", 1)).To(And(HaveHitLimit(contain.LimitProcesses), HaveReapedTree()))
	})

	It("on processes is not raised from within, nor got around by a user namespace", Label("forkbomb"), func(ctx SpecContext) {
		Expect(refused(ctx, 40, "nsbomb", 2)).To(And(HaveHitLimit(contain.LimitProcesses), HaveReapedTree()))
	})

	It("on memory ends a hog, and no other", func(ctx SpecContext) {
		res := capped(ctx, patience, contain.Limits{Memory: 16 << 20}, contain.CapMemory, "hog", "32")
		Expect(res).To(And(BeSignaled(syscall.SIGKILL), HaveHitLimit(contain.LimitMemory),
			HavePeak(contain.LimitMemory, BeNumerically("<=", 17<<20)))) // who is being killed may take a page more
		res = capped(ctx, 3*time.Second, contain.Limits{Memory: 128 << 20}, contain.CapMemory, "hog", "32")
		Expect(res).To(And(HaveTimedOut(), EnforceLimit(contain.LimitMemory), Not(HaveHitLimit(contain.LimitMemory))))
	})

	It("on all at once ends nothing that stays below", func(ctx SpecContext) {
		all := contain.Limits{Memory: 256 << 20, Processes: 100, CPU: 8}
		res := capped(ctx, patience, all, contain.CapMemory|contain.CapProcesses|contain.CapCPU, "confined")
		Expect(res).To(HaveSucceeded())
		for _, kind := range []contain.LimitKind{contain.LimitMemory, contain.LimitProcesses, contain.LimitCPU} {
			Expect(res).NotTo(HaveHitLimit(kind))
		}
	})
})
