package runner

import (
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/boombox-go/boombox/contain"
)

// realBackend is a real process as a [Backend].
type realBackend struct {
	child *contain.Child
	group *contain.Group
	// private is group if it belongs to this run alone.
	private *contain.Group
	// in is nil when there is nothing to feed.
	in      *feeder
	outputs [2]*pipeReader
	// stuck says that members of the tree outlived its end.
	stuck bool
}

func (b *realBackend) PID() (int, bool)                   { return b.child.PID(), true }
func (b *realBackend) Stdout() io.ReadCloser              { return b.outputs[Stdout] }
func (b *realBackend) Stderr() io.ReadCloser              { return b.outputs[Stderr] }
func (b *realBackend) Exited() <-chan struct{}            { return b.child.Exited() }
func (b *realBackend) Poll() (contain.ExitStatus, bool)   { return b.child.Poll() }
func (b *realBackend) Signal(sig syscall.Signal) error    { return b.child.Signal(sig) }
func (b *realBackend) Terminate(sig syscall.Signal) error { return b.child.SignalTree(sig) }

func (b *realBackend) OutputHeld() bool {
	return b.outputs[Stdout].held() || b.outputs[Stderr].held()
}

// Kill ends the tree for good: nothing is going to ask for its first process any more, so that this is reaped at once.
func (b *realBackend) Kill() Teardown {
	err := b.child.Close()
	t := Teardown{
		Mechanism: b.group.Mechanism(), Guarantees: b.group.Guarantees(), Verified: err == nil, Err: err,
	}
	b.stuck = err != nil
	if drain, ok := errors.AsType[*contain.DrainError](err); ok {
		t.Survivors = drain.Survivors
	}
	for _, r := range b.outputs {
		r.treeless.Store(true)
	}
	if b.in != nil {
		b.in.stop()
	}
	return t
}

// StdinErr is what went wrong with the source of the input.
func (b *realBackend) StdinErr() error {
	if b.in == nil {
		return nil
	}
	return b.in.failure()
}

// Close gives the private group up. One that holds survivors would only be waited for as long once more; the next
// process that uses package contain sweeps what it left.
func (b *realBackend) Close() error {
	if b.private == nil || b.stuck {
		return nil
	}
	return b.private.Close()
}

// isTimeout reports whether a read deadline is over.
func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
