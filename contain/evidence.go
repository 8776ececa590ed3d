package contain

import (
	"slices"
	"time"
)

// Tripped says whether a cap was hit.
type Tripped int

// The answers. The zero value is [TripUnknown]: nobody has counted.
const (
	TripUnknown Tripped = iota
	NotTripped
	HasTripped
)

// String is "yes", "no" or "unknown", as reports spell it.
func (t Tripped) String() string {
	switch t {
	case NotTripped:
		return "no"
	case HasTripped:
		return "yes"
	default:
		return "unknown"
	}
}

// Evidence is what the kernel's own counters say of a group's caps. No exit code and no signal has a part in it: a
// member that was killed by SIGKILL is not by that one that took too much memory.
type Evidence struct {
	// Limits has one entry for each cap in force, in the order memory, processes, cpu.
	Limits []LimitEvidence
	// OutsideKills counts the members that the kernel killed for want of memory although the group was within its own cap:
	// a cgroup above it, or the host, had no more. Nil where it is not known: without a cap on memory nobody counts.
	OutsideKills *int64
}

// LimitEvidence is what is known of one cap.
type LimitEvidence struct {
	Kind LimitKind
	// Max is the cap in force: bytes, processes or cores.
	Max float64
	// Effective is the smallest such cap among the group's and those of the cgroups above it, as far as these are to be
	// seen. It is below Max when somebody above allows less, or when the kernel rounds (memory, to pages). 0 where it is not
	// known: a cassette does not tell.
	Effective float64
	// Tripped says whether the cap was hit.
	Tripped Tripped
	// Events counts how often: members killed for memory, forks refused, periods of 100 ms in which processors were
	// withheld. Nil where it is not known.
	Events *int64
}

// Of finds the entry of one kind; false when no such cap is in force.
func (e Evidence) Of(kind LimitKind) (LimitEvidence, bool) {
	for _, l := range e.Limits {
		if l.Kind == kind {
			return l, true
		}
	}
	return LimitEvidence{}, false
}

// Clone is a copy that shares nothing.
func (e Evidence) Clone() Evidence {
	e.Limits = slices.Clone(e.Limits)
	for i := range e.Limits {
		e.Limits[i].Events = clonePtr(e.Limits[i].Events)
	}
	e.OutsideKills = clonePtr(e.OutsideKills)
	return e
}

// Stats is what a tree has used, dead members included. What was not measured is nil, never 0.
type Stats struct {
	// CPU is the processor time.
	CPU *time.Duration
	// PeakMemory is the most memory held at once, in bytes. It is measured where memory is capped.
	PeakMemory *int64
	// PeakProcesses is the most tasks at once. It is measured where processes are capped by cgroup v2 (Linux 6.1): on v1 the
	// kernel's count has the thread of ours in it that starts the members.
	PeakProcesses *int64
}

// Clone is a copy that shares nothing.
func (s Stats) Clone() Stats {
	return Stats{clonePtr(s.CPU), clonePtr(s.PeakMemory), clonePtr(s.PeakProcesses)}
}

func clonePtr[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// A meter is a place whose mechanism counts.
type meter interface {
	evidence() Evidence
	stats() Stats
}

// Evidence says which caps were hit so far, all trees of the group together. After [Group.Close] it says what was read
// last, before the group was removed. It is empty without caps.
func (g *Group) Evidence() Evidence {
	if m, ok := g.place.(meter); ok {
		return m.evidence()
	}
	return Evidence{}
}

// Stats says what all trees of the group have used so far, those that ended among them. After [Group.Close] it says what
// was read last.
func (g *Group) Stats() Stats {
	if m, ok := g.place.(meter); ok {
		return m.stats()
	}
	return Stats{}
}

// Stats says what this tree has used so far: its processor time, where the mechanism counts it. Memory and processes are
// counted for the group as a whole. After [Child.Close] it says what was read last.
func (c *Child) Stats() Stats {
	if m, ok := c.tree.(interface{ stats() Stats }); ok {
		return m.stats()
	}
	return Stats{}
}
