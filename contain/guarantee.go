package contain

import (
	"fmt"
	"strings"
)

// Guarantee is a set of promises about a process tree. Combine them with |. The zero value asks for nothing.
type Guarantee uint

// The guarantees, each a bit of the set.
const (
	// KillTree: every descendant dies with the group, whether it called setsid or setpgid, forked twice or
	// daemonised.
	KillTree Guarantee = 1 << iota
	// KillForkBomb: the kill is atomic against forking, so that a live fork bomb cannot outrun it.
	KillForkBomb
	// KillOnOwnerDeath: the whole tree dies when this process ends by any means, SIGKILL included.
	KillOnOwnerDeath
	// ResistSameUID: a child that runs under our own uid can neither leave the group nor disarm it.
	ResistSameUID
	// CapMemory: [Limits.Memory] is enforced over the whole tree.
	CapMemory
	// CapProcesses: [Limits.Processes] is enforced over the whole tree, further starts included.
	CapProcesses
	// CapCPU: [Limits.CPU] is enforced over the whole tree.
	CapCPU
)

var guaranteeNames = [...]string{
	"kill-tree", "kill-fork-bomb", "kill-on-owner-death", "resist-same-uid", "cap-memory", "cap-processes", "cap-cpu",
}

// Has reports whether g holds every guarantee of want.
func (g Guarantee) Has(want Guarantee) bool { return g&want == want }

// Names lists the guarantees of g in a fixed order, spelled as on the command line and in reports.
func (g Guarantee) Names() []string {
	names := []string{}
	for i, name := range guaranteeNames {
		if g&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// String is the names joined by commas, or "none".
func (g Guarantee) String() string {
	if g == 0 {
		return "none"
	}
	return strings.Join(g.Names(), ",")
}

// ParseGuarantees reads a list of names separated by commas, as [Guarantee.String] writes it. White space around a name
// and empty names are ignored. An unknown name is an error that lists the known ones.
func ParseGuarantees(list string) (Guarantee, error) {
	var g Guarantee
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name == "" || name == "none" {
			continue
		}
		bit := Guarantee(0)
		for i, known := range guaranteeNames {
			if name == known {
				bit = 1 << i
			}
		}
		if bit == 0 {
			return 0, fmt.Errorf("contain: unknown guarantee %q (known: %s)", name, strings.Join(guaranteeNames[:], ", "))
		}
		g |= bit
	}
	return g, nil
}
