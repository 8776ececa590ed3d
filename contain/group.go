package contain

import (
	"context"
	"errors"
	"sync"
	"time"
)

// KillBound is how long a kill waits at most until a tree is verified empty: [Group.Kill], [Group.Close], [Child.Kill]
// and [Child.Close] give up after it, with a [*DrainError].
const KillBound = 10 * time.Second

// Options say what a group must give. The zero value asks for nothing and takes the first mechanism that the host
// has.
type Options struct {
	// Require are guarantees without which [New] refuses.
	Require Guarantee
	// Limits cap the whole group.
	Limits Limits
	// Parent is the directory of a cgroup v2 in which the group is to be made, by whoever has prepared one whose children
	// may have the controllers; it must hold no processes, and be ours to write. It makes a group that is not held by
	// [Cgroup2] refuse. By default a place is looked for.
	Parent string
	// Migrate allows what caps take where this program's own cgroup is ours to write and holds processes: all of them are
	// moved into a cgroup below it, named boombox-home-..., for good. It is refused when one of them is neither this process
	// nor a descendant of it. The environment variable BOOMBOX_MIGRATE=1 allows the same. By default nothing is moved.
	Migrate bool
	// Lifetime is after how long the group is over in any case. Where a service manager holds it, that ends then what is
	// left of it: the last resort, if nobody else is left to do so, neither this program nor its helpers. It is no timeout,
	// and nothing elsewhere. By default, and of a negative one, a week.
	Lifetime time.Duration
	// Keeper is the absolute path of another program that links this package, to be executed in place of this one where a
	// helper process is needed: a small one starts faster and takes less memory. New waits until it has answered, at most
	// thirty seconds, and refuses one that does not with a [*KeeperError]. A group that needs no helper does not look at it.
	// By default this program itself.
	Keeper string
	// Mechanism is the one to use; where it is not to be had, [New] refuses. By default ("") it is the first that
	// the host has and that gives all that is required.
	Mechanism Mechanism
}

// Group owns a set of process trees, one for each start. It is safe for concurrent use.
//
// The rules of order, for whoever changes this file:
//
//  1. mu guards the fields below it, for moments only. Nobody holds it, or any other lock of this package, while a
//     command is forked and executed: a start that blocks there waits alone.
//  2. A start counts itself in (enter) before it forks and out (leave) after its child is in children, or is gone.
//     Close first sets closing. So a child is in children before closing is set, and Close ends it; or its start finds
//     closing set, and ends it by itself. There is no third case.
//  3. The place is removed only when no start is under way and no child is left.
type Group struct {
	rung  Rung
	place place
	// required is what was asked for, caps included.
	required Guarantee

	// closer is held by the one Close that works.
	closer sync.Mutex

	// icing is held by the one Freeze or Thaw that works.
	icing sync.Mutex

	mu       sync.Mutex
	closing  bool
	removed  bool
	frozen   bool // from before a Freeze waits for the starts under way
	starting int
	// idle is closed by the last start under way; nil unless somebody has waited for that since one began.
	idle     chan struct{}
	children map[*Child]struct{}
}

// New makes an empty group, or refuses with an [*UnsupportedError], a [*LimitError] or a [*KeeperError] before anything
// starts.
func New(opts Options) (*Group, error) { return host().group(opts) }

// Host predicts, without lasting side effects, what this host can guarantee: [New] obtains the first available rung
// that has everything required. Each mechanism is probed once, and again after it refused a group or a start.
func Host() HostReport { return host().report() }

func newGroup(r Rung, p place, required Guarantee) *Group {
	return &Group{rung: r, place: p, required: required, children: map[*Child]struct{}{}}
}

// Mechanism says how the group holds its trees.
func (g *Group) Mechanism() Mechanism { return g.rung.Mechanism }

// Guarantees says what the group has now: all that was required, and what else its mechanism gives. [KillOnOwnerDeath] of
// a [Cgroup2] group is the work of a helper process. A group that did not require it does not wait for the helper, and
// names the guarantee once the helper is there; a group whose helper somebody has killed does not name it any more.
func (g *Group) Guarantees() Guarantee {
	if w, ok := g.place.(waverer); ok {
		return g.rung.Guarantees &^ w.lacks()
	}
	return g.rung.Guarantees
}

