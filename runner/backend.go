package runner

import (
	"io"
	"syscall"
	"time"

	"github.com/boombox-go/boombox/contain"
)

// Backend is a started child as a [Process] drives it: the seam below the seam. [Contained] makes one from a real
// process, package fake from a script. Whoever writes a [Runner] of their own wraps their child in a Backend, gives it
// to [Attach], and proves it with package runnertest. A Backend is safe for concurrent use.
type Backend interface {
	// PID is the child's process id, or false where there is no process.
	PID() (pid int, ok bool)
	// Stdout and Stderr are the child's output. Each is read by one goroutine until io.EOF, then closed. If a reader
	// has a SetReadDeadline(time.Time) error method, a reader that stays open after the tree is gone is given up through
	// it, and otherwise by Close.
	Stdout() io.ReadCloser
	Stderr() io.ReadCloser
	// Exited is closed when the child itself has ended, whatever its descendants and its pipes do.
	Exited() <-chan struct{}
	// Poll looks without blocking whether the child has ended, and how.
	Poll() (status contain.ExitStatus, ended bool)
	// OutputHeld reports, after the child has ended, whether somebody else still holds one of its output streams open.
	OutputHeld() bool
	// Signal sends sig to the child itself.
	Signal(sig syscall.Signal) error
	// Terminate sends sig to the whole tree, as a request to end.
	Terminate(sig syscall.Signal) error
	// Kill ends the whole tree and returns when that is verified, or its own bound is over.
	Kill() Teardown
	// Close releases what the backend holds. It is called once, last, when the streams are no longer read.
	Close() error
}

// A Backend may have further methods, which are asked for what a process alone does not tell:
//
//   - Stdin() io.WriteCloser: where a command with [StdinPipe] is written to. It is called once, by [Attach]. Write blocks
//     as long as the child takes nothing, and fails with EPIPE or [os.ErrClosed] when the child takes no more; Close lets
//     the child read end of file. Kill makes a pending Write return. Without it each Write is an error, which
//     [Result.StdinErr] tells.
//   - Resize(PTY) error: see [Process.Resize]; the size is as it applies. [os.ErrClosed] says that the run is over. Without it
//     a resize does nothing.
//   - UpdateLimits(contain.Limits) error: see [Process.UpdateLimits]. Without it that is refused.
//   - StdinErr() error: before Close, what went wrong with the source of its input.
//   - Outcome() (Outcome, bool): when the child has ended by itself, the event that ended it where its status says less,
//     such as TimedOut in a recording. False means that the status says it all.
//   - Cause() error: when that is Cancelled, why; see [CancelError.Unwrap].
//   - Replayed() bool: before Close, whether no process ran; see [Result.Replayed].

// Teardown is what is known of the tree after it was killed.
type Teardown struct {
	// Mechanism and Guarantees say what held the tree; "" and 0 where there was no process.
	Mechanism  contain.Mechanism
	Guarantees contain.Guarantee
	// Verified says that the tree was seen empty.
	Verified bool
	// Survivors are the members that were alive when the bound was over.
	Survivors []contain.Member
	// Evidence says which caps were in force and hit, by the kernel's counters. In a shared group it is that of the whole
	// group since it was made. It is empty without caps, and where nothing ran.
	Evidence contain.Evidence
	// Stats is what the tree used; what was not measured is nil. In a shared group it has no peaks.
	Stats contain.Stats
	// Err is what went wrong, nil when nothing did.
	Err error
}

// Late is a stream that is not read before somebody asks for it. It is safe for concurrent use, and never changes.
type Late interface {
	// Len is how long it is, in bytes.
	Len() int
	// Read is all of it. The caller owns what it returns.
	Read() []byte
}

// Finished is a run that is over before it is played: everything that is known of it. [Settle] makes a settled
// [Process] of it without a goroutine.
type Finished struct {
	// Outcome is how the run ended. Exited and Signalled say it all; the others may add Status.
	Outcome Outcome
	// Status is what the child itself did in the end, nil when unknown.
	Status *contain.ExitStatus
	// Stdout and Stderr are the streams as the child wrote them. They go through the policies and tees of the command.
	// The Process keeps these slices and copies nothing: they must not be changed afterwards.
	Stdout, Stderr []byte
	// Late are the streams that stand somewhere else, each in place of its slice, and are read when somebody asks for them: at once where
	// the command does something with every byte, or does not keep all of them.
	Late [2]Late
	// Arrival is the order in which the bytes of both streams came, for [Process.Lines]; what it does not tell of comes
	// last, standard output first. It is kept as it is.
	Arrival []Span
	// Duration is how long the run took.
	Duration time.Duration
	// PipesHeld says that a descendant held a stream when the child had ended.
	PipesHeld bool
	// Teardown is what is known of the tree.
	Teardown Teardown
	// Replayed says that no process ran.
	Replayed bool
}
