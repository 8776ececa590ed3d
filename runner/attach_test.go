//nolint:forbidigo // the clock of a testing/synctest bubble
package runner_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// onFakeClock runs f in a bubble: time passes when nothing else can happen, so every duration here is exact.
func onFakeClock(t *testing.T, name string, f func(g *WithT)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { f(NewWithT(t)) }) })
}

// settled waits and returns the Result, and how long that took.
func settled(p *runner.Process) (*runner.Result, time.Duration) {
	began := time.Now()
	<-p.Settled()
	res, _ := p.Result()
	return res, time.Since(began)
}

func TestAttachDecides(t *testing.T) {
	onFakeClock(t, "an end that came first stays natural, although nobody had heard of it", func(g *WithT) {
		b := newStub()
		b.mu.Lock()
		b.ended, b.status = true, contain.ExitStatus{Code: 7} // and Exited is not closed yet
		b.mu.Unlock()
		p := runner.Attach(runner.Command("x"), b, time.Now())
		p.Cancel(errors.New("late"))
		close(b.exited)
		res, _ := settled(p)
		g.Expect(res).To(HaveExited(7))
	})
	onFakeClock(t, "a child that exits 0 within the grace timed out all the same", func(g *WithT) {
		b := newStub()
		b.onTerminate = func() { b.finish(contain.ExitStatus{}) }
		cmd := runner.Command("x")
		cmd.Timeout, cmd.Grace = time.Second, time.Minute
		res, took := settled(runner.Attach(cmd, b, time.Now()))
		g.Expect(took).To(Equal(time.Second))
		g.Expect(res).To(HaveTimedOut())
		status, ok := res.Status()
		g.Expect(ok).To(BeTrue())
		g.Expect(status).To(Equal(contain.ExitStatus{}))
		g.Expect(b.terminated).To(Equal([]syscall.Signal{syscall.SIGTERM}))
	})
	onFakeClock(t, "without a grace nobody is asked", func(g *WithT) {
		b := newStub()
		cmd := runner.Command("x")
		cmd.Timeout = time.Second
		res, took := settled(runner.Attach(cmd, b, time.Now()))
		g.Expect(took).To(Equal(time.Second))
		g.Expect(res).To(HaveDuration(time.Second))
		g.Expect(b.terminated).To(BeEmpty())
		g.Expect(b.kills).To(Equal(1))
		g.Expect(b.closes).To(Equal(1))
	})
	onFakeClock(t, "who ignores the request is killed when the grace is over", func(g *WithT) {
		b := newStub()
		cmd := runner.Command("x")
		cmd.Timeout, cmd.Grace = time.Second, 3*time.Second
		res, took := settled(runner.Attach(cmd, b, time.Now()))
		g.Expect(took).To(Equal(4 * time.Second))
		g.Expect(res).To(HaveDuration(time.Second))
		g.Expect(res.SettledAfter()).To(Equal(4 * time.Second))
		status, _ := res.Status()
		g.Expect(status.Signal).To(Equal(syscall.SIGKILL))
	})
	onFakeClock(t, "Kill cuts the grace short", func(g *WithT) {
		b := newStub()
		cmd := runner.Command("x")
		cmd.Timeout, cmd.Grace = time.Second, time.Hour
		p := runner.Attach(cmd, b, time.Now())
		time.Sleep(2 * time.Second)
		g.Expect(p.Kill()).To(Succeed())
		res, took := settled(p)
		g.Expect(took).To(BeZero())
		g.Expect(res).To(HaveTimedOut())
	})
	onFakeClock(t, "the first of several events wins", func(g *WithT) {
		cause := errors.New("caller")
		b := newStub()
		cmd := runner.Command("x")
		cmd.Timeout, cmd.IdleTimeout, cmd.Grace = 2*time.Second, 3*time.Second, 10*time.Second
		p := runner.Attach(cmd, b, time.Now())
		time.Sleep(time.Second)
		p.Cancel(cause)
		res, took := settled(p)
		g.Expect(took).To(Equal(10 * time.Second))
		g.Expect(res).To(HaveBeenCancelled())
		_, err := p.Wait(context.Background())
		g.Expect(err).To(MatchError(cause))
	})
	onFakeClock(t, "the end of both streams is not the end of the child", func(g *WithT) {
		b := newStub()
		b.out.end()
		b.err.end()
		p := runner.Attach(runner.Command("x"), b, time.Now())
		time.Sleep(time.Hour)
		_, over := p.Result()
		g.Expect(over).To(BeFalse())
		b.exit(contain.ExitStatus{Code: 1})
		res, _ := settled(p)
		g.Expect(res).To(HaveExited(1))
		g.Expect(res.PipesHeld()).To(BeFalse())
	})
	onFakeClock(t, "an overflow that the last bytes reveal beats the end that came after them", func(g *WithT) {
		b := newStub()
		b.out.write([]byte("too much"))
		b.finish(contain.ExitStatus{})
		cmd := runner.Command("x")
		cmd.Output.Stdout.MaxBytes = 3
		res, _ := settled(runner.Attach(cmd, b, time.Now()))
		g.Expect(res).To(HaveOverflowed())
		g.Expect(res).To(HaveStdout("too"))
		g.Expect(res.StdoutTotal()).To(BeEquivalentTo(8))
	})
	onFakeClock(t, "a lost exit status is not made up", func(g *WithT) {
		b := newStub()
		p := runner.Attach(runner.Command("x"), b, time.Now())
		b.finish(contain.ExitStatus{Lost: true})
		res, err := p.Wait(context.Background())
		g.Expect(res).NotTo(HaveSucceeded())
		g.Expect(err).To(MatchError(runner.ErrCancelled))
		g.Expect(err).To(MatchError(ContainSubstring("lost")))
	})
}

