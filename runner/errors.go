package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/signame"
)

// The questions that callers ask of this package's errors, for [errors.Is].
var (
	// ErrNotFound: there is no such program. The error is a [*StartError].
	ErrNotFound = errors.New("runner: program not found")
	// ErrNotExecutable: the program is there and cannot be executed. The error is a [*StartError].
	ErrNotExecutable = errors.New("runner: program is not executable")
	// ErrBadDir: the working directory is missing or not a directory. The error is a [*StartError].
	ErrBadDir = errors.New("runner: working directory cannot be used")
	// ErrInvalid: the command itself makes no sense. The error is an [*InvalidError].
	ErrInvalid = errors.New("runner: invalid command")
	// ErrUnsupported: this host or this Runner cannot do what the command asks for. The error is an [*UnsupportedError], or
	// one of contain's refusals.
	ErrUnsupported = contain.ErrUnsupported
	// ErrCancelled: the caller ended the run. The error is a [*CancelError].
	ErrCancelled = errors.New("runner: cancelled")
	// ErrUnsuccessful: the run was over and did not succeed. The error is an [*ExitError].
	ErrUnsuccessful = errors.New("runner: run did not succeed")
	// ErrTimedOut and ErrIdleTimedOut: the [*ExitError] is of a run that timed out.
	ErrTimedOut     = errors.New("runner: timed out")
	ErrIdleTimedOut = errors.New("runner: timed out idle")
	// ErrOverflowed: the [*ExitError] is of a run whose output passed a cap, or was truncated where all of it is needed.
	ErrOverflowed = errors.New("runner: output passed its cap")
)

// StartKind says which step of a start failed.
type StartKind string

// The kinds of start errors. A cassette records the kind first.
const (
	StartNotFound      StartKind = "not-found"
	StartNotExecutable StartKind = "not-executable"
	StartBadDir        StartKind = "bad-dir"
	// StartBadStdin: the file of [StdinFrom] cannot be opened.
	StartBadStdin StartKind = "bad-stdin"
	// StartBadOutput: the file of a [Stream] cannot be opened.
	StartBadOutput StartKind = "bad-output"
	StartOther     StartKind = "other"
)

// phrase is the kind in words.
func (k StartKind) phrase() string {
	switch k {
	case StartNotFound:
		return "program not found"
	case StartNotExecutable:
		return "program is not executable"
	case StartBadDir:
		return "working directory cannot be used"
	case StartBadStdin:
		return "input file cannot be opened"
	case StartBadOutput:
		return "output file cannot be opened"
	default:
		return "start failed"
	}
}

// StartError reports that a command could not be started. Nothing is left of it. It names the program alone: never an
// argument, a path or a directory.
type StartError struct {
	// Program is the base name of the program.
	Program string
	Kind    StartKind
	// Err is the system's refusal, without the path that the system puts into it; nil when there was none.
	Err error
}

// Error implements error.
func (e *StartError) Error() string {
	s := fmt.Sprintf("runner: cannot start %q: %s", plain(e.Program), e.Kind.phrase())
	if e.Err != nil {
		s += ": " + plain(e.Err.Error())
	}
	return s
}

// Is makes the error match the sentinel of its kind.
func (e *StartError) Is(target error) bool {
	switch e.Kind {
	case StartNotFound:
		return target == ErrNotFound
	case StartNotExecutable:
		return target == ErrNotExecutable
	case StartBadDir:
		return target == ErrBadDir
	default:
		return false
	}
}

// Unwrap gives the cause.
func (e *StartError) Unwrap() error { return e.Err }

// InvalidError reports a command that makes no sense, before anything was tried.
type InvalidError struct {
	// Program is the base name of the program.
	Program string
	// Field is the field of [Cmd] that is wrong, "Command" for its name and arguments, or one of what runs it, such as
	// "Retry.Attempts".
	Field string
	// Reason says in a few words what is wrong with it. It shows no value.
	Reason string
}

// Error implements error.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("runner: invalid command %q: %s: %s", plain(e.Program), e.Field, e.Reason)
}

// Is makes the error match [ErrInvalid].
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// UnsupportedError reports a field of a command that this system, or this Runner, cannot honour. Nothing was started.
type UnsupportedError struct {
	// Program is the base name of the program.
	Program string
	// Field is the field of [Cmd].
	Field string
	// Reason says in a few words why. It shows no value.
	Reason string
}

// Error implements error.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("runner: %s of %q cannot be had: %s", e.Field, plain(e.Program), e.Reason)
}

