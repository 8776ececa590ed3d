//nolint:forbidigo // racing is by time
package runner_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/runner"
)

// The race suite lets the end of a child, a deadline, an idle deadline, a cancel, a kill and an overflow happen within
// the same moment, thousands of times, and checks what must hold whoever wins. Each round has its own seed. A failing
// one names it: BOOMBOX_SEED=that go test ./runner replays that round alone. BOOMBOX_LONG=1 makes many more rounds.
var _ = Describe("the race for the outcome", func() {
	It("has one winner, which nobody can revise, over scripted children", func() {
		seen := eachSeed(2000, 20_000, scriptedRound)
		// A race that one side always wins is none.
		for _, kind := range []runner.OutcomeKind{
			runner.KindExited, runner.KindSignalled, runner.KindTimedOut, runner.KindIdleTimedOut, runner.KindCancelled,
			runner.KindOverflowed,
		} {
			Expect(seen).To(HaveKeyWithValue(kind, BeNumerically(">", 0)))
		}
	})
	It("has one winner, which nobody can revise, over real children", func() {
		// How long a child takes that does nothing, on this machine and under its load.
		var took []time.Duration
		for range 5 {
			res, err := runner.Run(context.Background(), runner.Contained{}, fixture("sleep", "1ms"))
			Expect(err).NotTo(HaveOccurred())
			took = append(took, res.Duration())
		}
		slices.Sort(took)
		usual := took[len(took)/2]
		seen := eachSeed(80, 2500, func(seed uint64) (runner.OutcomeKind, error) { return realRound(seed, usual) })
		for _, kind := range []runner.OutcomeKind{runner.KindExited, runner.KindTimedOut, runner.KindCancelled} {
			Expect(seen).To(HaveKeyWithValue(kind, BeNumerically(">", 0)))
		}
	})
})

