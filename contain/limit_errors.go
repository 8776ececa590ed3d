package contain

import (
	"errors"
	"fmt"
	"strconv"
)

// ErrLimit: a cap of the group does not allow it now. The error is a [*LimitHit].
var ErrLimit = errors.New("contain: the group has reached a limit")

// LimitReason says why a cap is refused.
type LimitReason string

// The reasons of a [LimitError].
const (
	// LimitInvalid: the value asked for makes no sense. It is told before anything is made.
	LimitInvalid LimitReason = "invalid"
	// LimitUnenforceable: the mechanism caps nothing, on any host.
	LimitUnenforceable LimitReason = "unenforceable"
	// LimitNoCgroup2: there is no cgroup v2 of ours to be seen, which a capped tree is killed by.
	LimitNoCgroup2 LimitReason = "no-cgroup2"
	// LimitNoController: the kernel's controller for it is not there, or is not passed down to our cgroup.
	LimitNoController LimitReason = "no-controller"
	// LimitNotMounted: the controller sits on a cgroup v1 hierarchy in which our own cgroup is not to be seen.
	LimitNotMounted LimitReason = "not-mounted"
	// LimitReadOnly: the cgroup file system is mounted read-only.
	LimitReadOnly LimitReason = "read-only"
	// LimitNotDelegated: we may not write where it has to be set.
	LimitNotDelegated LimitReason = "not-delegated"
	// LimitInternalProcesses: the cgroup holds processes, ourselves among them, and cgroup v2 passes no controller on from
	// one that does.
	LimitInternalProcesses LimitReason = "internal-processes"
	// LimitStrangers: the processes that would have to be moved away are not all ours.
	LimitStrangers LimitReason = "strangers"
	// LimitThreaded: the cgroup is a threaded one, which cannot hold groups of processes.
	LimitThreaded LimitReason = "threaded"
	// LimitKernelTooOld: the kernel lacks what it takes.
	LimitKernelTooOld LimitReason = "kernel-too-old"
	// LimitSystemdUnavailable: the service manager that could make a cgroup for it is not to be reached, or does not answer.
	LimitSystemdUnavailable LimitReason = "systemd-unavailable"
	// LimitSystemdRefused: the service manager would not make one.
	LimitSystemdRefused LimitReason = "systemd-refused"
	// LimitReadback: the kernel took another value than the one that was set.
	LimitReadback LimitReason = "readback"
	// LimitFixed: which caps a group has is decided when it is made; their values alone can be changed.
	LimitFixed LimitReason = "fixed"
	// LimitInUse: the group holds more memory than that, and the kernel cannot take it back. On cgroup v1; v2 kills.
	LimitInUse LimitReason = "in-use"
	// LimitFailed: the system refused for another reason, which Err has.
	LimitFailed LimitReason = "failed"
)

// LimitError refuses a group whose cap cannot be enforced, before anything has started; or another value for a cap of a
// group, which then has the former values.
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

// Error implements error.
func (e *LimitError) Error() string {
	if e.Reason == LimitInvalid {
		return fmt.Sprintf("contain: %s limit is invalid: %s", e.Kind, e.Detail)
	}
	s := fmt.Sprintf("contain: %s limit cannot be enforced (%s): %s", e.Kind, e.Reason, e.Detail)
	if e.Hint != "" {
		s += "; would help: " + e.Hint
	}
	return s
}

// Is makes the error match [ErrUnsupported], unless the value itself is invalid.
func (e *LimitError) Is(target error) bool {
	return target == ErrUnsupported && e.Reason != LimitInvalid
}

// Unwrap gives the cause.
func (e *LimitError) Unwrap() error { return e.Err }

// LimitHit is a start that a cap of its group refused: the kernel counted the refusal against the group's own cap. It
// comes in a [*StartError].
type LimitHit struct {
	Kind LimitKind
	// Max is the cap: bytes, processes or cores.
	Max float64
	// Err is the system's refusal: EAGAIN for processes.
	Err error
}

// Error implements error.
func (e *LimitHit) Error() string {
	return fmt.Sprintf("the group has reached its limit of %s %s: %v", strconv.FormatFloat(e.Max, 'f', -1, 64), e.Kind, e.Err)
}

// Is makes the error match [ErrLimit].
func (e *LimitHit) Is(target error) bool { return target == ErrLimit }

// Unwrap gives the cause.
func (e *LimitHit) Unwrap() error { return e.Err }
