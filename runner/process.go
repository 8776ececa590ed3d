package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Process is a command that was started. It is safe for concurrent use. Whoever starts a Process waits for it or closes
// it.
type Process struct {
	// result is that of a Process which was settled from the start; otherwise live is the run.
	result *Result
	live   func() *run
	// stdin is nil unless the input is interactive.
	stdin func() *inputPipe
}

// errClosed is the cause of a run that Close cancelled.
var errClosed = errors.New("process closed")

// over is the channel of every Process that was settled from the start.
var over = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Program is the base name of the program.
func (p *Process) Program() string {
	if p.live == nil {
		return p.result.Program()
	}
	return p.live().program
}

// PID is the process id, or false where there is no process.
func (p *Process) PID() (int, bool) {
	if p.live == nil {
		return 0, false
	}
	return p.live().backend.PID()
}

// Settled is closed when the run is over in full: the outcome is decided, the tree is gone, the streams are read.
func (p *Process) Settled() <-chan struct{} {
	if p.live == nil {
		return over
	}
	return p.live().settled
}

// Result is the Result of a settled run, and false before.
func (p *Process) Result() (*Result, bool) {
	if p.live == nil {
		return p.result, true
	}
	if r := p.live(); closed(r.settled) {
		return r.result, true
	}
	return nil, false
}

// Wait waits until the run is settled. When ctx ends first, Wait returns its cause and the process lives on. The Result
// of a cancelled run comes with a [*CancelError]. A tree that could not be ended is the error of the teardown, such as
// a [*contain.DrainError], again with the Result.
func (p *Process) Wait(ctx context.Context) (*Result, error) {
	if p.live == nil {
		return p.result, p.result.failure()
	}
	if !p.awaitSettled(ctx) {
		return nil, context.Cause(ctx)
	}
	r := p.live()
	return r.result, r.result.failure()
}

// awaitSettled reports whether the run is settled before ctx ends. One that is settled already is, whatever ctx says.
func (p *Process) awaitSettled(ctx context.Context) bool {
	settled := p.Settled()
	if closed(settled) {
		return true
	}
	select {
	case <-settled:
		return true
	case <-ctx.Done():
		return closed(settled)
	}
}

// failure is what makes a run more than data: it was cancelled, or its tree could not be ended.
func (r *Result) failure() error {
	in := r.in()
	if in.outcome == Cancelled {
		return cancelError(in.program, in.cause, r)
	}
	return in.teardown.Err
}

// Cancel decides the run as Cancelled, unless it is decided already, and ends the tree, with the command's Grace. It
// does not wait. cause is what the [*CancelError] of Wait unwraps to; nil stands for [context.Canceled]. For a run that
// is decided and still being read, it means that there is no more time for a slow Tee.
func (p *Process) Cancel(cause error) {
	if p.live != nil {
		p.live().end(Cancelled, cause)
	}
}

// Signal sends sig to the child itself. When the run is settled the error is [os.ErrProcessDone].
func (p *Process) Signal(sig syscall.Signal) error {
	if p.live == nil || closed(p.live().settled) {
		return os.ErrProcessDone
	}
	return bare(p.live().backend.Signal(sig))
}

// Kill kills the whole tree. The outcome is what the child then does: mostly Signalled(SIGKILL). It does not wait, and
// it cuts a Grace short. When the run is settled the error is [os.ErrProcessDone].
func (p *Process) Kill() error {
	if p.live == nil || closed(p.live().settled) {
		return os.ErrProcessDone
	}
	select {
	case p.live().killing <- struct{}{}:
	default:
	}
	return nil
}

// Close cancels the run if it is not over and waits until it is settled. It is idempotent. Its error is that of the
// teardown: nil means that nothing is left.
func (p *Process) Close() error {
	if p.live == nil {
		return nil
	}
	r := p.live()
	if !closed(r.settled) {
		r.end(Cancelled, errClosed)
		<-r.settled
	}
	return r.result.in().teardown.Err
}

// describe is what the printers show.
func (p Process) describe() string {
	switch {
	case p.live == nil && p.result == nil:
		return "no process"
	case p.live == nil:
		return "process " + p.result.describe()
	}
	r := p.live()
	if closed(r.settled) {
		return "process " + r.result.describe()
	}
	if pid, ok := r.backend.PID(); ok {
		return fmt.Sprintf("process %q running as pid %d", r.program, pid)
	}
	return fmt.Sprintf("process %q running", r.program)
}
