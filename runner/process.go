package runner

import (
	"context"
	"syscall"
	"time"
)

// Process is a command that was started. It is safe for concurrent use. Whoever starts a Process waits for it or closes
// it.
type Process struct{}

// Attach drives backend, which runs cmd since started, and is what a [Runner] returns.
func Attach(cmd *Cmd, backend Backend, started time.Time) *Process { panic("unbuilt") }

// Settle makes the settled Process of a run that is over before it is played, without a goroutine.
func Settle(cmd *Cmd, run Finished) *Process { panic("unbuilt") }

// Program is the base name of the program.
func (p *Process) Program() string { panic("unbuilt") }

// PID is the process id, or false where there is no process.
func (p *Process) PID() (int, bool) { panic("unbuilt") }

// Settled is closed when the run is over in full: the outcome is decided, the tree is gone, the streams are read.
func (p *Process) Settled() <-chan struct{} { panic("unbuilt") }

// Result is the Result of a settled run, and false before.
func (p *Process) Result() (*Result, bool) { panic("unbuilt") }

// Wait waits until the run is settled. When ctx ends first, Wait returns its cause and the process lives on.
func (p *Process) Wait(ctx context.Context) (*Result, error) { panic("unbuilt") }

// Cancel decides the run as Cancelled, unless it is decided already, and ends the tree, with the command's Grace. It
// does not wait. cause is what the [*CancelError] of Wait unwraps to.
func (p *Process) Cancel(cause error) { panic("unbuilt") }

// Signal sends sig to the child itself.
func (p *Process) Signal(sig syscall.Signal) error { panic("unbuilt") }

// Kill kills the whole tree. The outcome is what the child then does: mostly Signalled(SIGKILL). It does not wait.
func (p *Process) Kill() error { panic("unbuilt") }

// Close cancels the run if it is not over and waits until it is settled. It is idempotent. Its error is that of the
// teardown: nil means that nothing is left.
func (p *Process) Close() error { panic("unbuilt") }
