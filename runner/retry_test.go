package runner_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// always lets every error be worth another attempt.
func always(error) bool { return true }

// atOnce hardly waits.
var atOnce = runner.Backoff{First: time.Nanosecond}

// replies is a runner that gives each reply once.
func replies(list ...fake.Reply) *fake.Runner {
	r := fake.New()
	rule := r.OnSequence("tool")
	for _, reply := range list {
		rule.Reply(reply)
	}
	return r
}

var _ = Describe("a retry", func() {
	It("tries again until the command succeeds", func(ctx SpecContext) {
		r := replies(fake.Exit(1), fake.Exit(2), fake.Lines("third"))
		out, err := runner.Retry{Attempts: 5, Backoff: atOnce, When: always}.Output(ctx, r, runner.Command("tool"))
		Expect(out, err).To(Equal("third"))
		Expect(r.Calls()).To(HaveLen(3))
	})

	It("keeps every attempt's error, and matches the last", func(ctx SpecContext) {
		r := replies(fake.Exit(1), fake.End(runner.TimedOut))
		res, err := runner.Retry{Attempts: 2, Backoff: atOnce, When: always}.Check(ctx, r, runner.Command("tool"))
		Expect(res).To(HaveTimedOut())
		Expect(err).To(MatchError(runner.ErrTimedOut))
		Expect(err).To(MatchError(`runner: "tool" failed 2 times: runner: "tool" timed out`))
		failed, ok := errors.AsType[*runner.RetryError](err)
		Expect(ok).To(BeTrue())
		Expect(failed.Attempts).To(HaveLen(2))
		Expect(failed.Attempts[0]).To(MatchError(`runner: "tool" exited 1`))
	})

	It("repeats over real children, each in a tree of its own", func(ctx SpecContext) {
		spy := fake.Spy(runner.Contained{})
		_, err := runner.Retry{Attempts: 3, Backoff: atOnce, When: always}.Check(ctx, spy, fixture("exit", "7"))
		Expect(err).To(MatchError(runner.ErrUnsuccessful))
		Expect(spy.Calls()).To(HaveLen(3))
	})

	DescribeTable("tries once", func(ctx SpecContext, attempts int, when func(error) bool, reply fake.Reply) {
		r := replies(reply)
		_, err := runner.Retry{Attempts: attempts, Backoff: atOnce, When: when}.Output(ctx, r, runner.Command("tool"))
		Expect(err).To(HaveOccurred())
		_, wrapped := errors.AsType[*runner.RetryError](err)
		Expect(wrapped).To(BeFalse())
		Expect(r.Calls()).To(HaveLen(1))
	},
		Entry("by default", 0, always, fake.Exit(1)),
		Entry("when one attempt is asked for", 1, always, fake.Exit(1)),
		Entry("where the classifier says no", 9, func(error) bool { return false }, fake.Exit(1)),
		Entry("after an exit code, without a classifier", 9, nil, fake.Exit(1)),
		Entry("after a timeout, without a classifier", 9, nil, fake.End(runner.TimedOut)),
		Entry("where there is no program, without a classifier", 9, nil, fake.StartError(runner.StartNotFound)),
		Entry("after a cancel, whatever the classifier says", 9, always, fake.End(runner.Cancelled)),
	)

	It("takes a no for an answer of Probe", func(ctx SpecContext) {
		r := replies(fake.Exit(2), fake.Exit(1))
		yes, err := runner.Retry{Attempts: 5, Backoff: atOnce, When: always}.Probe(ctx, r, runner.Command("tool"))
		Expect(yes, err).To(BeFalse())
	})

	It("refuses input that feeds one start before the first start, and leaves the reader alone", func(ctx SpecContext) {
		r := replies(fake.Exit(1))
		reader := strings.NewReader("once")
		cmd := runner.Command("tool")
		cmd.Stdin = runner.StdinStream(reader)
		_, err := runner.Retry{Attempts: 2, When: always}.Output(ctx, r, cmd)
		Expect(err).To(MatchError(runner.ErrInvalid))
		Expect(r.Calls()).To(BeEmpty())
		Expect(reader.Len()).To(Equal(4))

		_, err = runner.Retry{Attempts: 1}.Output(ctx, r, cmd)
		Expect(err).To(MatchError(runner.ErrUnsuccessful), "one attempt may use it")
	})

	DescribeTable("refuses what makes no sense", func(ctx SpecContext, t runner.Retry) {
		r := replies()
		_, err := t.Output(ctx, r, runner.Command("tool"))
		Expect(err).To(MatchError(runner.ErrInvalid))
		Expect(r.Calls()).To(BeEmpty())
	},
		Entry("negative attempts", runner.Retry{Attempts: -1}),
		Entry("a negative wait", runner.Retry{Backoff: runner.Backoff{First: -1}}),
		Entry("a negative cap", runner.Retry{Backoff: runner.Backoff{Max: -1}}),
		Entry("a factor below 1", runner.Retry{Backoff: runner.Backoff{Factor: 0.5}}),
		Entry("an infinite factor", runner.Retry{Backoff: runner.Backoff{Factor: math.Inf(1)}}),
		Entry("a factor that is no number", runner.Retry{Backoff: runner.Backoff{Factor: math.NaN()}}),
	)

	DescribeTable("calls a refusal transient", func(err error, transient bool) {
		Expect(runner.Transient(err)).To(Equal(transient))
	},
		Entry("out of processes", &runner.StartError{Kind: runner.StartOther, Err: syscall.EAGAIN}, runtime.GOOS != "windows"),
		Entry("no such program", &runner.StartError{Kind: runner.StartNotFound, Err: syscall.ENOENT}, false),
		Entry("an error of another kind with such a cause", syscall.EAGAIN, false),
	)
})

