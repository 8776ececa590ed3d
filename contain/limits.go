package contain

import (
	"fmt"
	"math"
)

// Limits cap a whole tree. A zero field asks for no cap. A cap that cannot be enforced refuses the group with a
// [LimitError]; it is never dropped.
type Limits struct {
	// Memory is the most memory the tree may hold, in bytes, swap included.
	Memory int64
	// Processes is the most processes (on Linux: tasks, so threads count) the tree may have at once.
	Processes int
	// CPU is the most processor time the tree may use, in cores: 1.5 is one and a half.
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

// The values between which a limit makes sense.
const (
	minMemory    = 4096    // a page
	maxMemory    = 1 << 60 // an exbibyte
	maxProcesses = 1 << 22 // the most process ids that Linux can be told to have
	minCPU       = 0.01    // the kernel's smallest quota, 1 ms, in a period of 100 ms
	maxCPU       = 8192    // the most processors that Linux is built for
)

// check refuses values that make no sense, and then every cap, because no mechanism enforces one yet.
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
	for _, asked := range []struct {
		is   bool
		kind LimitKind
	}{{l.Memory != 0, LimitMemory}, {l.Processes != 0, LimitProcesses}, {l.CPU != 0, LimitCPU}} {
		if asked.is {
			return &LimitError{
				Kind: asked.kind, Reason: LimitUnenforceable,
				Detail: "no mechanism of this version caps a whole tree",
			}
		}
	}
	return nil
}
