package runner

import (
	"errors"
	"fmt"

	"github.com/boombox-go/boombox/contain"
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
	// ErrUnsupported: this host or this Runner cannot do what the command asks for. It is also what contain's refusals
	// match.
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
	StartOther         StartKind = "other"
)

// StartError reports that a command could not be started. Nothing is left of it.
type StartError struct {
	// Program is the base name of the program.
	Program string
	Kind    StartKind
	// Err is the system's refusal; nil when there was none.
	Err error
}

func (e *StartError) Error() string {
	s := fmt.Sprintf("runner: cannot start %q: %s", e.Program, e.Kind)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}
