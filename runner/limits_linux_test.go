package runner_test

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/suite"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("a run with caps", Label("limits"), func() {
	It("carries the evidence and what was used, and gives copies of it", func(ctx SpecContext) {
		suite.Require(contain.CapMemory | contain.CapProcesses)
		cmd := fixture("exit", "0")
		cmd.Limits = contain.Limits{Memory: 256 << 20, Processes: 100}
		res, err := runner.Run(ctx, runner.Contained{}, cmd)
		Expect(err).NotTo(HaveOccurred())
		Expect(res.Evidence().Limits).To(HaveExactElements(
			And(HaveField("Kind", contain.LimitMemory), HaveField("Tripped", contain.NotTripped), HaveField("Events", HaveValue(BeZero()))),
			And(HaveField("Kind", contain.LimitProcesses), HaveField("Tripped", contain.NotTripped), HaveField("Events", HaveValue(BeZero()))),
		))
		Expect(res.Stats().CPU).To(HaveValue(BeNumerically(">", 0)))
		Expect(res.Stats().PeakMemory).To(HaveValue(BeNumerically(">", 0)))
		*res.Evidence().Limits[0].Events = 7
		*res.Teardown().Stats.CPU = 0
		Expect(res.Evidence().Limits[0].Events).To(HaveValue(BeZero()))
		Expect(res.Stats().CPU).To(HaveValue(BeNumerically(">", 0)))
	})

	It("has them changed while it lives", func(ctx SpecContext) {
		suite.Require(contain.CapMemory | contain.CapProcesses)
		cmd := runner.Command("sleep", "20")
		cmd.Limits = contain.Limits{Memory: 256 << 20, Processes: 100}
		p, err := runner.Contained{}.Start(ctx, cmd)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(p.Close)
		Expect(p.UpdateLimits(contain.Limits{Memory: 128 << 20, Processes: 50})).To(Succeed())
		refused, ok := errors.AsType[*contain.LimitError](p.UpdateLimits(contain.Limits{Memory: 64 << 20}))
		Expect(ok).To(BeTrue())
		Expect(refused.Reason).To(Equal(contain.LimitFixed))
		Expect(p.Close()).To(Succeed())
		res, _ := p.Result()
		Expect(res.Evidence().Limits).To(HaveExactElements(HaveField("Max", float64(128<<20)), HaveField("Max", 50.0)))
		Expect(p.UpdateLimits(cmd.Limits)).To(MatchError(contain.ErrClosed))
	})

	It("has none of its own to change in a shared group, or without a process", func(ctx SpecContext) {
		g, err := contain.New(contain.Options{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(g.Close()).To(Succeed()) })
		shared, err := runner.Contained{Group: g}.Start(ctx, runner.Command("sleep", "20"))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(shared.Close)
		scripted := runner.Attach(runner.Command("sleep", "20"), newStub(), time.Now())
		DeferCleanup(scripted.Close)
		for _, p := range []*runner.Process{shared, scripted} {
			refused, ok := errors.AsType[*contain.LimitError](p.UpdateLimits(contain.Limits{Processes: 50}))
			Expect(ok).To(BeTrue())
			Expect(*refused).To(And(HaveField("Kind", contain.LimitProcesses), HaveField("Reason", contain.LimitUnenforceable)))
		}
	})

	It("that fills a shared group is refused with what refused it", func(ctx SpecContext) {
		suite.Require(contain.CapProcesses)
		g, err := contain.New(contain.Options{Limits: contain.Limits{Processes: 1}})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(g.Close()).To(Succeed()) })
		first, err := runner.Contained{Group: g}.Start(ctx, runner.Command("sleep", "20"))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(first.Close)
		_, err = runner.Contained{Group: g}.Start(ctx, runner.Command("sleep", "20"))
		hit, ok := errors.AsType[*contain.LimitHit](err)
		Expect(ok).To(BeTrue(), "%v", err)
		Expect(hit.Kind).To(Equal(contain.LimitProcesses))
		Expect(err).To(MatchError(contain.ErrLimit))
	})
})

var _ = Describe("an untrusted program", Label("limits"), func() {
	const needs = contain.KillTree | contain.KillOnOwnerDeath | contain.CapMemory | contain.CapProcesses | contain.CapCPU

	untrusted := func() *runner.Cmd { return runner.Untrusted("/bin/true") }

	It("has every protection, and gives up none by silence", func() {
		cmd := untrusted()
		Expect(cmd.Env.Reveal()).To(HaveLen(1), "PATH alone")
		Expect(cmd.Timeout).To(Equal(30 * time.Second))
		Expect(cmd.Require.Has(contain.KillTree | contain.KillOnOwnerDeath)).To(BeTrue())
		Expect(cmd.Limits).To(Equal(contain.Limits{Memory: 512 << 20, Processes: 64, CPU: 1}))
		Expect([]bool{cmd.NewSession, cmd.NoNewPrivileges, cmd.NoCoreDumps}).To(HaveEach(true))
		for _, s := range []runner.Stream{cmd.Output.Stdout, cmd.Output.Stderr} {
			Expect(s.Policy).To(Equal(runner.Fail))
			Expect(s.MaxBytes).To(BeEquivalentTo(8 << 20))
		}
	})

	It("runs with all of it, or is refused, typed, on a host without one", func() {
		res, err := runner.Run(context.Background(), runner.Contained{}, untrusted())
		if g, newErr := contain.New(contain.Options{Require: needs}); newErr == nil {
			Expect(g.Close()).To(Succeed())
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveSucceeded())
			Expect(res.Evidence().Limits).To(HaveLen(3))
			Expect(res.Teardown().Guarantees.Has(needs)).To(BeTrue())
			return
		}
		Expect(err).To(MatchError(contain.ErrUnsupported))
		Expect(res).To(BeNil())
	})

	It("may be given without one cap, by name", func() {
		suite.Require(contain.CapMemory)
		cmd := untrusted()
		cmd.Limits.CPU, cmd.Limits.Processes, cmd.Require = 0, 0, 0
		res, err := runner.Run(context.Background(), runner.Contained{}, cmd)
		Expect(err).NotTo(HaveOccurred())
		Expect(res.Evidence().Limits).To(HaveLen(1))
	})
})
