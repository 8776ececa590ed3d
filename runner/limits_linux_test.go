package runner_test

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/suite"
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
			Expect(res.Success()).To(BeTrue())
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
