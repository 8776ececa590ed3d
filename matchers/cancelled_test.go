package matchers_test

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// cancelledFor is the error of a run that was cancelled for a cause, before or after it started.
func cancelledFor(cause error, started bool) error {
	p, err := fake.Play(context.Background(), runner.Command("/opt/bin/tool", "secret-argument"), fake.Script{
		Outcome: runner.Cancelled, Teardown: held, Duration: 12 * time.Millisecond,
	})
	if err != nil {
		panic(err)
	}
	if started {
		_, err = p.Wait(context.Background())
		if cause == context.Canceled {
			return err
		}
		panic("an instant script knows no other cause")
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	return runner.NotStarted(ctx, runner.Command("/opt/bin/tool", "secret-argument"))
}

var _ = Describe("HaveBeenCancelled", func() {
	cause := errors.New("shutting down")
	verdicts("HaveBeenCancelled", func() []verdict {
		return []verdict{
			{"result", HaveBeenCancelled(), ended(runner.Cancelled), true},
			{"error", HaveBeenCancelled(), cancelledFor(context.Canceled, true), true},
			{"error, that cause", HaveBeenCancelled(context.Canceled), cancelledFor(context.Canceled, true), true},
			{"error, other cause", HaveBeenCancelled(context.DeadlineExceeded), cancelledFor(context.Canceled, true), false},
			{"error, cause that satisfies", HaveBeenCancelled(MatchError("context canceled")), cancelledFor(context.Canceled, true), true},
			{"error, cause that does not satisfy", HaveBeenCancelled(MatchError("x")), cancelledFor(context.Canceled, true), false},
			{"before it started", HaveBeenCancelled(), cancelledFor(cause, false), true},
			{"before it started, that cause", HaveBeenCancelled(cause), cancelledFor(cause, false), true},
			{"before it started, other cause", HaveBeenCancelled(context.Canceled), cancelledFor(cause, false), false},
			{"exit", HaveBeenCancelled(), ended(runner.Exited(0)), false},
			{"exit, with a cause wanted", HaveBeenCancelled(cause), ended(runner.Exited(0)), false},
			{"timeout", HaveBeenCancelled(), ended(runner.TimedOut, timeout(time.Second)), false},
		}
	})

	It("cannot tell the cause from a Result", func() {
		_, err := HaveBeenCancelled(cause).Match(ended(runner.Cancelled))
		Expect(err).To(MatchError("matchers: HaveBeenCancelled cannot tell the cause from a *runner.Result; give it the error of Run or Wait"))
	})

	It("refuses an argument that it cannot compare", func() {
		_, err := HaveBeenCancelled("x").Match(ended(runner.Cancelled))
		Expect(err).To(MatchError("matchers: HaveBeenCancelled takes an error or a matcher, not string"))
		_, err = HaveBeenCancelled(cause, cause).Match(ended(runner.Cancelled))
		Expect(err).To(MatchError("matchers: HaveBeenCancelled takes one cause at most, not 2"))
	})

	It("takes the error of a run whose context ended", func(ctx SpecContext) {
		r := fake.New()
		r.On("tool").Reply(fake.Pending())
		within, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
		defer cancel()
		_, err := runner.Run(within, r, runner.Command("tool"))
		Expect(err).To(HaveBeenCancelled(context.DeadlineExceeded))
		Expect(err).NotTo(HaveTimedOut())
	})
})
