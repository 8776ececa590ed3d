//nolint:forbidigo // what is interleaved goes by time
package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/runner"
)

// A round starts two to four children in one group, does to each what its seed says while others do something to the
// group, and looks whether anything came of it that cannot be. A failing round names its seed, as those of the race suite do.
var _ = Describe("operations on several children at once", func() {
	It("come to no impossible end, and leave nothing, however they interleave", func() {
		if runtime.GOOS == "windows" {
			Skip("its children are a shell's")
		}
		seen := eachSeed(48, 1000, interleavedRound)
		for _, kind := range []runner.OutcomeKind{runner.KindExited, runner.KindSignalled, runner.KindCancelled} {
			Expect(seen).To(HaveKeyWithValue(kind, BeNumerically(">", 0)))
		}
	})
})

// settleBound is when a child that was closed must be settled, on any machine.
const settleBound = 20 * time.Second

// actor is one child of a round, with what was done to it.
type actor struct {
	kind      string
	process   *runner.Process
	deadline  bool
	find      func() []int
	signalled bool
}

func interleavedRound(seed uint64) (first runner.OutcomeKind, err error) {
	r := rand.New(rand.NewPCG(seed, 2))
	opts := contain.Options{}
	if r.IntN(3) == 0 {
		opts.Mechanism = contain.ProcessGroup
	}
	group, err := contain.New(opts)
	if err != nil {
		return 0, err
	}
	ctx := context.Background()
	var struck atomic.Bool // the group was killed
	var actors []*actor
	for range 2 + r.IntN(3) {
		a, err := startActor(ctx, group, r)
		if err != nil {
			return 0, errors.Join(err, group.Close())
		}
		actors = append(actors, a)
	}
	var all sync.WaitGroup
	for _, a := range actors {
		own := rand.New(rand.NewPCG(seed, r.Uint64()))
		all.Go(func() { a.act(ctx, own) })
	}
	own := rand.New(rand.NewPCG(seed, r.Uint64()))
	extras := make(chan error, 8)
	all.Go(func() { extras <- disturb(ctx, group, &struck, own) })
	all.Wait()
	errs := []error{<-extras}
	for i, a := range actors {
		kind, err := a.end(ctx, struck.Load())
		if i == 0 {
			first = kind
		}
		errs = append(errs, err)
	}
	errs = append(errs, group.Close())
	for _, a := range actors {
		if left := a.find(); len(left) > 0 {
			errs = append(errs, fmt.Errorf("%s left %d processes", a.kind, len(left)))
		}
	}
	return first, errors.Join(errs...)
}

func startActor(ctx context.Context, g *contain.Group, r *rand.Rand) (*actor, error) {
	a := &actor{}
	var cmd *runner.Cmd
	switch r.IntN(4) {
	case 0:
		a.kind, cmd = "talker", fixture("cat")
		cmd.Stdin = runner.StdinPipe()
	case 1:
		a.kind, cmd = "sleeper", fixture("sleep")
	case 2:
		a.kind, cmd = "quick", fixture("exit", "3")
	default:
		a.kind, cmd = "flood", fixture("flood")
		cmd.Output.Stdout.MaxBytes = 100_000
	}
	a.find = marked(cmd)
	cmd.Timeout = time.Minute
	if a.deadline = r.IntN(4) == 0; a.deadline {
		cmd.Timeout = time.Duration(1+r.IntN(60)) * time.Millisecond
	}
	if r.IntN(2) == 0 {
		cmd.Grace = time.Duration(r.IntN(20)) * time.Millisecond
	}
	if runtime.GOOS == "linux" && r.IntN(4) == 0 {
		cmd.Nice = new(1)
	}
	var err error
	a.process, err = runner.Contained{Group: g}.Start(ctx, cmd)
	return a, err
}

// act does a few things, each of which may come too late.
func (a *actor) act(ctx context.Context, r *rand.Rand) {
	for range 3 + r.IntN(4) {
		time.Sleep(time.Duration(r.IntN(4000)) * time.Microsecond)
		switch r.IntN(9) {
		case 0, 1, 2:
			_, _ = io.WriteString(a.process.Stdin(), "line\n")
		case 3:
			_ = a.process.Stdin().Close()
		case 4:
			short, cancel := context.WithTimeout(ctx, time.Millisecond)
			_, _ = a.process.Wait(short)
			cancel()
		case 5:
			a.process.Result()
			_ = a.process.String()
		case 6:
			a.signalled = true
			_ = a.process.Signal(syscall.SIGTERM)
		case 7:
			a.signalled = true
			_ = a.process.Kill()
		default:
			a.process.Cancel(errCaller)
		}
	}
}

// disturb does something to the group meanwhile. What it starts may be killed before it begins.
func disturb(ctx context.Context, g *contain.Group, struck *atomic.Bool, r *rand.Rand) error {
	for range 2 + r.IntN(4) {
		time.Sleep(time.Duration(r.IntN(4000)) * time.Microsecond)
		switch r.IntN(4) {
		case 0:
			if _, err := g.Members(); err != nil {
				return fmt.Errorf("members: %w", err)
			}
		case 1:
			g.Evidence()
			g.Stats()
		case 2:
			struck.Store(true)
			if err := g.Kill(); err != nil {
				return fmt.Errorf("kill: %w", err)
			}
		default:
			res, err := runner.Run(ctx, runner.Contained{Group: g}, fixture("exit", "3"))
			if err != nil || res.Outcome() != runner.Exited(3) {
				return fmt.Errorf("a child beside: %v, %w", res, err)
			}
		}
	}
	return nil
}

// end closes the child and judges what came of it; struck says that its group was killed meanwhile.
func (a *actor) end(ctx context.Context, struck bool) (runner.OutcomeKind, error) {
	fail := func(what string, more ...any) error { return fmt.Errorf(a.kind+": "+what, more...) }
	began := time.Now()
	if err := a.process.Close(); err != nil {
		return 0, fail("close: %w", err)
	}
	if took := time.Since(began); took > settleBound {
		return 0, fail("settled after %v", took)
	}
	res, err := a.process.Wait(ctx)
	kind := res.Outcome().Kind()
	cancelled := errors.Is(err, runner.ErrCancelled)
	code, exited := res.ExitCode()
	switch {
	case cancelled != (kind == runner.KindCancelled):
		return kind, fail("%v with the error %v", res.Outcome(), err)
	case err != nil && !cancelled:
		return kind, fail("error %w", err)
	case exited && (a.kind == "quick" && code != 3 || a.kind == "talker" && code != 0 || a.kind == "sleeper"):
		return kind, fail("exited %d", code)
	case kind == runner.KindSignalled && !a.signalled && !struck:
		return kind, fail("signalled by nobody")
	case kind == runner.KindTimedOut && !a.deadline:
		return kind, fail("timed out without a deadline")
	case kind == runner.KindOverflowed && a.kind != "flood":
		return kind, fail("overflowed")
	case kind == runner.KindIdleTimedOut:
		return kind, fail("idle without a deadline")
	case res.StdinErr() != nil:
		return kind, fail("input: %w", res.StdinErr())
	}
	if _, err := a.process.Stdin().Write([]byte("late")); err == nil {
		return kind, fail("it takes input when it is over")
	}
	if err := a.process.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		return kind, fail("a signal after the end: %w", err)
	}
	return kind, nil
}