func TestRetryWaits(t *testing.T) {
	onFakeClock(t, "longer each time, up to the cap, between half of it and all of it", func(g *WithT) {
		for _, chance := range []float64{0, 1} {
			began := time.Now()
			retry := runner.Retry{Attempts: 5, When: always, Backoff: runner.Backoff{
				First: time.Second, Factor: 3, Max: 10 * time.Second, Rand: func() float64 { return chance },
			}}
			r := fake.New()
			r.On().Reply(fake.Exit(1))
			_, err := retry.Output(context.Background(), r, runner.Command("tool"))
			g.Expect(err).To(HaveOccurred())
			whole := (1 + 3 + 9 + 10) * time.Second
			g.Expect(time.Since(began)).To(Equal(time.Duration(float64(whole) / 2 * (1 + chance))))
		}
	})
	onFakeClock(t, "and a cancel ends a wait at once", func(g *WithT) {
		cause := errors.New("changed my mind")
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(time.Minute, func() { cancel(cause) })
		r := fake.New()
		r.On().Reply(fake.Exit(1))
		began := time.Now()
		retry := runner.Retry{Attempts: 2, When: always, Backoff: runner.Backoff{First: time.Hour, Max: time.Hour}}
		res, err := retry.Check(ctx, r, runner.Command("tool"))
		g.Expect(time.Since(began)).To(Equal(time.Minute))
		g.Expect(err).To(And(MatchError(runner.ErrCancelled), MatchError(cause)))
		g.Expect(res).To(HaveExited(1), "the last Result is there still")
		failed, _ := errors.AsType[*runner.RetryError](err)
		g.Expect(failed.Attempts).To(HaveLen(1))
	})
}

func TestBackoff(t *testing.T) {
	g := NewWithT(t)
	full := func() float64 { return 1 }
	g.Expect(runner.Backoff{Rand: full}.Delay(1)).To(Equal(100 * time.Millisecond))
	g.Expect(runner.Backoff{Rand: full}.Delay(3)).To(Equal(400 * time.Millisecond))
	g.Expect(runner.Backoff{Rand: full}.Delay(math.MaxInt)).To(Equal(30*time.Second), "no overflow")
	longest := runner.Backoff{First: math.MaxInt64, Factor: 1e300, Max: math.MaxInt64, Rand: full}
	g.Expect(longest.Delay(100)).To(Equal(time.Duration(math.MaxInt64)), "no overflow by the jitter")

	seeded := func() []time.Duration {
		b := runner.Backoff{Rand: rand.New(rand.NewPCG(1, 2)).Float64}
		return []time.Duration{b.Delay(1), b.Delay(1), b.Delay(1)}
	}
	g.Expect(seeded()).To(Equal(seeded()), "a seed repeats the waits")
	g.Expect(seeded()[0]).NotTo(Equal(seeded()[1]), "and none is like the other")
}
