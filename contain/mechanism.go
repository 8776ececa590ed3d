package contain

// Mechanism names the way in which a tree is held. It is what reports show.
type Mechanism string

// The mechanisms.
const (
	// Cgroup2: a cgroup v2 leaf of its own for each start. Linux.
	Cgroup2 Mechanism = "cgroup2"
	// Cgroup2PIDNamespace: such a leaf, and a pid namespace, for each tree. Linux.
	Cgroup2PIDNamespace Mechanism = "cgroup2+pid-namespace"
	// PIDNamespace: a pid namespace for each tree. Linux, as root or where users may have user namespaces.
	PIDNamespace Mechanism = "pid-namespace"
	// Subreaper: below a helper process to which all orphans of the tree come. Linux.
	Subreaper Mechanism = "subreaper"
	// ThrowawayUser: as [Subreaper], and each tree as a user of its own whom nobody else is, without groups and privileges,
	// and for good, as NoNewPrivileges of a [Spec] has it. Path and Dir must be there for anybody, and a Credential of its own
	// is refused. A child of the keeper, for one moment that user, kills all that are him. It is for root where there is
	// neither a cgroup nor a namespace, as in a default container, and only for those who name it in [Options.Mechanism].
	// Linux.
	ThrowawayUser Mechanism = "throwaway-user"
	// JobObject: a job object of its own for each start. Windows; not verified there.
	JobObject Mechanism = "job-object"
	// ProcessGroup: a POSIX process group. A child that calls setsid or setpgid leaves it. Linux; macOS and BSD, not
	// verified there.
	ProcessGroup Mechanism = "process-group"
)

// Rung is one mechanism as this host has it.
type Rung struct {
	Mechanism Mechanism
	// Guarantees are what the mechanism gives where it is to be had.
	Guarantees Guarantee
	// Available says that it is to be had here and now.
	Available bool
	// OnRequest says that [New] takes it only if [Options.Mechanism] names it.
	OnRequest bool
	// Reason says in one line why it is not; "" when it is.
	Reason string
	// Err is the system's refusal behind Reason, if there was one.
	Err error
	// Remedy is the one thing that an administrator could change, "" when there is none.
	Remedy string
	// Refused are the caps that the mechanism has and this host does not let it enforce, with the reasons. A mechanism that
	// is not available says nothing of them.
	Refused []*LimitError
}

// HostReport is what this host can hold a tree with.
type HostReport struct {
	// Rungs are all mechanisms of this system, in the order in which [New] tries them.
	Rungs []Rung
}

// Offered reports whether [New] takes the rung without being asked for it by name.
func (r Rung) Offered() bool { return r.Available && !r.OnRequest }

// Best returns the rung that [New] takes when nothing is required, or false when there is none.
func (h HostReport) Best() (Rung, bool) {
	for _, r := range h.Rungs {
		if r.Offered() {
			return r, true
		}
	}
	return Rung{}, false
}

// Guarantees is the union of what the available rungs give, without those that are for requests.
func (h HostReport) Guarantees() Guarantee {
	var g Guarantee
	for _, r := range h.Rungs {
		if r.Offered() {
			g |= r.Guarantees
		}
	}
	return g
}
