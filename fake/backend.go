package fake

import (
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/runner"
)

// backend is a script that takes time, as a [runner.Backend]. One goroutine performs it, by the ordinary timers of
// package time, so that it runs on the fake clock inside a testing/synctest bubble.
type backend struct {
	script         Script
	stdout, stderr *stream
	// input is nil unless it is interactive, or there is a terminal.
	input *conversation

	mu       sync.Mutex
	ended    bool
	status   contain.ExitStatus
	told     runner.Outcome // the script's, when it came to its end
	cause    error          // of told, when the input was wrong
	released bool           // nobody holds the streams any more

	exited    chan struct{} // closed when ended is set
	performed chan struct{} // closed when the goroutine is over
}

// perform starts the script now.
func perform(s Script, input *conversation, started time.Time) *backend {
	b := &backend{
		script: s, input: input,
		stdout: newStream(), stderr: newStream(),
		exited:    make(chan struct{}),
		performed: make(chan struct{}),
	}
	go b.run(started)
	return b
}

func (b *backend) run(due time.Time) {
	defer close(b.performed)
	var reached point
	for _, c := range b.script.Chunks {
		if reached.pass(c, b.input) {
			if !b.input.await(reached, b.exited) {
				return
			}
			due = time.Now()
		}
		// Times are absolute, so that late wake-ups do not add up.
		due = due.Add(max(c.After, 0))
		if wait := b.script.Wait; wait != nil {
			if !wait(c.After, b.exited) {
				return
			}
		} else if !b.sleepUntil(due) {
			return
		}
		if c.Stream == runner.Stderr {
			b.stderr.write(c.Data)
		} else {
			b.stdout.write(c.Data)
		}
	}
	if !b.script.Pending {
		b.end(b.script.status(), b.script.outcome(), nil)
	}
}

// hear takes a piece of the interactive input, nil for its end. The script says nothing of a wrong one: the run is
// cancelled.
func (b *backend) hear(piece []byte) {
	if _, ended := b.Poll(); ended {
		return
	}
	if wrong := b.input.write(piece); wrong != nil {
		b.differs(wrong)
	}
}

// Resize takes a size of the terminal as hear takes input.
func (b *backend) Resize(to runner.PTY) error {
	if _, ended := b.Poll(); ended {
		return os.ErrClosed
	}
	if wrong := b.input.resize(to); wrong != nil {
		b.differs(wrong)
	}
	return nil
}

// differs ends a run in which the code under test does something else than the script has.
func (b *backend) differs(wrong *InputError) {
	cause := error(wrong)
	if b.script.Mismatch != nil {
		cause = b.script.Mismatch(wrong)
	}
	b.end(contain.ExitStatus{Signal: syscall.SIGKILL}, runner.Cancelled, cause)
}

// sleepUntil reports false when the child ended before due.
func (b *backend) sleepUntil(due time.Time) bool {
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-b.exited:
		return false
	case <-timer.C:
		return true
	}
}

// end makes the child end as status says, unless it has ended. told is the outcome that the script has for it, and cause
// why it is cancelled.
func (b *backend) end(status contain.ExitStatus, told runner.Outcome, cause error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return false
	}
	b.ended, b.status, b.told, b.cause = true, status, told, cause
	close(b.exited)
	if !b.script.PipesHeld {
		b.release()
	}
	return true
}

// release ends the streams; b.mu is held.
func (b *backend) release() {
	if !b.released {
		b.released = true
		b.stdout.end()
		b.stderr.end()
	}
}

// PID is none: there is no process.
func (b *backend) PID() (int, bool) { return 0, false }

func (b *backend) Stdout() io.ReadCloser   { return b.stdout }
func (b *backend) Stderr() io.ReadCloser   { return b.stderr }
func (b *backend) Exited() <-chan struct{} { return b.exited }

// Poll looks how the child ended, if it has.
func (b *backend) Poll() (contain.ExitStatus, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.status, b.ended
}

// Outcome is what the script says, where the script came to its end.
func (b *backend) Outcome() (runner.Outcome, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.told, b.told != runner.Outcome{}
}

// Cause is why the run is cancelled, when the input was wrong.
func (b *backend) Cause() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cause
}

// Stdin is where the interactive input is written to.
func (b *backend) Stdin() io.WriteCloser { return inputEnd{b} }

// Replayed reports what the script says.
func (b *backend) Replayed() bool { return b.script.Replayed }

// OutputHeld reports whether the script's descendant still holds the streams.
func (b *backend) OutputHeld() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended && !b.released
}

// Signal ends the child if that is what sig does to a process that does not handle it, and does nothing otherwise.
func (b *backend) Signal(sig syscall.Signal) error {
	if !endsProcess(sig) {
		if _, ended := b.Poll(); !ended {
			return nil
		}
		return os.ErrProcessDone
	}
	if !b.end(contain.ExitStatus{Signal: sig}, runner.Outcome{}, nil) {
		return os.ErrProcessDone
	}
	return nil
}

// Terminate is Signal: the tree of a script is its one child. Like a real tree, it may be gone already.
func (b *backend) Terminate(sig syscall.Signal) error {
	_ = b.Signal(sig)
	return nil
}

// Kill ends the child, and with it whoever held the streams.
func (b *backend) Kill() runner.Teardown {
	b.end(contain.ExitStatus{Signal: syscall.SIGKILL}, runner.Outcome{}, nil)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.release()
	return b.script.Teardown
}

// Close ends what is left and waits for the goroutine.
func (b *backend) Close() error {
	b.Kill()
	<-b.performed
	_ = b.stdout.Close()
	_ = b.stderr.Close()
	return nil
}
