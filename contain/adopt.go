package contain

import "fmt"

// An adopter is a place that can take in a process that exists.
type adopter interface {
	// adopts says what of the group's guarantees an adopted tree has not, and why. It waits for what is on its way.
	adopts() (lacks Guarantee, why string)
	// adopt takes the process in, with its descendants. After an error all is as it was.
	adopt(pid int, start uint64) (tree, error)
}

// AdoptReason says why a process cannot be adopted.
type AdoptReason string

// The reasons.
const (
	// AdoptNoProcess: there is no such process, and never can be: 0 and below, or the id of a thread.
	AdoptNoProcess AdoptReason = "there is no process with this id"
	// AdoptEnded: the process has ended, or nobody has the id.
	AdoptEnded AdoptReason = "it has ended"
	// AdoptRecycled: another process has the id now.
	AdoptRecycled AdoptReason = "another process has its id by now"
	// AdoptSelf: it is this process.
	AdoptSelf AdoptReason = "it is this program itself"
	// AdoptAncestor: this process would die with it.
	AdoptAncestor AdoptReason = "this program is a descendant of it"
	// AdoptSystem: it is the first process of the system, or a thread of the kernel.
	AdoptSystem AdoptReason = "it belongs to the system"
	// AdoptHeld: it belongs to a group already, of this program or of another, or holds one.
	AdoptHeld AdoptReason = "it belongs to a group already"
	// AdoptRefused: the system does not let us, because it is somebody else's.
	AdoptRefused AdoptReason = "the system does not let us"
)

// AdoptError is a process that was not adopted. It is as it was.
type AdoptError struct {
	PID    int
	Reason AdoptReason
	// Err is the system's refusal, a [syscall.Errno], or [os.ErrProcessDone] of a process that has ended. It may be nil.
	Err error
}

// Error implements error.
func (e *AdoptError) Error() string {
	s := fmt.Sprintf("contain: process %d cannot be adopted: %s", e.PID, e.Reason)
	if e.Err != nil && e.Reason == AdoptRefused {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the system's refusal.
func (e *AdoptError) Unwrap() error { return e.Err }

// Adopt takes a process that exists into the group, with its descendants. start is the process's [Member.Start], by which
// it is told from a later one with the same id; 0 takes whoever has the id now. From then on the tree is the group's as if
// it had been started there: Kill and Close end it.
//
// [Child.Guarantees] of what it returns says what that is worth. On [Cgroup2] and [Cgroup2PIDNamespace] the processes are
// moved into a cgroup of the group: whatever they fork later is covered, the tree dies with this program, and caps hold,
// for what is used from now on; [ResistSameUID] is not to be had, because nobody can be brought into a pid namespace. On
// [PIDNamespace], [Subreaper] and [ProcessGroup] they are only followed, by parentage: what an adopted process forks later
// is found as long as its parent lives or was seen, and nothing is guaranteed. A group that requires what an adopted tree
// would lack refuses it, with an [*UnsupportedError]. Elsewhere than on Linux it always does. Descendants that have
// lost their parents before are not known to be any.
//
// The error is [ErrClosed], [ErrFrozen], or an [*AdoptError]: it refuses 0, 1, this process and those above it, what has
// ended, what belongs to a group already, and what the system does not let us signal or move.
//
// The process stays its parent's child: its parent waits for it, and we do not. So its [ExitStatus] is Lost, and
// [Child.PID] may be another's once it has ended; [Child.Signal] is never sent to that.
func (g *Group) Adopt(pid int, start uint64) (*Child, error) {
	if err := g.enter(); err != nil {
		return nil, err
	}
	defer g.leave()
	place, ok := g.place.(adopter)
	if !ok {
		return nil, g.cannotAdopt(0, "it is not built for this system")
	}
	lacks, why := place.adopts()
	if missing := lacks & g.required; missing != 0 {
		return nil, g.cannotAdopt(missing, fmt.Sprintf("%s, so that %s, which is required, would be lost", why, missing))
	}
	t, err := place.adopt(pid, start)
	if err != nil {
		return nil, err
	}
	c := &Child{group: g, tree: t, leader: t.first(), lacks: lacks}
	if !g.adopt(c) {
		return nil, also(ErrClosed, c.Close())
	}
	return c, nil
}

func (g *Group) cannotAdopt(missing Guarantee, why string) error {
	return &UnsupportedError{Operation: "adopt", Missing: missing, Asked: g.Mechanism(), Reason: why}
}