// Start starts one command in a tree of its own within the group. ctx bounds the starting alone: the child lives until
// it ends, is closed, or its group is.
//
// The error is [ErrClosed], [ErrFrozen], that of ctx (ctx.Err()), or a [*StartError], which names the step that failed and unwraps to the
// system's error number. No error holds the path, the arguments, the environment or the directory. A program file that
// is still open for writing (ETXTBSY) is tried again for a quarter of a second: another thread's fork may hold a
// descriptor that was closed long ago.
//
// A start that the system blocks between fork and exec (a program on a file system that does not answer, a cgroup that
// somebody else has frozen) comes back when ctx ends or the group is closed, on [Cgroup2]. It does not if Go's garbage collector runs meanwhile, which waits for
// the fork, as it does in os/exec, and holds up the whole program.
func (g *Group) Start(ctx context.Context, spec Spec) (*Child, error) {
	if err := g.enter(); err != nil {
		return nil, err
	}
	defer g.leave()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if lack := spec.Unsupported(); lack != nil {
		return nil, &StartError{Step: StepConfine, Err: lack}
	}
	if g.rung.Mechanism == ThrowawayUser && spec.Credential != nil {
		lack := &FieldError{Field: fieldCredential, Reason: "with " + string(ThrowawayUser) + " each tree has a user of its own"}
		return nil, &StartError{Step: StepConfine, Err: lack}
	}
	t, err := startIn(ctx, g.place, spec)
	if t == nil {
		if g.isClosing() {
			err = ErrClosed
		}
		return nil, err
	}
	c := &Child{group: g, tree: t, leader: t.first()}
	if !g.adopt(c) {
		err = ErrClosed
	}
	if err != nil {
		return nil, also(err, c.Close())
	}
	return c, nil
}

// Members lists the processes of all trees. Of zombies it shows those that the mechanism shows, the first process of
// each tree among them.
func (g *Group) Members() ([]Member, error) {
	var all []Member
	var errs []error
	for _, c := range g.snapshot() {
		members, err := c.Members()
		all = append(all, members...)
		errs = append(errs, err)
	}
	return all, errors.Join(errs...)
}

// Kill ends every tree of the group and waits until each is verified empty, at most [KillBound]. The group stays
// usable: a later start gets a fresh tree. A start that is under way at the same moment may come before or after the
// kill.
func (g *Group) Kill() error {
	return g.each(time.Now().Add(KillBound), (*Child).kill)
}

// Close kills, drains, verifies empty and removes the group, within [KillBound]. A start that is under way fails with
// [ErrClosed], and its child does not live. Close is idempotent, and after an error it can be tried again.
func (g *Group) Close() error { return g.close(time.Now().Add(KillBound)) }

func (g *Group) close(deadline time.Time) error {
	g.closer.Lock()
	defer g.closer.Unlock()
	idle := g.shut()
	if idle == nil {
		return nil
	}
	err := g.each(deadline, (*Child).close)
	select {
	case <-idle:
	case <-time.After(time.Until(deadline)):
		return errors.Join(err, &DrainError{Err: errors.New("a start is still under way")})
	}
	// A start that was under way has ended its own child; where that failed, the child is in children.
	again := g.each(deadline, (*Child).close)
	if again != nil && !errors.Is(again, errLost) {
		return again
	}
	if err := g.place.remove(deadline); err != nil {
		return err
	}
	g.mu.Lock()
	g.removed = true
	g.mu.Unlock()
	if errors.Is(err, errLost) || again != nil {
		return &DrainError{Err: errLost}
	}
	return nil
}

// shut forbids further starts and returns a channel that is closed when none is under way any more, or nil if the group
// is removed already.
func (g *Group) shut() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.removed {
		return nil
	}
	g.closing = true
	if g.starting > 0 {
		// Whatever is between fork and exec dies too, so that a start that blocks there comes back.
		g.place.doom()
	}
	return g.settled()
}

// settled returns a channel that is closed when no start is under way. The caller holds mu, and has forbidden further
// starts.
func (g *Group) settled() <-chan struct{} {
	if g.idle == nil {
		g.idle = make(chan struct{})
		if g.starting == 0 {
			close(g.idle)
		}
	}
	return g.idle
}

func (g *Group) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closing {
		return ErrClosed
	}
	if g.frozen {
		return ErrFrozen
	}
	if g.starting == 0 {
		g.idle = nil
	}
	g.starting++
	return nil
}

func (g *Group) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.starting--
	if g.starting == 0 && g.idle != nil {
		close(g.idle)
	}
}

// adopt takes c among the children, and reports whether c may live.
func (g *Group) adopt(c *Child) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.children[c] = struct{}{}
	return !g.closing
}

func (g *Group) forget(c *Child) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.children, c)
}

func (g *Group) isClosing() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closing
}

func (g *Group) snapshot() []*Child {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]*Child, 0, len(g.children))
	for c := range g.children {
		list = append(list, c)
	}
	return list
}

// each ends all trees at once: every tree is struck before the first is waited for. The survivors of all of them are
// reported as one [*DrainError].
func (g *Group) each(deadline time.Time, end func(*Child, time.Time) error) error {
	list := g.snapshot()
	if len(list) > 1 {
		for _, c := range list {
			c.strike()
		}
	}
	var merged *DrainError
	var errs []error
	for _, c := range list {
		err := end(c, deadline)
		if d, ok := errors.AsType[*DrainError](err); ok {
			if merged == nil {
				merged = &DrainError{}
			}
			merged.Survivors = append(merged.Survivors, d.Survivors...)
			err = d.Err
		}
		errs = append(errs, err)
	}
	err := errors.Join(errs...)
	if merged == nil {
		return err
	}
	merged.Err = err
	return merged
}

// also adds what went wrong in cleaning up to the cause, which stays as it is when nothing did.
func also(cause, cleanup error) error {
	if cleanup == nil {
		return cause
	}
	return errors.Join(cause, cleanup)
}
