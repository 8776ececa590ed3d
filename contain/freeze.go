package contain

import (
	"context"
	"time"
)

// freezes is a place whose trees are freezers, if it says so.
type freezes interface{ freezes() bool }

// A freezer is a tree whose members can be made to stand still.
type freezer interface {
	// freeze begins to freeze the members, whoever is born meanwhile included, or to thaw them.
	freeze(on bool) error
	// stands reports whether every member stands still.
	stands() (bool, error)
}

// Freeze makes every member of the group stand still, until [Group.Thaw], and waits until they all do, or ctx ends:
// then, and after any other error, it thaws them again. It first waits for the starts under way. A frozen group starts
// nothing ([ErrFrozen]); Kill and Close end it as any other. It stays frozen after Kill.
//
// The kernel freezes (cgroup v2): no member runs, whatever it is doing, nobody is told, and signals wait. A member in
// uninterruptible sleep is waited for. A member that may write to the group's cgroups, as root or under our own user, may
// thaw another group's, but not itself, once it stands still. [Cgroup2] and [Cgroup2PIDNamespace] can; on other mechanisms
// it is an [*UnsupportedError]: to send everybody a SIGSTOP would race with forks, be seen by parents and shells, and be
// undone by anybody's SIGCONT.
func (g *Group) Freeze(ctx context.Context) error {
	if f, ok := g.place.(freezes); !ok || !f.freezes() {
		return &UnsupportedError{Operation: "freeze", Asked: g.Mechanism(), Reason: "only a cgroup of version 2 can be frozen"}
	}
	g.icing.Lock()
	defer g.icing.Unlock()
	settled, err := g.chill()
	if err != nil {
		return err
	}
	select {
	case <-settled:
		err = freeze(ctx, g.snapshot())
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return also(err, g.thaw())
	}
	return nil
}

// Thaw undoes [Group.Freeze]. It does nothing to a group that is not frozen.
func (g *Group) Thaw() error {
	g.icing.Lock()
	defer g.icing.Unlock()
	if !g.isFrozen() {
		return nil
	}
	return g.thaw()
}

// thaw lets starts begin again once everybody else runs. The caller holds icing.
func (g *Group) thaw() error {
	for _, c := range g.snapshot() {
		if err := c.tree.(freezer).freeze(false); err != nil {
			return bare(err)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.frozen = false
	return nil
}

// chill forbids starts, and returns a channel that is closed when none is under way.
func (g *Group) chill() (<-chan struct{}, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closing {
		return nil, ErrClosed
	}
	g.frozen = true
	return g.settled(), nil
}

func (g *Group) isFrozen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.frozen
}

// freeze freezes all the trees, and waits.
func freeze(ctx context.Context, list []*Child) error {
	for _, c := range list {
		if err := c.tree.(freezer).freeze(true); err != nil {
			return bare(err)
		}
	}
	for _, c := range list {
		for pace := drainPaceMin; ; pace = min(2*pace, drainPaceMax) {
			stands, err := c.tree.(freezer).stands()
			if err != nil {
				return bare(err)
			}
			if stands {
				break
			}
			select {
			case <-time.After(pace):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}
