//nolint:forbidigo // the clock of a testing/synctest bubble
package runner_test

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

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

type teeFunc func([]byte)

func (f teeFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }

func (s *stubStream) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}
