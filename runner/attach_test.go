//nolint:forbidigo // the clock of a testing/synctest bubble
package runner_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
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

func TestAttachEndsStreams(t *testing.T) {
	onFakeClock(t, "a stream that an outsider holds is given up after 250 ms, with all that was in it", func(g *WithT) {
		b := newStub()
		b.outsider = true
		p := runner.Attach(runner.Command("x"), b, time.Now())
		time.Sleep(time.Second)
		b.out.write([]byte("said in time"))
		b.exit(contain.ExitStatus{})
		res, took := settled(p)
		g.Expect(took).To(Equal(250 * time.Millisecond))
		g.Expect(res).To(HaveSucceeded())
		g.Expect(res.PipesHeld()).To(BeTrue())
		g.Expect(res).NotTo(HaveTruncated(runner.Stdout))
		g.Expect(res).To(HaveStdout("said in time"))
	})
	onFakeClock(t, "where no descendant can have left the tree, it is given a second", func(g *WithT) {
		b := newStub()
		b.outsider = true
		b.teardown = runner.Teardown{Guarantees: contain.KillTree, Verified: true}
		p := runner.Attach(runner.Command("x"), b, time.Now())
		go func() {
			time.Sleep(900 * time.Millisecond) // a child that was being started had a copy of the pipe, and has no more
			b.out.end()
			b.err.end()
		}()
		b.exit(contain.ExitStatus{})
		res, took := settled(p)
		g.Expect(took).To(Equal(900 * time.Millisecond))
		g.Expect(b.OutputHeld()).To(BeFalse())
		g.Expect(res).NotTo(HaveTruncated(runner.Stdout))

		b = newStub()
		b.outsider = true
		b.teardown = runner.Teardown{Guarantees: contain.KillTree, Verified: true}
		p = runner.Attach(runner.Command("x"), b, time.Now())
		b.exit(contain.ExitStatus{})
		res, took = settled(p)
		g.Expect(took).To(Equal(time.Second))
		g.Expect(res.PipesHeld()).To(BeTrue())

		b = newStub()
		b.outsider = true
		b.teardown = runner.Teardown{Guarantees: contain.KillTree, Verified: true}
		cmd := runner.Command("x")
		cmd.Timeout = time.Second
		_, took = settled(runner.Attach(cmd, b, time.Now()))
		g.Expect(took).To(BeNumerically("<", 2*time.Second))
	})
	onFakeClock(t, "an outsider that goes on writing does not hold a timed-out run for a second", func(g *WithT) {
		b := newStub()
		b.outsider = true
		cmd := runner.Command("x")
		cmd.Timeout = time.Second
		p := runner.Attach(cmd, b, time.Now())
		var outsider sync.WaitGroup
		outsider.Go(func() {
			for !b.out.isClosed() {
				b.out.write([]byte("noise"))
				time.Sleep(200 * time.Millisecond)
			}
		})
		res, took := settled(p)
		outsider.Wait()
		g.Expect(took).To(BeNumerically("<", 2*time.Second))
		g.Expect(res).To(HaveTimedOut())
		g.Expect(res.PipesHeld()).To(BeTrue())
	})
	onFakeClock(t, "an outsider and a slow tee together do not, either", func(g *WithT) {
		b := newStub()
		b.outsider = true
		cmd := runner.Command("x")
		cmd.Timeout = time.Second
		cmd.Output.Stdout.Tee = teeFunc(func([]byte) { time.Sleep(300 * time.Millisecond) })
		p := runner.Attach(cmd, b, time.Now())
		var outsider sync.WaitGroup
		outsider.Go(func() {
			for !b.out.isClosed() {
				b.out.write([]byte("noise"))
				time.Sleep(40 * time.Millisecond)
			}
		})
		res, took := settled(p)
		outsider.Wait()
		g.Expect(took).To(BeNumerically("<=", 1900*time.Millisecond))
		g.Expect(res).To(HaveTimedOut())
		time.Sleep(time.Second) // the tee is abandoned in its last call
	})
	onFakeClock(t, "a tee that is slow and not stuck gets the rest of a timed-out run", func(g *WithT) {
		b := newStub()
		b.out.most = 1
		var got bytes.Buffer
		cmd := runner.Command("x")
		cmd.Timeout = time.Second
		cmd.Output.Stdout.Tee = teeFunc(func(chunk []byte) { time.Sleep(300 * time.Millisecond); got.Write(chunk) })
		p := runner.Attach(cmd, b, time.Now())
		time.Sleep(900 * time.Millisecond)
		b.out.write([]byte("abc"))
		res, took := settled(p)
		g.Expect(took).To(Equal(900 * time.Millisecond))
		g.Expect(got.String()).To(Equal("abc"))
		g.Expect(res.TeeErr()).NotTo(HaveOccurred())
	})
	onFakeClock(t, "a slow tee of a run that ended by itself is waited for", func(g *WithT) {
		b := newStub()
		b.out.most = 1
		var got bytes.Buffer
		cmd := runner.Command("x")
		cmd.Output.Stdout.Tee = teeFunc(func(chunk []byte) { time.Sleep(time.Minute); got.Write(chunk) })
		p := runner.Attach(cmd, b, time.Now())
		b.out.write([]byte("slowly"))
		b.finish(contain.ExitStatus{})
		res, took := settled(p)
		g.Expect(took).To(Equal(6 * time.Minute))
		g.Expect(got.String()).To(Equal("slowly"))
		g.Expect(res.TeeErr()).NotTo(HaveOccurred())
		g.Expect(res.Duration()).To(BeZero())
	})
	onFakeClock(t, "a cancel hurries a slow tee, and the outcome stays natural", func(g *WithT) {
		b := newStub()
		cmd := runner.Command("x")
		release := make(chan struct{})
		cmd.Output.Stdout.Tee = teeFunc(func([]byte) { <-release })
		p := runner.Attach(cmd, b, time.Now())
		b.out.write([]byte("stuck"))
		b.finish(contain.ExitStatus{Code: 2})
		time.Sleep(time.Hour)
		p.Cancel(errors.New("enough"))
		res, took := settled(p)
		close(release)
		g.Expect(took).To(Equal(500 * time.Millisecond))
		g.Expect(res).To(HaveExited(2))
	})
	onFakeClock(t, "a stuck tee of a timed-out run is abandoned after 500 ms, and costs no byte", func(g *WithT) {
		b := newStub()
		cmd := runner.Command("x")
		cmd.Timeout = time.Second
		release := make(chan struct{})
		calls := 0
		cmd.Output.Stdout.Tee = teeFunc(func([]byte) { calls++; <-release })
		p := runner.Attach(cmd, b, time.Now())
		b.out.write([]byte("first "))
		time.Sleep(10 * time.Millisecond)
		b.out.write([]byte("second"))
		res, took := settled(p)
		g.Expect(took).To(Equal(1490 * time.Millisecond))
		g.Expect(res).To(HaveTimedOut())
		g.Expect(res).To(HaveStdout("first second"))
		g.Expect(res).NotTo(HaveTruncated(runner.Stdout))
		g.Expect(res.TeeErr()).To(HaveOccurred())
		close(release)
		synctest.Wait()
		g.Expect(calls).To(Equal(1))
	})
	onFakeClock(t, "a stuck tap holds up both streams, and neither for longer", func(g *WithT) {
		b := newStub()
		cmd := runner.Command("x")
		cmd.Timeout = time.Second
		release := make(chan struct{})
		calls := 0
		tapped := cmd.Tapped(func(runner.StreamID, []byte) { calls++; <-release })
		p := runner.Attach(tapped, b, time.Now())
		b.out.write([]byte("out"))
		b.err.write([]byte("err"))
		res, took := settled(p)
		g.Expect(took).To(Equal(1500 * time.Millisecond))
		g.Expect(res).To(HaveStdout("out"))
		g.Expect(res).To(HaveStderr("err"))
		close(release)
		synctest.Wait()
		g.Expect(calls).To(Equal(1))
	})
	onFakeClock(t, "a reader that knows no deadline is closed", func(g *WithT) {
		b := newStub()
		b.outsider = true
		plain := &noDeadline{stub: b}
		p := runner.Attach(runner.Command("x"), plain, time.Now())
		b.out.write([]byte("kept"))
		b.exit(contain.ExitStatus{})
		res, took := settled(p)
		g.Expect(took).To(Equal(250 * time.Millisecond))
		g.Expect(res).To(HaveStdout("kept"))
		g.Expect(res.PipesHeld()).To(BeTrue())
	})
}

