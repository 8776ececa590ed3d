//go:build unix

//nolint:forbidigo // interleaving is by time
package runner_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/runner"
)

// The interleaving suite lets several actors do what they like to two to four real children at once, in groups of their
// own or in one that they share, and checks what must hold whatever they did. Each round follows from its seed; a
// failing one names it, and BOOMBOX_SEED=that replays it alone. BOOMBOX_LONG=1 makes 48 rounds.
var _ = Describe("operations in any order", func() {
	It("leave a possible outcome, and nothing else", func() {
		rounds := 6
		if os.Getenv("BOOMBOX_LONG") == "1" {
			rounds = 48
		}
		base := uint64(GinkgoRandomSeed()) << 20
		if s := os.Getenv("BOOMBOX_SEED"); s != "" {
			seed, err := strconv.ParseUint(s, 10, 64)
			if err != nil {
				Fail(err.Error())
			}
			base, rounds = seed, 1
		}
		for i := range uint64(rounds) {
			if err := interleaved(base + i); err != nil {
				Fail(fmt.Sprintf("BOOMBOX_SEED=%d: %v", base+i, err))
			}
		}
	})
})

// actedOn is a child, and what was done to it.
type actedOn struct {
	*runner.Process
	cmd  *runner.Cmd
	name string

	mu        sync.Mutex
	cancelled bool
	signals   map[syscall.Signal]bool
}

func (a *actedOn) note(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

func interleaved(seed uint64) (failed error) {
	r := rand.New(rand.NewPCG(seed, 2))
	ctx, done := context.WithTimeout(context.Background(), 2*time.Minute)
	defer done()
	var contained runner.Contained
	if r.IntN(2) == 0 {
		g, err := contain.New(contain.Options{})
		if err != nil {
			return err
		}
		contained.Group = g
		defer func() {
			if err := g.Close(); err != nil && failed == nil {
				failed = fmt.Errorf("the group: %w", err)
			}
		}()
	}
	var children []*actedOn
	for range 2 + r.IntN(3) {
		a := &actedOn{signals: map[syscall.Signal]bool{}}
		switch class := r.IntN(5); class {
		case 0:
			a.name, a.cmd = "quick", fixture("exit", "7")
		case 1:
			a.name, a.cmd = "pending", fixture("sleep")
		case 2:
			a.name, a.cmd = "loud", fixture("flood")
			a.cmd.Output.Stdout = runner.Stream{Policy: runner.Tail, MaxBytes: 1 << 10}
		case 3:
			a.name, a.cmd = "deaf", fixture("sigtermignorer")
		default:
			a.name, a.cmd = "parent", shell("trap 'exit 7' TERM; sleep 20 & sleep 20 & wait; exit 7") // however they are killed
		}
		a.cmd.Grace = time.Duration(r.IntN(3)) * 20 * time.Millisecond
		if r.IntN(3) == 0 {
			a.cmd.Timeout = time.Duration(1+r.IntN(100)) * time.Millisecond
		}
		var err error
		if a.Process, err = contained.Start(ctx, a.cmd); err != nil {
			return fmt.Errorf("start: %w", err)
		}
		children = append(children, a)
	}

	var actors sync.WaitGroup
	panics := make(chan any, 8)
	for range 2 + r.IntN(3) {
		ops := make([][3]int, 4+r.IntN(8))
		for i := range ops {
			ops[i] = [3]int{r.IntN(len(children)), r.IntN(11), r.IntN(10_000)}
		}
		actors.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					panics <- v
				}
			}()
			for _, op := range ops {
				time.Sleep(time.Duration(op[2]) * time.Microsecond)
				if op[1] < 8 || contained.Group == nil {
					children[op[0]].act(ctx, op[1])
				} else {
					actOnGroup(ctx, op[1], contained.Group, children)
				}
			}
		})
	}
	actors.Wait()
	select {
	case v := <-panics:
		return fmt.Errorf("panic: %v", v)
	default:
	}
	for _, a := range children {
		a.note(func() { a.cancelled = true })
		a.Cancel(errCaller)
	}
	for _, a := range children {
		res, err := a.Wait(ctx)
		if res == nil {
			return fmt.Errorf("%s does not settle: %w", a.name, err)
		}
		if err := a.possible(res, err); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
	}
	if contained.Group != nil {
		if members, err := contained.Group.Members(); err != nil || len(members) > 0 {
			return fmt.Errorf("left in the group: %v, %w", members, err)
		}
	}
	return nil
}

// actOnGroup does one thing to all children.
func actOnGroup(ctx context.Context, what int, g *contain.Group, children []*actedOn) {
	switch what {
	case 8:
		_, _ = g.Members()
	case 9:
		if g.Freeze(ctx) == nil {
			_ = g.Thaw()
		}
	default:
		for _, a := range children {
			a.note(func() { a.signals[syscall.SIGKILL] = true })
		}
		_ = g.Kill()
	}
}

// act does one thing to the child.
func (a *actedOn) act(ctx context.Context, what int) {
	switch what {
	case 0:
		a.note(func() { a.signals[syscall.SIGKILL] = true })
		_ = a.Kill()
	case 1:
		a.note(func() { a.signals[syscall.SIGTERM] = true })
		_ = a.Signal(syscall.SIGTERM)
	case 2:
		_ = a.Signal(syscall.SIGCONT)
	case 3:
		a.note(func() { a.cancelled = true })
		a.Cancel(errCaller)
	case 4:
		a.note(func() { a.cancelled = true })
		_ = a.Close()
	case 5:
		short, done := context.WithTimeout(ctx, time.Millisecond)
		defer done()
		_, _ = a.Wait(short)
	case 6:
		for range a.Lines(ctx) {
			break
		}
	case 7:
		_ = fmt.Sprint(a.Process)
		_, _ = a.Result()
		_, _ = a.Stdin().Write([]byte("x"))
	}
}

// possible says why the outcome cannot be, nil when it can.
func (a *actedOn) possible(res *runner.Result, err error) error {
	again, _ := a.Result()
	outcome := res.Outcome()
	signal, _ := outcome.Signal()
	switch {
	case again != res:
		return errors.New("two results")
	case a.Signal(syscall.SIGTERM) == nil:
		return errors.New("a settled run takes a signal")
	case (outcome == runner.Cancelled) != errors.Is(err, runner.ErrCancelled):
		return fmt.Errorf("%s with error %w", outcome, err)
	case outcome != runner.Cancelled && err != nil:
		return err
	case outcome == runner.Cancelled && !a.cancelled:
		return errors.New("cancelled by nobody")
	case outcome == runner.TimedOut && a.cmd.Timeout == 0:
		return errors.New("timed out without a timeout")
	case outcome.Kind() == runner.KindIdleTimedOut || outcome.Kind() == runner.KindOverflowed:
		return fmt.Errorf("%s without a cause", outcome)
	case signal != 0 && !a.signals[signal]:
		return fmt.Errorf("%s, which nobody sent", outcome)
	case outcome.Kind() == runner.KindExited && outcome != runner.Exited(7) && a.name != "loud":
		return fmt.Errorf("%s, which the child never does", outcome)
	case !res.Teardown().Verified:
		return errors.New("the tree was not seen empty")
	case res.SettledAfter() < res.Duration():
		return errors.New("settled before it was decided")
	}
	return nil
}
