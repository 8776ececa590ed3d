package contain

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
