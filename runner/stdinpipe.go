package runner

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Stdin is the writing end of the standard input of a command with [StdinPipe]. It is safe for concurrent use: pieces
// written at once come to the child one after the other, whole. It stays open until it is closed or the run is over;
// nobody else closes it.
//
// Write blocks while the child does not read. Its error is [io.ErrClosedPipe] when the child takes no more, because it
// has ended or has closed its input, which is no failure of the run; and [os.ErrClosed] after Close. Any other error is
// told by [Result.StdinErr] as well, if the run would have succeeded otherwise. Close lets the child read end of file. It
// is idempotent; a Write that is blocked at that moment may have come in part.
//
// A command with another input cannot be written to: Write is an [*InvalidError], and Close does nothing.
func (p *Process) Stdin() io.WriteCloser { return stdinWriter{p} }

// stdinWriter is the writing end in its callers' hands.
type stdinWriter struct{ process *Process }

func (w stdinWriter) Write(b []byte) (int, error) {
	if w.process.stdin == nil {
		return 0, &InvalidError{Program: w.process.Program(), Field: "Stdin", Reason: "it is not a StdinPipe, and cannot be written to"}
	}
	return w.process.stdin().Write(b)
}

func (w stdinWriter) Close() error {
	if w.process.stdin == nil {
		return nil
	}
	return w.process.stdin().Close()
}

// inputPipe is interactive input: it stands between those who write and the child.
type inputPipe struct {
	to   io.WriteCloser
	taps *taps
	// turn is held by the one Write that works, so that the taps see the pieces in the order in which the child does. It
	// is a lock; see taps.turn. Close does not wait for it.
	turn chan struct{}
	// closed: somebody called Close. over: the run is settled.
	closed, over atomic.Bool

	mu     sync.Mutex
	err    error
	tapErr error
}

func newInputPipe(to io.WriteCloser, taps *taps) *inputPipe {
	return &inputPipe{to: to, taps: taps, turn: make(chan struct{}, 1)}
}

func (w *inputPipe) Write(b []byte) (int, error) {
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	switch {
	case w.closed.Load():
		return 0, os.ErrClosed
	case len(b) == 0:
		return 0, nil
	}
	w.tell(b)
	n, err := w.to.Write(b)
	switch {
	case err == nil:
		return n, nil
	case w.closed.Load():
		return n, os.ErrClosed
	case brokenPipe(err) || errors.Is(err, io.ErrClosedPipe):
		return n, io.ErrClosedPipe
	}
	err = fmt.Errorf("runner: standard input: %w", bare(err))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// Close tells the taps before the child can know, unless a Write is blocked, which would keep it for ever.
func (w *inputPipe) Close() error {
	if w.closed.Swap(true) {
		return nil
	}
	select {
	case w.turn <- struct{}{}:
		w.tell(nil)
		_ = w.to.Close()
	default:
		_ = w.to.Close()
		w.turn <- struct{}{}
		w.tell(nil)
	}
	<-w.turn
	return nil
}

// tell shows a piece to the taps, nil for the end. The caller holds turn.
func (w *inputPipe) tell(piece []byte) {
	if w.taps == nil {
		return
	}
	w.taps.catchUp()
	if err := w.taps.feed(stdinStream, piece, &w.over); err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.tapErr == nil {
			w.tapErr = teeError(stdinStream, err)
		}
	}
}

// finishPatience is how long a tap that is at work when the run is over is waited for: it may be the caller's own fault
// that it does not end.
const finishPatience = 50 * time.Millisecond

// finish ends the showing, and returns what went wrong. The child is gone, so that no Write blocks any more.
func (w *inputPipe) finish() (err, tapErr error) {
	w.over.Store(true)
	if acquire(w.turn, finishPatience) {
		<-w.turn
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err, w.tapErr
}

// acquire takes the lock that turn is, unless that takes too long.
func acquire(turn chan struct{}, atMost time.Duration) bool {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case turn <- struct{}{}:
		return true
	case <-timer.C:
		return false
	}
}

// discarded takes everything: it is the input of a run that was over before it could read any.
type discarded struct{}

func (discarded) Write(b []byte) (int, error) { return len(b), nil }
func (discarded) Close() error                { return nil }

// unread is the input of a backend that has none to offer.
type unread struct{}

func (unread) Write([]byte) (int, error) { return 0, errUnread }
func (unread) Close() error              { return nil }

var errUnread = errors.New("this Runner has no interactive input")