// eachSeed runs rounds, two at a time, and counts their outcomes.
func eachSeed(short, long int, round func(seed uint64) (runner.OutcomeKind, error)) map[runner.OutcomeKind]int {
	GinkgoHelper()
	if s := os.Getenv("BOOMBOX_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		Expect(err).NotTo(HaveOccurred())
		_, err = round(seed)
		Expect(err).NotTo(HaveOccurred(), "seed %d", seed)
		Skip("one seed alone was asked for")
	}
	rounds := short
	if os.Getenv("BOOMBOX_LONG") == "1" {
		rounds = long
	}
	base := uint64(GinkgoRandomSeed()) << 20
	seen := map[runner.OutcomeKind]int{}
	failed := map[uint64]error{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for half := range 2 {
		all.Go(func() {
			for i := half; i < rounds; i += 2 {
				seed := base + uint64(i)
				kind, err := round(seed)
				mu.Lock()
				seen[kind]++
				if err != nil {
					failed[seed] = err
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	all.Wait()
	AddReportEntry("race suite", fmt.Sprintf("%d rounds from seed %d: %v", rounds, base, seen))
	for seed, err := range failed {
		Fail(fmt.Sprintf("BOOMBOX_SEED=%d: %v", seed, err))
	}
	return seen
}

var errCaller = errors.New("caller")

func scriptedRound(seed uint64) (runner.OutcomeKind, error) {
	r := rand.New(rand.NewPCG(seed, 1))
	b := newStub()
	if r.IntN(2) == 0 {
		b.onTerminate = func() { b.finish(contain.ExitStatus{}) }
	}
	moment := func() time.Duration { return time.Duration(r.IntN(300)) * time.Microsecond }
	maybe := func(d time.Duration) time.Duration {
		if r.IntN(3) == 0 {
			return 0
		}
		return d + time.Microsecond
	}
	cmd := runner.Command("x")
	cmd.Timeout, cmd.IdleTimeout, cmd.Grace = maybe(moment()), maybe(moment()), maybe(moment())
	cmd.Output.Stdout.MaxBytes = 4
	code := r.IntN(3)
	ends, cancels, kills, says := moment(), moment(), moment(), moment()
	said := []byte("12345678")[:r.IntN(9)]
	pick := r.IntN(16)

	p := runner.Attach(cmd, b, time.Now())
	var actors sync.WaitGroup
	actors.Go(func() { time.Sleep(ends); b.finish(contain.ExitStatus{Code: code}) })
	actors.Go(func() { time.Sleep(says); b.out.write(said) })
	if pick&1 != 0 {
		actors.Go(func() { time.Sleep(cancels); p.Cancel(errCaller) })
	}
	if pick&2 != 0 {
		actors.Go(func() { time.Sleep(kills); _ = p.Kill() })
	}
	<-p.Settled()
	first, _ := p.Result()
	actors.Wait()
	p.Cancel(errors.New("too late"))
	res, err := p.Wait(context.Background())

	outcome := res.Outcome()
	overflowed := outcome == runner.Overflowed
	natural := outcome.Kind() == runner.KindExited || outcome.Kind() == runner.KindSignalled
	switch {
	case res != first || first.Outcome() != outcome:
		return outcome.Kind(), errors.New("the Result changed after it was settled")
	case overflowed && res.StdoutTotal() <= 4:
		return outcome.Kind(), errors.New("overflowed without an overflow")
	case natural && res.StdoutTotal() > 4:
		return outcome.Kind(), fmt.Errorf("%s, and %d bytes passed a cap of 4", outcome, res.StdoutTotal())
	case !overflowed && natural != b.firstPoll():
		return outcome.Kind(), fmt.Errorf("%s, and the first look found ended=%t", outcome, b.firstPoll())
	case natural && len(b.terminated) > 0:
		return outcome.Kind(), fmt.Errorf("%s, and yet the tree was asked to end", outcome)
	case outcome == runner.TimedOut && (cmd.Timeout == 0 || res.Duration() < cmd.Timeout):
		return outcome.Kind(), fmt.Errorf("timed out after %s, with a timeout of %s", res.Duration(), cmd.Timeout)
	case outcome == runner.IdleTimedOut && (cmd.IdleTimeout == 0 || res.Duration() < cmd.IdleTimeout):
		return outcome.Kind(), fmt.Errorf("timed out idle after %s, with %s", res.Duration(), cmd.IdleTimeout)
	case outcome == runner.Cancelled && (pick&1 == 0 || !errors.Is(err, errCaller)):
		return outcome.Kind(), fmt.Errorf("cancelled with %v", err)
	case outcome != runner.Cancelled && err != nil:
		return outcome.Kind(), fmt.Errorf("%s with error %v", outcome, err)
	case b.closes != 1:
		return outcome.Kind(), fmt.Errorf("backend closed %d times", b.closes)
	}
	return outcome.Kind(), agrees(res)
}

// agrees checks that a natural outcome is what the child did.
func agrees(res *runner.Result) error {
	status, known := res.Status()
	if !known {
		return errors.New("no status of a run that is over")
	}
	if code, ok := res.Outcome().ExitCode(); ok && (!status.Exited() || status.Code != code) {
		return fmt.Errorf("%s, and the status is %+v", res.Outcome(), status)
	}
	if sig, ok := res.Outcome().Signal(); ok && status.Signal != sig {
		return fmt.Errorf("%s, and the status is %+v", res.Outcome(), status)
	}
	return nil
}

// realRound races a child that lives for a few milliseconds more than usual against a deadline and a cancel at about the
// same time.
func realRound(seed uint64, usual time.Duration) (runner.OutcomeKind, error) {
	r := rand.New(rand.NewPCG(seed, 2))
	life := time.Duration(1+r.IntN(20)) * time.Millisecond
	near := func() time.Duration {
		return usual/2 + life + time.Duration(r.Int64N(int64(usual+10*time.Millisecond)))
	}
	cmd := fixture("sleep", life.String())
	if r.IntN(3) > 0 {
		cmd.Timeout = near()
	}
	if r.IntN(4) == 0 {
		cmd.Grace = 5 * time.Millisecond
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	if r.IntN(3) > 0 {
		timer := time.AfterFunc(near(), func() { cancel(errCaller) })
		defer timer.Stop()
	}
	began := time.Now()
	res, err := runner.Run(ctx, runner.Contained{}, cmd)
	took := time.Since(began)
	if res == nil {
		if !errors.Is(err, runner.ErrCancelled) || ctx.Err() == nil {
			return 0, fmt.Errorf("no result: %w", err)
		}
		return runner.KindCancelled, nil
	}
	outcome := res.Outcome()
	switch {
	case outcome == runner.Cancelled && (!errors.Is(err, errCaller) || ctx.Err() == nil):
		return outcome.Kind(), fmt.Errorf("cancelled with %v", err)
	case outcome != runner.Cancelled && err != nil:
		return outcome.Kind(), fmt.Errorf("%s with error %w", outcome, err)
	case outcome == runner.TimedOut && (cmd.Timeout == 0 || res.Duration() < cmd.Timeout):
		return outcome.Kind(), fmt.Errorf("timed out after %s, with a timeout of %s", res.Duration(), cmd.Timeout)
	case outcome.Kind() == runner.KindExited && outcome != runner.Exited(0):
		return outcome.Kind(), fmt.Errorf("%s, and the child exits with 0", outcome)
	case outcome == runner.Signalled(syscall.SIGTERM) || outcome == runner.Signalled(syscall.SIGKILL):
		return outcome.Kind(), fmt.Errorf("%s, and nobody but us signals it", outcome)
	case !res.Teardown().Verified:
		return outcome.Kind(), errors.New("the tree was not seen empty")
	case took > 2*usual+life+cmd.Grace+5*time.Second:
		return outcome.Kind(), fmt.Errorf("took %s", took)
	}
	return outcome.Kind(), agrees(res)
}
