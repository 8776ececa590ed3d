package matchers_test

import (
	"context"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// failing collects what a Gomega of its own fails with.
func failing() (g Gomega, failures *[]string) {
	failures = &[]string{}
	return NewGomega(func(message string, _ ...int) { *failures = append(*failures, message) }), failures
}

// promptly asserts that attempt takes less than 100 ms: the best of a few, since others use this machine too.
func promptly(attempt func() time.Duration) {
	GinkgoHelper()
	const limit = 100 * time.Millisecond
	best := attempt()
	for range 4 {
		if best < limit {
			return
		}
		best = min(best, attempt())
	}
	Expect(best).To(BeNumerically("<", limit))
}

// exitsAfter is a process that exits with code 3 after d.
func exitsAfter(d time.Duration) *runner.Process {
	GinkgoHelper()
	p, err := fake.Play(context.Background(), runner.Command("tool"), fake.Script{
		Chunks: []fake.Chunk{{After: d}}, Outcome: runner.Exited(3), Teardown: held,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(p.Close)
	return p
}

var _ = Describe("with Eventually and Consistently", func() {
	// patience is never used up: a spec that needs it has failed.
	const patience = 30 * time.Second

	It("waits until the run is over", func() {
		Eventually(exitsAfter(30 * time.Millisecond)).WithTimeout(patience).Should(HaveExited(3))
	})

	wrong := func() map[string]types.GomegaMatcher {
		return map[string]types.GomegaMatcher{
			"the matcher":                HaveExited(0),
			"Not":                        Not(HaveExited(3)),
			"And":                        And(HaveExited(3), HaveStdout("x")),
			"And, failing first":         And(HaveExited(0), HaveReapedTree()),
			"Or":                         Or(HaveExited(0), HaveTimedOut()),
			"HaveSucceeded":              HaveSucceeded(),
			"BeSignaled":                 BeSignaled(),
			"HaveTimedOut":               HaveTimedOut(),
			"HaveStdout":                 HaveStdout("x"),
			"HaveStderr":                 HaveStderr("x"),
			"HaveOverflowed":             HaveOverflowed(),
			"BeContainedBy":              BeContainedBy(contain.JobObject),
			"HaveReapedTree":             Not(HaveReapedTree()),
			"HaveSurvivors":              HaveSurvivors(),
			"HaveBeenCancelled":          HaveBeenCancelled(),
			"HaveBeenReplayed":           HaveBeenReplayed(),
			"HaveDuration":               HaveDuration(BeNumerically(">", time.Hour)),
			"HaveStdoutLines":            HaveStdoutLines("x"),
			"HaveOutput":                 HaveOutput("x"),
			"HaveOutputInOrder":          HaveOutputInOrder("x"),
			"HaveTruncated":              HaveTruncated(),
			"HaveEnvNames":               HaveEnvNames("PATH"),
			"HaveOutcome":                HaveOutcome(runner.IdleTimedOut),
			"HaveHitLimit":               HaveHitLimit(contain.LimitProcesses),
			"EnforceLimit":               EnforceLimit(contain.LimitCPU),
			"HavePeak":                   HavePeak(contain.LimitProcesses, 6),
			"ReplayAs":                   ReplayAs(ended(runner.Exited(4))),
			"MatchResult":                MatchResult(ResultFields{Exit: 4}),
			"WithTransform of the whole": WithTransform(func(p *runner.Process) any { return p }, HaveExited(0)),
		}
	}
	for name := range wrong() {
		It("gives up at once when the answer is final and wrong: "+name, func() {
			promptly(func() time.Duration {
				g, failures := failing()
				started := time.Now()
				p := exitsAfter(30 * time.Millisecond)
				g.Eventually(p).WithTimeout(patience).Should(wrong()[name])
				elapsed := time.Since(started)
				res, _ := p.Result()
				Expect(*failures).To(ConsistOf(ContainSubstring("No future change is possible")))
				return elapsed - res.SettledAfter()
			})
		})
	}

	It("does not give up because a part of And has failed while the run goes on", func() {
		Eventually(exitsAfter(50 * time.Millisecond)).WithTimeout(patience).Should(And(HaveExited(), HaveReapedTree(), Not(HaveSurvivors())))
	})

	It("lets WithTransform see the first value before it decides", func() {
		p := exitsAfter(50 * time.Millisecond)
		result := func(p *runner.Process) *runner.Result { r, _ := p.Result(); return r }
		Eventually(p).WithTimeout(patience).Should(WithTransform(result, HaveExited(3)))
	})

	It("tells in its own words that the run never ended", func() {
		g, failures := failing()
		g.Eventually(live()).WithTimeout(30 * time.Millisecond).Should(HaveExited(0))
		Expect(*failures).To(HaveLen(1))
		Expect((*failures)[0]).To(ContainSubstring("Expected run of `tool` to be over, and it is still going\n    hint:       give Eventually more time"))
	})

	It("fails a negation that asks too early", func() {
		g, failures := failing()
		g.Expect(live()).NotTo(HaveExited(0))
		Expect(*failures).To(ConsistOf(ContainSubstring("run of `tool` is not over yet")))
	})

	It("ends Consistently as soon as nothing can change", func() {
		started := time.Now()
		Consistently(ended(runner.Exited(0))).WithTimeout(patience).Should(HaveSucceeded())
		Expect(time.Since(started)).To(BeNumerically("<", time.Second))
	})

	It("may be asked for messages by another goroutine while it matches", func() {
		runs := []any{ended(runner.Exited(0)), ended(runner.Signalled(syscall.SIGKILL)), wrote("a\nb\n", "c")}
		shared := []types.GomegaMatcher{
			HaveSucceeded(), HaveExited(1), BeSignaled(), HaveTimedOut().At(1).Within(1), HaveStdout("a\nx\n"), HaveStderr(ContainSubstring("c")),
			HaveOverflowed(runner.Stderr), BeContainedBy(contain.Cgroup2), HaveReapedTree(), HaveSurvivors(),
			HaveBeenCancelled(), HaveBeenReplayed(), HaveDuration(BeNumerically("<", time.Hour)), HaveStdoutLines("a", "x"), HaveOutput("x"),
			HaveTruncated(), HaveEnvNames("a"), ReplayAs(ended(runner.Exited(0))), MatchResult(ResultFields{Exit: 1, Stdout: "x"}),
			ExposeSecrets(NewSecret("x", "canary-value")), HaveOutcome(runner.TimedOut), BeHermetic(), HaveEscapees(NewMark()), HaveCalled("x"), HaveOutputInOrder("b", "a"),
			HaveHitLimit(contain.LimitProcesses, 1), EnforceLimit(contain.LimitCPU), HavePeak(contain.LimitProcesses, 6),
		}
		stop := make(chan struct{})
		var readers sync.WaitGroup
		for _, m := range shared {
			readers.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						_, _ = m.FailureMessage(nil), m.NegatedFailureMessage(nil)
					}
				}
			})
		}
		var matching sync.WaitGroup
		for _, m := range shared {
			matching.Go(func() {
				for i := range 40 {
					_, _ = m.Match(runs[i%len(runs)])
				}
			})
		}
		matching.Wait()
		close(stop)
		readers.Wait()
	})

	It("has a message even before it has matched", func() {
		Expect(HaveExited(0).FailureMessage(nil)).To(Equal("This matcher has not judged anything yet"))
	})
})