func TestAttachOutlivesAForeignReader(t *testing.T) {
	onFakeClock(t, "a reader that not even Close ends is left behind", func(g *WithT) {
		b := &deafReader{stub: newStub(), release: make(chan struct{})}
		cmd := runner.Command("x")
		cmd.Timeout = time.Second
		res, took := settled(runner.Attach(cmd, b, time.Now()))
		g.Expect(took).To(Equal(1500 * time.Millisecond))
		g.Expect(res).To(HaveTimedOut())
		g.Expect(res.PipesHeld()).To(BeTrue())
		g.Expect(res).To(HaveTruncated(runner.Stdout))
		close(b.release)
		synctest.Wait()
		g.Expect(res.StdoutTotal()).To(BeZero())
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

type teeFunc func([]byte)

func (f teeFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }

func (s *stubStream) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
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
	onFakeClock(t, "bytes on either stream are a sign of life, and lines are not needed for it", func(g *WithT) {
		b := newStub()
		cmd := runner.Command("x")
		cmd.IdleTimeout = time.Minute
		p := runner.Attach(cmd, b, time.Now())
		for i := range 10 {
			time.Sleep(40 * time.Second)
			[]*stubStream{b.out, b.err}[i%2].write([]byte("."))
		}
		res, took := settled(p)
		g.Expect(took).To(Equal(time.Minute))
		g.Expect(res).To(HaveOutcome(runner.IdleTimedOut))
	})
}
