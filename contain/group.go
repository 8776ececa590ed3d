package contain

import (
	"context"
	"syscall"
	"time"
)

// Options say what a group must give. The zero value asks for nothing and takes the strongest mechanism that costs
// nothing.
type Options struct {
	// Require are guarantees without which [New] refuses.
	Require Guarantee
	// Limits cap the whole group.
	Limits Limits
}

// Group owns a set of process trees, one for each start. It is safe for concurrent use.
type Group struct{}

// New makes an empty group, or refuses with an [*UnsupportedError] or a [*LimitError] before anything starts.
func New(opts Options) (*Group, error) { panic("unbuilt") }

// Host predicts, without lasting side effects, what this host can guarantee. The probe is made once.
func Host() HostReport { panic("unbuilt") }

// Mechanism says how the group holds its trees.
func (g *Group) Mechanism() Mechanism { panic("unbuilt") }

// Guarantees says what was obtained.
func (g *Group) Guarantees() Guarantee { panic("unbuilt") }

// Start starts one command in a tree of its own within the group. ctx bounds the starting alone.
func (g *Group) Start(ctx context.Context, spec Spec) (*Child, error) { panic("unbuilt") }

// Members lists the processes of all trees, zombies included.
func (g *Group) Members() ([]Member, error) { panic("unbuilt") }

// Kill ends every tree of the group and waits until each is verified empty, at most KillBound. The group stays usable:
// a later start gets a fresh tree. A start that is under way at the same moment may come before or after the kill.
func (g *Group) Kill() error { panic("unbuilt") }

// Stop asks every member to end (SIGTERM), waits until the trees are empty, at most grace or until ctx ends, and then
// kills what is left.
func (g *Group) Stop(ctx context.Context, grace time.Duration) (StopReport, error) { panic("unbuilt") }

// Close kills, drains, verifies empty and removes the group. A start that is under way fails with [ErrClosed], and its
// child does not live. Close is idempotent, and after an error it can be tried again.
func (g *Group) Close() error { panic("unbuilt") }

// StopReport is what [Group.Stop] or [Child.Stop] did.
type StopReport struct {
	// Signalled is the soft signal sent, 0 when none was; then SignalErr says why, or nothing was there to signal.
	Signalled syscall.Signal
	SignalErr error
	// Before and After count the live members, -1 when unknown.
	Before, After int
	// Drained says that the trees were seen empty; Escalated that it took SIGKILL.
	Drained, Escalated bool
	Elapsed            time.Duration
}

// Child is one started command and the tree below it. It is safe for concurrent use.
type Child struct{}

// PID is the process id of the first process. It stays that process's own, unrecycled, until Close returns.
func (c *Child) PID() int { panic("unbuilt") }

// Exited is closed when the first process has ended (its descendants may live). It does not wait for any pipe.
func (c *Child) Exited() <-chan struct{} { panic("unbuilt") }

// Poll looks, without blocking, whether the first process has ended, asking the kernel and not only what Exited has
// heard so far.
func (c *Child) Poll() (ExitStatus, bool) { panic("unbuilt") }

// Signal sends sig to the first process, by identity and not by number.
func (c *Child) Signal(sig syscall.Signal) error { panic("unbuilt") }

// SignalTree sends sig to every member of the tree.
func (c *Child) SignalTree(sig syscall.Signal) error { panic("unbuilt") }

// Members lists the processes of this tree, zombies included.
func (c *Child) Members() ([]Member, error) { panic("unbuilt") }

// Kill ends the whole tree and waits until it is verified empty, bounded; then a [*DrainError] names the survivors.
func (c *Child) Kill() error { panic("unbuilt") }

// Close kills the tree if anything of it is left, reaps the first process and removes what held the tree. It is
// idempotent, and after an error it can be tried again.
func (c *Child) Close() error { panic("unbuilt") }