func TestAttachTellsOfStdin(t *testing.T) {
	broken := errors.New("source broke")
	onFakeClock(t, "a broken source fails a run that would have succeeded", func(g *WithT) {
		b := newStub()
		b.stdinErr = broken
		p := runner.Attach(runner.Command("x"), b, time.Now())
		b.finish(contain.ExitStatus{})
		res, _ := settled(p)
		g.Expect(res.StdinErr()).To(MatchError(broken))
		g.Expect(res.Check()).To(MatchError(broken))
		g.Expect(res.Check()).To(MatchError(runner.ErrUnsuccessful))
	})
	onFakeClock(t, "a broken source is not told of a run that failed anyway", func(g *WithT) {
		b := newStub()
		b.stdinErr = broken
		p := runner.Attach(runner.Command("x"), b, time.Now())
		b.finish(contain.ExitStatus{Code: 1})
		res, _ := settled(p)
		g.Expect(res.StdinErr()).NotTo(HaveOccurred())
	})
}

func TestAttachTellsOfSurvivors(t *testing.T) {
	drain := &contain.DrainError{Survivors: []contain.Member{{PID: 42, State: 'D', Name: "stuck"}}}
	onFakeClock(t, "a tree that could not be ended is an error beside the Result", func(g *WithT) {
		b := newStub()
		b.teardown = runner.Teardown{Err: drain, Survivors: drain.Survivors}
		p := runner.Attach(runner.Command("x"), b, time.Now())
		b.finish(contain.ExitStatus{})
		res, err := p.Wait(context.Background())
		g.Expect(err).To(MatchError(contain.ErrDrain))
		g.Expect(res).To(HaveSucceeded())
		g.Expect(p.Close()).To(MatchError(contain.ErrDrain))
		g.Expect(res.String()).To(ContainSubstring("1 survivors"))
	})
	onFakeClock(t, "and a cancelled run says both", func(g *WithT) {
		b := newStub()
		b.teardown = runner.Teardown{Err: drain}
		p := runner.Attach(runner.Command("x"), b, time.Now())
		cause := errors.New("enough")
		p.Cancel(cause)
		_, err := p.Wait(context.Background())
		g.Expect(err).To(MatchError(runner.ErrCancelled))
		g.Expect(err).To(MatchError(cause))
		g.Expect(err).To(MatchError(contain.ErrDrain))
		found, ok := errors.AsType[*contain.DrainError](err)
		g.Expect(ok).To(BeTrue())
		g.Expect(found).To(BeIdenticalTo(drain))
		g.Expect(strings.Count(err.Error(), "\n")).To(BeZero())
	})
}
