package runner

import (
	"errors"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/boombox-go/boombox/contain"
)

// realBackend is a real process as a [Backend].
type realBackend struct {
	child *contain.Child
	group *contain.Group
	// private is group if it belongs to this run alone.
	private *contain.Group
	// in is nil when there is nothing to feed.
	in *feeder
	// stdin is nil unless the input is interactive.
	stdin   io.WriteCloser
	outputs [2]*pipeReader
	// piped says that standard output goes straight to another child.
	piped bool
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

// OutputHeld asks the pipes first, which is cheap and mostly enough. A write end that is open may yet belong to a child
// that is just being started elsewhere in this program, and closes in a moment: so there must be somebody in the tree
// to hold it, too, and for a few milliseconds. A holder outside the tree shows when the streams do not end.
func (b *realBackend) OutputHeld() bool {
	for end := time.Now().Add(holdPatience); ; time.Sleep(holdPatience / 20) {
		switch {
		case b.outputs[Stdout].hungUp() && b.outputs[Stderr].hungUp():
			return false
		case !b.peopled():
			return false
		case time.Now().After(end):
			return true
		}
	}
}

// holdPatience is how long a stream must stay held.
const holdPatience = 5 * time.Millisecond

// peopled reports whether anybody but the child is alive in the tree.
func (b *realBackend) peopled() bool {
	members, err := b.child.Members()
	return err != nil || slices.ContainsFunc(members, func(m contain.Member) bool {
		return m.Alive() && m.PID != b.child.PID()
	})
}

// Kill ends the tree for good: nothing is going to ask for its first process any more, so that this is reaped at once.
func (b *realBackend) Kill() Teardown {
	err := b.child.Close()
	t := Teardown{
		Mechanism: b.group.Mechanism(), Guarantees: b.group.Guarantees(), Verified: err == nil, Err: err,
	}
	b.stuck = err != nil
	t.Evidence, t.Stats = b.group.Evidence(), b.child.Stats()
	if b.private != nil {
		t.Stats = b.private.Stats()
	}
	if drain, ok := errors.AsType[*contain.DrainError](err); ok {
		t.Survivors = drain.Survivors
	}
	for _, r := range b.outputs {
		r.treeless.Store(true)
	}
	if b.in != nil {
		b.in.stop()
	}
	if b.stdin != nil {
		_ = b.stdin.Close()
	}
	return t
}

// Stdin is our end of an interactive input.
func (b *realBackend) Stdin() io.WriteCloser { return b.stdin }

// StdoutPiped reports whether standard output goes straight to another child.
func (b *realBackend) StdoutPiped() bool { return b.piped }

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
