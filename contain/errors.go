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
	// ErrUnsupported: this host cannot give what was asked for. The error is an [*UnsupportedError] or a [*LimitError].
	ErrUnsupported = errors.New("contain: not supported on this host")
	// ErrDrain: members outlived the kill. The error is a [*DrainError].
	ErrDrain = errors.New("contain: members outlived the kill")
)

// UnsupportedError refuses a group before anything has started: no mechanism of this host gives every guarantee asked
// for.
type UnsupportedError struct {
	// Missing are the guarantees that the best mechanism lacks.
	Missing Guarantee
	// Best is the mechanism that comes nearest, "" when there is none at all.
	Best Mechanism
	// Rungs are all the mechanisms, strongest first, with the reason why each is not to be had.
	Rungs []Rung
}

func (e *UnsupportedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "contain: this host cannot guarantee %s", e.Missing)
	if e.Best != "" {
		fmt.Fprintf(&b, " (best mechanism: %s)", e.Best)
	}
	for _, rung := range e.Rungs {
		if rung.Reason != "" && rung.Guarantees&e.Missing != 0 {
			fmt.Fprintf(&b, "; %s: %s", rung.Mechanism, rung.Reason)
		}
	}
	return b.String()
}

// Is makes the error match [ErrUnsupported].
func (e *UnsupportedError) Is(target error) bool { return target == ErrUnsupported }

// LimitReason says why a cap is refused.
type LimitReason string

// The reasons of a [LimitError].
const (
	// LimitInvalid: the value asked for makes no sense. It is told before anything is made.
	LimitInvalid LimitReason = "invalid"
	// LimitUnenforceable: no mechanism of this host enforces the cap over a whole tree.
	LimitUnenforceable LimitReason = "unenforceable"
)

// LimitError refuses a group whose cap cannot be enforced, before anything has started.
type LimitError struct {
	Kind   LimitKind
	Reason LimitReason
	// Detail says what stands in the way, in one line.
	Detail string
	// Hint says what would help, "" when nothing is known to.
	Hint string
	// Err is the system's refusal, if there was one.
	Err error
}

func (e *LimitError) Error() string {
	s := fmt.Sprintf("contain: %s limit is %s: %s", e.Kind, e.Reason, e.Detail)
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Is makes the error match [ErrUnsupported], unless the value itself is invalid.
func (e *LimitError) Is(target error) bool {
	return target == ErrUnsupported && e.Reason != LimitInvalid
}

func (e *LimitError) Unwrap() error { return e.Err }

// DrainError reports members that were killed and yet are alive when the bound for draining is over: they sleep
// uninterruptibly, or they are out of the mechanism's reach.
type DrainError struct {
	// Survivors are the members still alive.
	Survivors []Member
	// Err is what failed, if it was more than patience.
	Err error
}

func (e *DrainError) Error() string {
	names := make([]string, 0, len(e.Survivors))
	for _, m := range e.Survivors {
		names = append(names, m.String())
	}
	s := fmt.Sprintf("contain: %d members outlived the kill: %s", len(e.Survivors), strings.Join(names, ", "))
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is makes the error match [ErrDrain].
func (e *DrainError) Is(target error) bool { return target == ErrDrain }

func (e *DrainError) Unwrap() error { return e.Err }
