package runner_test

import (
	"bytes"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/runner"
)

// stub is a Backend that does what a test tells it, and remembers what it was asked.
type stub struct {
	out, err *stubStream
	exited   chan struct{}
	// outsider keeps the streams open beyond Kill.
	outsider bool
	// onTerminate is what the tree does at a request to end; nil ignores it.
	onTerminate func()
	stdinErr    error
	teardown    runner.Teardown

	mu         sync.Mutex
	ended      bool
	status     contain.ExitStatus
	polls      []bool
	terminated []syscall.Signal
	kills      int
	closes     int
}

func newStub() *stub {
	return &stub{out: newStubStream(), err: newStubStream(), exited: make(chan struct{})}
}

// exit ends the child. Its streams stay open until finish, or Kill.
func (b *stub) exit(status contain.ExitStatus) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended {
		b.ended, b.status = true, status
		close(b.exited)
	}
}

// finish ends the streams and the child.
func (b *stub) finish(status contain.ExitStatus) {
	b.out.end()
	b.err.end()
	b.exit(status)
}

func (b *stub) PID() (int, bool)                { return 0, false }
func (b *stub) Stdout() io.ReadCloser           { return b.out }
func (b *stub) Stderr() io.ReadCloser           { return b.err }
func (b *stub) Exited() <-chan struct{}         { return b.exited }
func (b *stub) OutputHeld() bool                { return !b.out.over() || !b.err.over() }
func (b *stub) Signal(sig syscall.Signal) error { return nil }
func (b *stub) StdinErr() error                 { return b.stdinErr }

func (b *stub) Poll() (contain.ExitStatus, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.polls = append(b.polls, b.ended)
	return b.status, b.ended
}

func (b *stub) Terminate(sig syscall.Signal) error {
	b.mu.Lock()
	b.terminated = append(b.terminated, sig)
	b.mu.Unlock()
	if b.onTerminate != nil {
		b.onTerminate()
	}
	return nil
}

func (b *stub) Kill() runner.Teardown {
	b.exit(contain.ExitStatus{Signal: syscall.SIGKILL})
	b.mu.Lock()
	b.kills++
	b.mu.Unlock()
	if !b.outsider {
		b.out.end()
		b.err.end()
	}
	return b.teardown
}

func (b *stub) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closes++
	return nil
}

// firstPoll is what the first look at the child found, which decides between its own end and an interruption.
func (b *stub) firstPoll() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.polls[0]
}

// stubStream is an output stream in memory. It is unbounded, so that writing never blocks.
type stubStream struct {
	mu      sync.Mutex
	wake    *sync.Cond
	data    bytes.Buffer
	ended   bool
	expired bool
	closed  bool
	// most is how much one Read gives at most; 0 means any.
	most int
}

func newStubStream() *stubStream {
	s := &stubStream{}
	s.wake = sync.NewCond(&s.mu)
	return s
}

func (s *stubStream) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.wake.Broadcast()
}

func (s *stubStream) write(b []byte) { s.change(func() { s.data.Write(b) }) }
func (s *stubStream) end()           { s.change(func() { s.ended = true }) }

func (s *stubStream) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

func (s *stubStream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.data.Len() == 0 && !s.ended && !s.expired && !s.closed {
		s.wake.Wait()
	}
	switch {
	case s.closed:
		return 0, os.ErrClosed
	case s.data.Len() > 0:
		if s.most > 0 {
			p = p[:min(len(p), s.most)]
		}
		return s.data.Read(p)
	case s.ended:
		return 0, io.EOF
	default:
		return 0, os.ErrDeadlineExceeded
	}
}

func (s *stubStream) SetReadDeadline(time.Time) error {
	s.change(func() { s.expired = true })
	return nil
}

func (s *stubStream) Close() error {
	s.change(func() { s.closed = true })
	return nil
}

// noDeadline hides that the streams know deadlines.
type noDeadline struct{ *stub }

func (b *noDeadline) Stdout() io.ReadCloser { return struct{ io.ReadCloser }{b.out} }
func (b *noDeadline) Stderr() io.ReadCloser { return struct{ io.ReadCloser }{b.err} }

// deafReader is a backend whose standard output blocks until release, whatever is done to it.
type deafReader struct {
	*stub
	release chan struct{}
}

func (b *deafReader) Stdout() io.ReadCloser { return b }

func (b *deafReader) Read(p []byte) (int, error) { <-b.release; return copy(p, "late"), io.EOF }

func (b *deafReader) Close() error { return nil }

// unread is what waits to be read.
func (s *stubStream) unread() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.data.Len()
}
