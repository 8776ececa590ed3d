package contain

import (
	"errors"
	"fmt"
	"strings"
)

// The questions that callers ask of this package's errors, for [errors.Is].
var (
	// ErrClosed: the group is closed, or closing.
	ErrClosed = errors.New("contain: group is closed")
	// ErrFrozen: the group is frozen, and nothing is started in it: a process that is born frozen never executes its
	// program, and holds up the thread that starts it, and with that every other start of this program.
	ErrFrozen = errors.New("contain: group is frozen")
	// ErrUnsupported: this host cannot give what was asked for. The error is an [*UnsupportedError] or a [*LimitError].
	ErrUnsupported = errors.New("contain: not supported on this host")
	// ErrKeeper: the program of [Options.Keeper] does not serve. The error is a [*KeeperError].
	ErrKeeper = errors.New("contain: the program given as keeper does not serve")
	// ErrDrain: members outlived the kill. The error is a [*DrainError].
	ErrDrain = errors.New("contain: members outlived the kill")
)

// errLost is within a [*DrainError] that is the last word on its tree: trying again would find nobody.
var errLost = errors.New("the helper program that held the tree was killed, and members that it held may live")

// UnsupportedError refuses a group before anything has started, because no mechanism of this host gives every guarantee
// asked for; or it refuses, before anything is done, what the mechanism of a group cannot do.
type UnsupportedError struct {
	// Operation is what a group was asked to do, "freeze" or "adopt"; "" when a group was asked for. With an operation,
	// Asked is the group's mechanism, Reason says why not, and Best and Rungs are empty.
	Operation string
	Reason    string
	// Missing are the guarantees that the best mechanism lacks.
	Missing Guarantee
	// Asked is the one mechanism that the caller allowed, "" for any.
	Asked Mechanism
	// Best is the mechanism that comes nearest, "" when there is none at all.
	Best Mechanism
	// Rungs are all the mechanisms, in the order in which they were tried, with the reason why each is not to be had.
	Rungs []Rung
}

// Error implements error.
func (e *UnsupportedError) Error() string {
	if e.Operation != "" {
		return fmt.Sprintf("contain: a group held by %s cannot %s: %s", e.Asked, e.Operation, e.Reason)
	}
	var b strings.Builder
	switch {
	case e.Missing != 0 && e.Asked != "":
		fmt.Fprintf(&b, "contain: this host cannot guarantee %s by %s", e.Missing, e.Asked)
	case e.Missing != 0:
		fmt.Fprintf(&b, "contain: this host cannot guarantee %s", e.Missing)
	case e.Asked != "":
		fmt.Fprintf(&b, "contain: this host has no %s", e.Asked)
	default:
		b.WriteString("contain: this host has no mechanism to hold a process tree")
	}
	if e.Best != "" && e.Asked == "" {
		fmt.Fprintf(&b, " (best mechanism: %s)", e.Best)
	}
	for _, rung := range e.Rungs {
		relevant := rung.Guarantees&e.Missing != 0 || e.Missing == 0
		if rung.Reason != "" && relevant && (e.Asked == "" || e.Asked == rung.Mechanism) {
			fmt.Fprintf(&b, "; %s: %s", rung.Mechanism, rung.Reason)
		}
		for _, refused := range rung.Refused {
			if e.Missing.Has(refused.Kind.guarantee()) && (e.Asked == "" || e.Asked == rung.Mechanism) {
				fmt.Fprintf(&b, "; %s: %s limit (%s): %s", rung.Mechanism, refused.Kind, refused.Reason, refused.Detail)
			}
		}
	}
	return b.String()
}

// Is makes the error match [ErrUnsupported].
func (e *UnsupportedError) Is(target error) bool { return target == ErrUnsupported }

// KeeperError refuses a group because the program of [Options.Keeper] does not serve as its helper. It does not name the
// program.
type KeeperError struct {
	// Err says what went wrong: the system's error of executing it, [os.ErrDeadlineExceeded] if it has not answered in time,
	// or that it has ended, or does not speak as this program does.
	Err error
}

// Error implements error.
func (e *KeeperError) Error() string { return ErrKeeper.Error() + ": " + e.Err.Error() }

// Is makes the error match [ErrKeeper].
func (e *KeeperError) Is(target error) bool { return target == ErrKeeper }

// Unwrap gives the cause.
func (e *KeeperError) Unwrap() error { return e.Err }

// StartStep names what a start was doing when it failed.
type StartStep string

// The steps of a start.
const (
	// StepTree: making the tree that is to hold the command, or putting a new process into it.
	StepTree StartStep = "make the tree"
	// StepDir: entering the working directory.
	StepDir StartStep = "enter the directory"
	// StepConfine: taking from the child what the [Spec] says it is not to have.
	StepConfine StartStep = "confine the program"
	// StepStage: what prepares the start, and the descriptors of the child. See [Spec].
	StepStage StartStep = "prepare the start"
	// The steps that the fields of the same names ask for.
	StepRlimits    StartStep = "set the resource limits"
	StepNice       StartStep = "set the priority"
	StepIOPriority StartStep = "set the I/O priority"
	StepAffinity   StartStep = "set the processors"
	StepOOMScore   StartStep = "set the out-of-memory score"
	StepGroups     StartStep = "set the supplementary groups"
	StepGroup      StartStep = "become the group"
	StepUser       StartStep = "become the user"
	// StepExec: creating the process and executing the program.
	StepExec StartStep = "execute the program"
)

// StartError is a command that could not be started. Nothing of it runs.
type StartError struct {
	Step StartStep
	// Err is the system's error, a [syscall.Errno] where there is one.
	Err error
}

// Error implements error.
func (e *StartError) Error() string { return fmt.Sprintf("contain: cannot %s: %v", e.Step, e.Err) }

// Unwrap gives the cause.
func (e *StartError) Unwrap() error { return e.Err }

// DrainError reports members that were killed and yet are alive when the bound for draining is over: they sleep
// uninterruptibly, or they are out of the mechanism's reach.
type DrainError struct {
	// Survivors are the members still alive, with what they wait for where that is to be known. None: nobody was seen alive, but Err kept it from being verified.
	Survivors []Member
	// Err is what failed, if it was more than patience.
	Err error
}

// Error implements error.
func (e *DrainError) Error() string {
	if len(e.Survivors) == 0 {
		return fmt.Sprintf("contain: the tree was not seen empty: %v", e.Err)
	}
	names := make([]string, 0, len(e.Survivors))
	for _, m := range e.Survivors {
		names = append(names, m.String())
	}
	s := fmt.Sprintf("contain: %d outlived the kill: %s", len(e.Survivors), strings.Join(names, ", "))
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is makes the error match [ErrDrain].
func (e *DrainError) Is(target error) bool { return target == ErrDrain }

// Unwrap gives the cause.
func (e *DrainError) Unwrap() error { return e.Err }
