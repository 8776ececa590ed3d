package matchers_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// ofRuns are all matchers about a run, each so that it matches a run which exited with code 3, and wrote nothing.
var ofRuns = map[string]func() types.GomegaMatcher{
	"HaveSucceeded":  func() types.GomegaMatcher { return Not(HaveSucceeded()) },
	"HaveExited":     func() types.GomegaMatcher { return HaveExited(3) },
	"BeSignaled":     func() types.GomegaMatcher { return Not(BeSignaled()) },
	"HaveTimedOut":   func() types.GomegaMatcher { return Not(HaveTimedOut()) },
	"HaveStdout":     func() types.GomegaMatcher { return HaveStdout("") },
	"HaveStderr":     func() types.GomegaMatcher { return HaveStderr("") },
	"HaveOverflowed": func() types.GomegaMatcher { return Not(HaveOverflowed()) },
	"BeContainedBy":  func() types.GomegaMatcher { return BeContainedBy(contain.Cgroup2) },
	"HaveReapedTree": func() types.GomegaMatcher { return HaveReapedTree() },
	"HaveSurvivors":  func() types.GomegaMatcher { return Not(HaveSurvivors()) },
	"HaveHitLimit":   func() types.GomegaMatcher { return Not(HaveHitLimit(contain.LimitProcesses)) },
	"EnforceLimit":   func() types.GomegaMatcher { return EnforceLimit(contain.LimitProcesses) },
	"HavePeak":       func() types.GomegaMatcher { return HavePeak(contain.LimitProcesses, 7) },

	"HaveBeenCancelled": func() types.GomegaMatcher { return Not(HaveBeenCancelled()) },
	"HaveBeenReplayed":  func() types.GomegaMatcher { return Not(HaveBeenReplayed()) },
	"HaveDuration":      func() types.GomegaMatcher { return HaveDuration(BeNumerically(">=", 0)) },
	"HaveStdoutLines":   func() types.GomegaMatcher { return HaveStdoutLines() },
	"HaveOutput":        func() types.GomegaMatcher { return HaveOutput("") },
	"HaveOutputInOrder": func() types.GomegaMatcher { return HaveOutputInOrder() },
	"HaveTruncated":     func() types.GomegaMatcher { return Not(HaveTruncated()) },
	"HaveEnvNames":      func() types.GomegaMatcher { return HaveEnvNames() },
	"HaveOutcome":       func() types.GomegaMatcher { return HaveOutcome(runner.Exited(3)) },
	"HaveEscapees":      func() types.GomegaMatcher { return Not(HaveEscapees(NewMark())) },
	"ReplayAs":          func() types.GomegaMatcher { return ReplayAs(ended(runner.Exited(3))) },
	"MatchResult": func() types.GomegaMatcher {
		return MatchResult(ResultFields{Outcome: runner.Exited(3), Exit: 3, Stdout: "", Reaped: true, Replayed: false})
	},
}

// What the doc comments promise to accept.
var (
	_ Run      = (*runner.Process)(nil)
	_ Tree     = (*contain.Group)(nil)
	_ Gauge    = (*contain.Group)(nil)
	_ Playbook = (*fake.Runner)(nil)
	_ Playbook = (*cassette.Player)(nil)
	_ Caller   = (*fake.Runner)(nil)
)

// handle is a caller's own handle of a run.
type handle struct {
	result  *runner.Result
	settled bool
}

func (h handle) Result() (*runner.Result, bool) { return h.result, h.settled }

var _ = Describe("every matcher about a run", func() {
	for name, matcher := range ofRuns {
		Describe(name, func() {
			exited3 := func() *runner.Result { return ended(runner.Exited(3)) }

			It("accepts a Result, a process, a caller's own handle, and the errors that hold a Result", func() {
				p, err := fake.Play(context.Background(), runner.Command("tool"), fake.Script{Outcome: runner.Exited(3), Teardown: held})
				Expect(err).NotTo(HaveOccurred())
				failed := exited3().Check()
				Expect(failed).To(MatchError(runner.ErrUnsuccessful))
				for _, actual := range []any{exited3(), p, handle{exited3(), true}, failed, fmt.Errorf("wrapped: %w", failed)} {
					Expect(matcher().Match(actual)).To(BeTrue(), "%T", actual)
				}
			})

			It("accepts what Run returns", func() {
				r := fake.New()
				r.On("tool").Reply(fake.Scripted(fake.Script{Outcome: runner.Exited(3), Teardown: held}))
				Expect(runner.Run(context.Background(), r, runner.Command("tool"))).To(matcher())
			})

			It("has no verdict, in either direction, about anything else", func() {
				for _, actual := range []any{nil, 3, "exited", errors.New("plain"), runner.Result{}, struct{}{}} {
					for _, m := range []types.GomegaMatcher{matcher(), Not(matcher())} {
						_, err := m.Match(actual)
						Expect(err).To(MatchError(HavePrefix("matchers: "+name)), "%T", actual)
						Expect(err).To(MatchError(ContainSubstring("*runner.Result, *runner.Process")), "%T", actual)
					}
				}
			})

			It("has no verdict, in either direction, about nil pointers", func() {
				for _, actual := range []any{(*runner.Result)(nil), (*runner.Process)(nil), (*runner.ExitError)(nil), handle{nil, true}} {
					for _, m := range []types.GomegaMatcher{matcher(), Not(matcher())} {
						_, err := m.Match(actual)
						Expect(err).To(MatchError(ContainSubstring("nil")), "%T", actual)
					}
				}
			})

			It("has no verdict about a run that was cancelled before it started, unless that is its question", func() {
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				_, err := fake.New().Start(ctx, runner.Command("tool"))
				Expect(err).To(MatchError(runner.ErrCancelled))
				ok, err := matcher().Match(err)
				if name == "HaveBeenCancelled" { // negated here
					Expect(ok, err).To(BeFalse())
					return
				}
				Expect(err).To(MatchError(ContainSubstring("the run was over before it started")))
			})

			It("has no verdict, in either direction, about a run that is not over", func() {
				p := live()
				for _, m := range []types.GomegaMatcher{matcher(), Not(matcher())} {
					_, err := m.Match(p)
					var early *NotSettledError
					Expect(errors.As(err, &early)).To(BeTrue())
					Expect(early.Program).To(Equal("tool"))
				}
			})

			It("polls a run until it is over", func() {
				Eventually(exitsAfter(10 * time.Millisecond)).Should(matcher())
			})
		})
	}
})

var _ = Describe("NotSettledError", func() {
	It("says which run goes on, and what to do", func() {
		_, err := HaveExited().Match(live())
		Expect(err).To(MatchError("matchers: run of `tool` is not over yet; Wait for it, or use Eventually"))
		_, err = HaveExited().Match(handle{})
		Expect(err).To(MatchError("matchers: the run is not over yet; Wait for it, or use Eventually"))
		numbered := &NotSettledError{Program: "sleep", PID: 4711}
		Expect(numbered).To(MatchError("matchers: run of `sleep` (pid 4711) is not over yet; Wait for it, or use Eventually"))
	})
})