// Is makes the error match [ErrUnsupported].
func (e *UnsupportedError) Is(target error) bool { return target == ErrUnsupported }

// CancelError reports that the caller ended the run: the context of [Run] ended, or [Process.Cancel] or
// [Process.Close] was called.
type CancelError struct {
	program string
	cause   error
	result  *Result
}

// cancelError makes a CancelError; result is nil when nothing was started.
func cancelError(program string, cause error, result *Result) *CancelError {
	if cause == nil {
		cause = context.Canceled
	}
	return &CancelError{program: program, cause: cause, result: result}
}

// Error implements error.
func (e *CancelError) Error() string {
	s := fmt.Sprintf("runner: %q was cancelled: %s", e.program, plain(e.cause.Error()))
	if err := e.teardown(); err != nil {
		s += "; its tree could not be ended: " + plain(err.Error())
	}
	return s
}

// Result is what the run had come to; nil when it was never started.
func (e *CancelError) Result() *Result { return e.result }

// Is makes the error match [ErrCancelled], and what the teardown's error matches if there was one.
func (e *CancelError) Is(target error) bool {
	return target == ErrCancelled || errors.Is(e.teardown(), target)
}

// As finds the teardown's error, such as a [*contain.DrainError].
func (e *CancelError) As(target any) bool { return errors.As(e.teardown(), target) }

// Unwrap is the cause: [context.Cause] of the context that ended.
func (e *CancelError) Unwrap() error { return e.cause }

func (e *CancelError) teardown() error {
	if e.result == nil {
		return nil
	}
	return e.result.Teardown().Err
}

// ExitError reports a run that is over and did not succeed. Its text names the program and the outcome alone; the
// Result, which holds the output, is to be had through [ExitError.Result].
type ExitError struct {
	result *Result
	// truncated says that the run exited with 0 and its output is not whole.
	truncated bool
}

// Result is the run.
func (e *ExitError) Result() *Result { return e.result }

// Error implements error.
func (e *ExitError) Error() string {
	r := e.result.in()
	s := fmt.Sprintf("runner: %q ", r.program)
	switch o := r.outcome; o.kind {
	case KindExited:
		if o.code == 0 && e.truncated {
			s += "succeeded, and part of its output was dropped"
		} else if o.code == 0 && r.stdinErr != nil {
			s += "succeeded, and the source of its input failed: " + plain(r.stdinErr.Error())
		} else {
			s += o.String()
		}
	case KindSignalled:
		s += "was ended by " + signame.Shown(o.signal)
	case KindTimedOut:
		s += after("timed out", r.timeout)
	case KindIdleTimedOut:
		s += after("gave no output and timed out", r.idle)
	case KindOverflowed:
		s += "was ended because its output passed a cap"
		for _, c := range [...]*captured{&r.stdout, &r.stderr} {
			switch {
			case c.overflowed && c.maxLines > 0:
				s += fmt.Sprintf(" (%d lines on %s)", c.maxLines, c.id)
			case c.overflowed:
				s += fmt.Sprintf(" (%d bytes on %s)", c.max, c.id)
			}
		}
	case KindCancelled:
		s += "was cancelled"
	default:
		s += "has no outcome"
	}
	return s
}

// after names the deadline, unless it is unknown, as in a run that was scripted as timed out.
func after(what string, d time.Duration) string {
	if d == 0 {
		return what
	}
	return what + " after " + d.String()
}

// Is makes the error match [ErrUnsuccessful] and the sentinel of its outcome.
func (e *ExitError) Is(target error) bool {
	switch target {
	case ErrUnsuccessful:
		return true
	case ErrTimedOut:
		return e.result.Outcome() == TimedOut
	case ErrIdleTimedOut:
		return e.result.Outcome() == IdleTimedOut
	case ErrOverflowed:
		return e.truncated || e.result.Outcome() == Overflowed
	case ErrCancelled:
		return e.result.Outcome() == Cancelled
	default:
		return false
	}
}

// Unwrap is the error of the input source, when that is all that went wrong.
func (e *ExitError) Unwrap() error { return e.result.StdinErr() }

// bare strips the path from a system's refusal: it may be a working directory or an argument.
func bare(err error) error {
	for {
		var (
			path *fs.PathError
			link *os.LinkError
			call *os.SyscallError
		)
		switch {
		case errors.As(err, &path):
			err = path.Err
		case errors.As(err, &link):
			err = link.Err
		case errors.As(err, &call):
			err = call.Err
		default:
			return err
		}
	}
}
