package runner_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// numbered is a runner for commands that take as many seconds as their argument says, and the commands.
func numbered(seconds ...int) (*fake.Runner, []*runner.Cmd) {
	r := fake.New()
	var cmds []*runner.Cmd
	for _, n := range seconds {
		arg := fmt.Sprint(n)
		r.On("tool", arg).Reply(fake.After(time.Duration(n)*time.Second), fake.Lines(arg), fake.Exit(n))
		cmds = append(cmds, runner.Command("tool", arg))
	}
	return r, cmds
}

func TestBatch(t *testing.T) {
	onFakeClock(t, "gives its results in the order of the commands", func(g *WithT) {
		r, cmds := numbered(3, 1, 2)
		for i, item := range (runner.Batch{AtOnce: 3}).Run(context.Background(), r, cmds) {
			g.Expect(item.Index).To(Equal(i))
			g.Expect(item.Err).NotTo(HaveOccurred())
			g.Expect(item.Result).To(HaveExited([]int{3, 1, 2}[i]))
		}
	})
	onFakeClock(t, "or in the order of their ends", func(g *WithT) {
		r, cmds := numbered(3, 1, 2)
		var order []int
		for item := range (runner.Batch{AtOnce: 3}).Each(context.Background(), r, cmds) {
			order = append(order, item.Index)
		}
		g.Expect(order).To(Equal([]int{1, 2, 0}))
	})
	onFakeClock(t, "refuses a command that is none, and runs the others", func(g *WithT) {
		r, cmds := numbered(1, 0)
		items := (runner.Batch{}).Run(context.Background(), r, []*runner.Cmd{cmds[0], nil, cmds[1]})
		g.Expect(items[0].Result).To(HaveExited(1))
		g.Expect(items[1].Result).To(BeNil())
		g.Expect(items[1].Err).To(MatchError(runner.ErrInvalid))
		g.Expect(items[2].Result).To(HaveExited(0))
	})
	onFakeClock(t, "runs as many at once as it is told", func(g *WithT) {
		r, cmds := numbered(1, 1, 1, 1, 1)
		began := time.Now()
		(runner.Batch{AtOnce: 2}).Run(context.Background(), r, cmds)
		g.Expect(time.Since(began)).To(Equal(3 * time.Second))
	})
	onFakeClock(t, "of nothing is nothing", func(g *WithT) {
		g.Expect(runner.Batch{}.Run(context.Background(), fake.New(), nil)).To(BeEmpty())
	})
	onFakeClock(t, "that is cancelled kills the live ones and never starts the queued", func(g *WithT) {
		r, cmds := numbered(1, 3600, 3600, 3600)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		items := (runner.Batch{AtOnce: 2}).Run(ctx, r, cmds)
		g.Expect(items[0].Result).To(HaveExited(1))
		for _, live := range items[1:3] {
			g.Expect(live.Err).To(MatchError(runner.ErrCancelled))
			g.Expect(live.Result).To(HaveBeenCancelled())
		}
		g.Expect(items[3].Err).To(MatchError(runner.ErrCancelled))
		g.Expect(items[3].Result).To(BeNil())
		g.Expect(r.Calls()).To(HaveLen(3))
	})
	onFakeClock(t, "that is left early kills the live ones before the loop is over", func(g *WithT) {
		r, cmds := numbered(1, 3600, 3600)
		began := time.Now()
		for range (runner.Batch{AtOnce: 2}).Each(context.Background(), r, cmds) {
			break
		}
		g.Expect(time.Since(began)).To(Equal(time.Second))
	})
	onFakeClock(t, "keeps one command's error from the others", func(g *WithT) {
		r, cmds := numbered(1, 2)
		cmds = append(cmds, runner.Command("missing"), runner.Command("tool", "2"))
		r.On("missing").Reply(fake.StartError(runner.StartNotFound))
		items := (runner.Batch{AtOnce: 4}).Run(context.Background(), r, cmds)
		g.Expect(items[2].Err).To(MatchError(runner.ErrNotFound))
		for _, i := range []int{0, 1, 3} {
			g.Expect(items[i].Err).NotTo(HaveOccurred())
		}
	})
}

var _ = Describe("a batch of real children", func() {
	It("leaves nothing of a cancelled one, and has started no queued one", func(ctx SpecContext) {
		var ready atomic.Int32
		cmds := make([]*runner.Cmd, 6)
		batch, cancel := context.WithCancel(ctx)
		defer cancel()
		for i := range cmds {
			cmds[i] = fixture("sleep")
			cmds[i].Output.Stdout.Tee = teeFunc(func([]byte) {
				if ready.Add(1) == 3 {
					cancel()
				}
			})
		}
		spy := fake.Spy(runner.Contained{})
		items := runner.Batch{AtOnce: 3}.Run(batch, spy, cmds)
		Expect(spy.Calls()).To(HaveLen(3))
		for i, item := range items {
			Expect(item.Err).To(MatchError(runner.ErrCancelled))
			if i < 3 {
				Expect(item.Result).To(HaveReapedTree())
			} else {
				Expect(item.Result).To(BeNil())
			}
		}
	})
})
