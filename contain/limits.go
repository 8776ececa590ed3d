package contain

import (
	"fmt"
	"math"
)

// Limits cap a whole group: everything that is started in it, together. A zero field asks for no cap. A cap that cannot
// be enforced refuses the group with a [LimitError]; it is never dropped.
type Limits struct {
	// Memory is the most memory the tree may hold, in bytes; nothing of it is swapped out. When it is not enough, the
	// kernel kills: every member of the group on cgroup v2, one member after the other on v1.
	Memory int64
	// Processes is the most processes (on Linux: tasks, so threads count, and zombies) the tree may have at once. A member
	// that forks beyond gets EAGAIN, and so does a start, as a [LimitHit].
	Processes int
	// CPU is the most processor time the tree may use, in cores: 1.5 is one and a half. It is measured in periods of 100
	// ms; who has used it up waits for the next. A start waits with the tree.
	CPU float64
}

// IsZero reports whether no cap is asked for.
func (l Limits) IsZero() bool { return l == Limits{} }

// LimitKind names one cap.
type LimitKind string

// The kinds of limits.
const (
	LimitMemory    LimitKind = "memory"
	LimitProcesses LimitKind = "processes"
	LimitCPU       LimitKind = "cpu"
)

// guarantee is the promise that a cap of this kind is.
func (k LimitKind) guarantee() Guarantee {
	switch k {
	case LimitMemory:
		return CapMemory
	case LimitProcesses:
		return CapProcesses
	default:
		return CapCPU
	}
}

// limitKinds are all kinds, in the order in which they are reported.
var limitKinds = []LimitKind{LimitMemory, LimitProcesses, LimitCPU}

// caps are all guarantees that are caps.
const caps = CapMemory | CapProcesses | CapCPU

// Of is the cap of one kind as a number: bytes, processes or cores. 0 means none is asked for.
func (l Limits) Of(kind LimitKind) float64 {
	switch kind {
	case LimitMemory:
		return float64(l.Memory)
	case LimitProcesses:
		return float64(l.Processes)
	case LimitCPU:
		return l.CPU
	}
	return 0
}

// kinds lists what is asked for.
func (l Limits) kinds() (asked []LimitKind) {
	for _, kind := range limitKinds {
		if l.Of(kind) != 0 {
			asked = append(asked, kind)
		}
	}
	return asked
}

// guarantees are the caps asked for.
func (l Limits) guarantees() (g Guarantee) {
	for _, kind := range l.kinds() {
		g |= kind.guarantee()
	}
	return g
}

// The values between which a limit makes sense.
const (
	minMemory    = 4096    // a page
	maxMemory    = 1 << 60 // an exbibyte
	maxProcesses = 1 << 22 // the most process ids that Linux can be told to have
	minCPU       = 0.01    // the kernel's smallest quota, 1 ms, in a period of 100 ms
	maxCPU       = 8192    // the most processors that Linux is built for
)

// check refuses values that make no sense. It is told before anything is made.
func (l Limits) check() error {
	invalid := func(kind LimitKind, format string, args ...any) error {
		return &LimitError{Kind: kind, Reason: LimitInvalid, Detail: fmt.Sprintf(format, args...)}
	}
	if m := l.Memory; m != 0 && (m < minMemory || m > maxMemory) {
		return invalid(LimitMemory, "%d bytes is not between %d and %d", m, int64(minMemory), int64(maxMemory))
	}
	if n := l.Processes; n != 0 && (n < 1 || n > maxProcesses) {
		return invalid(LimitProcesses, "%d is not between 1 and %d", n, maxProcesses)
	}
	if c := l.CPU; c != 0 && (math.IsNaN(c) || c < minCPU || c > maxCPU) {
		return invalid(LimitCPU, "%v cores is not between %v and %v", c, minCPU, maxCPU)
	}
	return nil
}

// fixed refuses other caps than those that a group was made with, by kind; nil when they are the same.
func (l Limits) fixed(made Limits) error {
	for _, kind := range limitKinds {
		asked, has := l.Of(kind) != 0, made.Of(kind) != 0
		switch {
		case asked && !has:
			return &LimitError{
				Kind: kind, Reason: LimitFixed, Detail: "the group was made without one", Hint: "make the group with one, however large",
			}
		case has && !asked:
			return &LimitError{
				Kind: kind, Reason: LimitFixed, Detail: "the group was made with one, and it is not among the new ones",
				Hint: "give all caps of the group at once, those that stay as well",
			}
		}
	}
	return nil
}

// unenforceable refuses the first cap asked for on behalf of a mechanism that has none; nil when none is asked for.
func (l Limits) unenforceable(detail string) *LimitError {
	for _, kind := range l.kinds() {
		return &LimitError{Kind: kind, Reason: LimitUnenforceable, Detail: detail}
	}
	return nil
}
