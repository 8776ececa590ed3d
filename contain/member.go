package contain

import (
	"fmt"
	"strconv"
)

// Member is one process of a group, as it was when it was looked at. It never holds arguments or environment.
type Member struct {
	// PID and Parent are process ids as we see them.
	PID, Parent int
	// Start tells this process from a later one with the same id: clock ticks since boot on Linux, 0 where unknown.
	Start uint64
	// State is the kernel's letter: R running, S sleeping, D uninterruptible, T stopped, Z zombie; 0 where unknown.
	State byte
	// Name is the program's name as the kernel keeps it, cut at 15 bytes on Linux, with control characters escaped.
	Name string
	// WaitChannel is the kernel's function that the process sleeps in, "" where unknown. It is looked up for the survivors of
	// a [*DrainError] alone. Linux tells it of those whom we may trace, and says "0" of the others, and of who runs.
	WaitChannel string
}

// Alive reports whether the process still runs: a zombie is dead, it only waits to be reaped.
func (m Member) Alive() bool { return m.State != 'Z' && m.State != 'X' }

// String names the process by id, name, state, and wait channel if that is known: pid 4711 "cp" (D, nfs_wait_bit_killable).
func (m Member) String() string {
	state := "?"
	if m.State != 0 {
		state = string(rune(m.State))
	}
	if m.WaitChannel != "" {
		state += ", " + m.WaitChannel
	}
	return fmt.Sprintf(`pid %d "%s" (%s)`, m.PID, m.Name, state)
}

// escapeName makes a program's name, which the program chooses, fit for one line of a terminal.
func escapeName(name string) string {
	quoted := strconv.Quote(name)
	return quoted[1 : len(quoted)-1]
}
