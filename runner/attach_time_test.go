//nolint:forbidigo // the clock of a testing/synctest bubble
package runner_test

import (
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

func TestAttachCountsIdleTime(t *testing.T) {
	onFakeClock(t, "every byte on either stream puts the idle timeout off", func(g *WithT) {
		b := newStub()
		cmd := runner.Command("x")
		cmd.IdleTimeout = time.Second
		p := runner.Attach(cmd, b, time.Now())
		go func() {
			for i := range 10 {
				time.Sleep(900 * time.Millisecond)
				[]*stubStream{b.out, b.err}[i%2].write([]byte("."))
			}
		}()
		res, took := settled(p)
		g.Expect(took).To(Equal(9*time.Second + time.Second))
		g.Expect(res).To(HaveOutcome(runner.IdleTimedOut))
	})
	onFakeClock(t, "a slow tee is not an idle child", func(g *WithT) {
		b := newStub()
		cmd := runner.Command("x")
		cmd.IdleTimeout = time.Second
		cmd.Output.Stdout.Tee = teeFunc(func([]byte) { time.Sleep(time.Minute) })
		p := runner.Attach(cmd, b, time.Now())
		b.out.write([]byte("."))
		time.Sleep(time.Minute)
		b.finish(contain.ExitStatus{})
		res, _ := settled(p)
		g.Expect(res).To(HaveSucceeded())
	})
}

func TestAttachGivesGraces(t *testing.T) {
	onFakeClock(t, "a cancel has its own, and asks by the command's signal", func(g *WithT) {
		for _, c := range []struct {
			cancel, want time.Duration
		}{{0, 10 * time.Second}, {time.Second, time.Second}, {time.Minute, time.Minute}, {runner.NoGrace, 0}} {
			b := newStub()
			cmd := runner.Command("x")
			cmd.Grace, cmd.CancelGrace, cmd.StopSignal = 10*time.Second, c.cancel, syscall.SIGINT
			p := runner.Attach(cmd, b, time.Now())
			p.Cancel(nil)
			_, took := settled(p)
			g.Expect(took).To(Equal(c.want))
			if c.want > 0 {
				g.Expect(b.terminated).To(Equal([]syscall.Signal{syscall.SIGINT}))
			} else {
				g.Expect(b.terminated).To(BeEmpty())
			}
		}
	})
	onFakeClock(t, "a timeout's is not that of a cancel", func(g *WithT) {
		b := newStub()
		cmd := runner.Command("x")
		cmd.Timeout, cmd.Grace, cmd.CancelGrace = time.Second, 2*time.Second, time.Hour
		_, took := settled(runner.Attach(cmd, b, time.Now()))
		g.Expect(took).To(Equal(3 * time.Second))
	})
	onFakeClock(t, "one without an end is none: the first process that ends cuts it short", func(g *WithT) {
		b := newStub()
		b.onTerminate = func() { time.AfterFunc(time.Hour, func() { b.finish(contain.ExitStatus{}) }) }
		cmd := runner.Command("x")
		cmd.Timeout, cmd.Grace = time.Second, 1<<63-1
		_, took := settled(runner.Attach(cmd, b, time.Now()))
		g.Expect(took).To(Equal(time.Second + time.Hour))
	})
	onFakeClock(t, "any duration is one: none of them overflows into the past", func(g *WithT) {
		b := newStub()
		cmd := runner.Command("x")
		cmd.Timeout, cmd.IdleTimeout, cmd.Grace, cmd.CancelGrace = 1<<63-1, 1<<63-1, 1<<63-1, 1<<63-1
		p := runner.Attach(cmd, b, time.Now().Add(-time.Hour))
		time.Sleep(24 * 365 * time.Hour)
		_, over := p.Result()
		g.Expect(over).To(BeFalse())
		b.finish(contain.ExitStatus{})
		res, _ := settled(p)
		g.Expect(res).To(HaveSucceeded())
	})
}
