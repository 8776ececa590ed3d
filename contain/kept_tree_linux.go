package contain

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

// keptTree is a tree below a keeper, and if there is a leaf in that cgroup as well.
//
// A keeper that is dead, or does not answer, holds nothing up: a namespace ends with its first process, which the kernel
// kills whatever it does; and what a subreaper held is hunted from here, as far as it is to be found.
type keptTree struct {
	keeper *keeper
	number uint64 // among those of the keeper
	leader *keptLeader
	leaf   *cgroup2Tree // nil for none

	mu     sync.Mutex // held for moments
	ended  bool
	struck time.Time // when the keeper was last told to, of a tree with a leaf
	pooled *keepers  // where the keeper goes when the tree is dead
	// budget is what the tree has of its group's cap on processes, nil for none.
	budget *taskBudget
	// user is whom the tree runs as, nil for us.
	user *user
}

func (t *keptTree) first() firstProcess { return t.leader }

func (t *keptTree) over() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended
}

func (t *keptTree) strike() error {
	if t.over() {
		return nil
	}
	var err error
	if t.leaf != nil {
		if err = t.leaf.strike(); !t.due() {
			return err
		}
	}
	if t.keeper.strike(t.number) == nil {
		return err
	}
	if t.keeper.namespaced {
		_ = t.keeper.process.signal(syscall.SIGKILL)
		return err
	}
	if t.user != nil {
		return t.user.kill()
	}
	hunted, huntErr := signalDescendants(t.root(), syscall.SIGKILL)
	if huntErr = hunted.verdict(syscall.SIGKILL, huntErr); !errors.Is(huntErr, os.ErrProcessDone) {
		err = errors.Join(err, huntErr)
	}
	_ = t.leader.signal(syscall.SIGKILL)
	return err
}

// due reports whether the keeper is to strike beside the leaf: as often as it can, since it hears nothing meanwhile.
func (t *keptTree) due() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Since(t.struck) < strikeBound {
		return false
	}
	t.struck = time.Now()
	return true
}

// root is the process below which members are to be found.
func (t *keptTree) root() int {
	if t.keeper.alive() {
		return t.keeper.process.pid
	}
	return t.leader.number
}

func (t *keptTree) unasked() bool { return !t.over() && !t.keeper.isAlone() }

func (t *keptTree) empty() (bool, error) {
	if t.over() {
		return true, nil
	}
	if t.leaf != nil {
		if empty, err := t.leaf.empty(); !empty || err != nil {
			return false, err
		}
	}
	empty, err := t.keeper.isEmpty()
	if err == nil {
		return empty, nil
	}
	if t.keeper.namespaced {
		return !t.keeper.alive(), nil
	}
	if t.user != nil {
		there, err := t.user.exists()
		return err == nil && !there, err
	}
	members, err := t.members()
	return err == nil && len(alive(members)) == 0, err
}

// freeze is called of trees with a leaf alone. The keeper is not in it.
func (t *keptTree) freeze(on bool) error { return t.leaf.freeze(on) }

func (t *keptTree) stands() (bool, error) { return t.leaf.stands() }

func (t *keptTree) members() ([]Member, error) {
	if t.over() {
		return nil, nil
	}
	list, err := descendants(t.root())
	if err != nil {
		return nil, bare(err)
	}
	var members []Member
	for _, p := range list {
		members = append(members, p.member())
	}
	if !t.keeper.alive() && !t.leader.dead() {
		if p, err := readProcess(t.leader.number); err == nil {
			members = append(members, p.member())
		}
	}
	return members, nil
}

// signal goes from here, where the members are to be seen whatever has become of the keeper.
func (t *keptTree) signal(sig syscall.Signal) (sum tally, err error) {
	if t.over() {
		return sum, nil
	}
	sum, err = signalDescendants(t.root(), sig)
	if t.root() == t.leader.number {
		sum.count(lookMember(t.leader.number), t.leader.signal(sig))
	}
	return sum, err
}

func (t *keptTree) end(deadline time.Time) error {
	if t.over() {
		return nil
	}
	released := t.leader.dead() && t.release()
	for !released && !t.keeper.isMute() {
		if err := drain(t, deadline); err != nil {
			return err
		}
		if released = t.release(); !released && !time.Now().Before(deadline) {
			return &DrainError{Err: errors.New("somebody is left who cannot be waited for")}
		}
	}
	var lost error
	if !released {
		var err error
		if lost, err = t.endMute(deadline); err != nil {
			return err
		}
	}
	t.leader.close()
	if t.leaf != nil {
		if err := t.leaf.remove(deadline); err != nil {
			return err
		}
	}
	t.mu.Lock()
	t.ended = true
	t.mu.Unlock()
	if t.budget != nil {
		t.budget.give()
	}
	if t.user != nil {
		t.user.give()
	}
	switch {
	case released && t.keeper.spoilt.Load():
		t.keeper.end()
	case released:
		t.pooled.put(t.keeper)
	}
	return lost
}

// release asks the keeper to reap everybody, and reports whether nobody is left.
func (t *keptTree) release() bool {
	if t.keeper.isMute() {
		return false
	}
	if t.leaf != nil {
		if empty, err := t.leaf.empty(); !empty || err != nil {
			return false
		}
	}
	released, err := t.keeper.release()
	return err == nil && released
}

// endMute ends a tree whose keeper does not answer. lost says that members may be left who are not to be found.
func (t *keptTree) endMute(deadline time.Time) (lost, err error) {
	died := t.keeper.died.Load() || !t.keeper.alive()
	if !t.keeper.namespaced {
		if err := drain(t, deadline); err != nil {
			return nil, err
		}
	}
	t.keeper.end()
	if err := t.keeper.awaitReaped(deadline); err != nil {
		return nil, &DrainError{Err: err}
	}
	if died && !t.keeper.namespaced && t.user == nil {
		lost = &DrainError{Err: errLost}
	}
	return lost, nil
}

// keptPlace is where one group keeps its trees. Each has a keeper of its own.
type keptPlace struct {
	mechanism *kept
	keepers   *keepers
	// leaves is the group's cgroup, nil for none.
	leaves *cgroup2Place
	// budget is the cap on processes without a cgroup, nil for none.
	budget *taskBudget

	mu     sync.Mutex
	doomed bool
	trees  map[*keptTree]struct{} // that are being started
}

func (p *keptPlace) start(ctx context.Context, spec Spec) (tree, error) {
	t, err := p.try(ctx, spec)
	if errors.Is(err, errBornDead) && p.leaves != nil && !p.isDoomed() {
		// As in cgroup2Place.start.
		if err := t.end(time.Now().Add(KillBound)); err != nil {
			return t, err
		}
		p.leaves.mechanism.forgetProbe()
		t, err = p.try(ctx, spec)
	}
	if t == nil {
		return nil, err // and not a tree that is a nil pointer
	}
	return t, err
}

func (p *keptPlace) try(ctx context.Context, spec Spec) (*keptTree, error) {
	processes := 0
	if p.budget != nil {
		if err := p.budget.take(); err != nil {
			return nil, err
		}
		processes = p.budget.most
	}
	k, err := p.keepers.get(ctx)
	if err != nil {
		if p.budget != nil {
			p.budget.give()
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		p.mechanism.forgetProbe()
		return nil, &StartError{Step: StepTree, Err: err}
	}
	var as *user
	if p.mechanism.users {
		if as, err = takeUser(); err != nil {
			p.keepers.put(k)
			return nil, &StartError{Step: StepUser, Err: bare(err)}
		}
	}
	t := &keptTree{user: as, keeper: k, number: k.trees.Add(1), pooled: p.keepers, budget: p.budget}
	dir := -1
	if p.leaves != nil {
		if t.leaf, err = p.leaves.leaf(); err != nil {
			p.keepers.put(k)
			return nil, &StartError{Step: StepTree, Err: bare(err)}
		}
		dir = t.leaf.dir
	}
	if !p.enter(t) {
		err = ErrClosed
	}
	if err == nil {
		before := p.refusals()
		t.leader, err = k.start(ctx, t.number, spec, dir, processes, as.number())
		if errors.Is(err, syscall.ECANCELED) && ctx.Err() != nil {
			err = ctx.Err() // struck before it was begun
		} else if err != nil {
			err = p.hit(err, before)
		}
	}
	p.leave(t)
	if err != nil {
		if t.leader == nil {
			t.leader = &keptLeader{ended: make(chan struct{})}
			go k.listen(t.leader)
		}
		return nil, also(err, t.end(time.Now().Add(KillBound)))
	}
	if err := ctx.Err(); err != nil {
		return t, err
	}
	if bornDead(t.leader.number) {
		return t, &StartError{Step: StepTree, Err: errBornDead}
	}
	if p.leaves == nil {
		return t, nil
	}
	if err := p.leaves.unspareHeir(t.leaf); err != nil {
		return t, err
	}
	p.leaves.prepare()
	return t, nil
}

func (p *keptPlace) refusals() int64 {
	if p.leaves == nil || p.leaves.caps == nil {
		return -1
	}
	return p.leaves.caps.refusals()
}

// hit is err, or that the group is full if that is why.
func (p *keptPlace) hit(err error, before int64) error {
	if p.leaves != nil {
		if hit := p.leaves.caps.hit(err, before); hit != nil {
			return &StartError{Step: StepTree, Err: hit}
		}
	}
	return err
}

func (p *keptPlace) freezes() bool { return p.leaves != nil }

func (p *keptPlace) evidence() Evidence {
	if p.budget != nil {
		return p.budget.evidence()
	}
	if p.leaves == nil {
		return Evidence{}
	}
	return p.leaves.evidence()
}

func (p *keptPlace) update(l Limits) error {
	if p.budget != nil {
		return p.budget.update(l)
	}
	if p.leaves == nil {
		return l.fixed(Limits{})
	}
	return p.leaves.update(l)
}

func (p *keptPlace) stats() Stats {
	if p.leaves == nil {
		return Stats{}
	}
	return p.leaves.stats()
}

func (t *keptTree) stats() Stats {
	if t.leaf == nil {
		return Stats{}
	}
	return t.leaf.stats()
}

// enter counts t among the trees that doom kills, unless that is over.
func (p *keptPlace) enter(t *keptTree) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.doomed {
		return false
	}
	if p.trees == nil {
		p.trees = map[*keptTree]struct{}{}
	}
	p.trees[t] = struct{}{}
	return true
}

func (p *keptPlace) leave(t *keptTree) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.trees, t)
}

func (p *keptPlace) isDoomed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.doomed
}

// doom kills what is being started. It is called with a lock held, so what it says is said on the side.
func (p *keptPlace) doom() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doomed = true
	for t := range p.trees {
		go func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if _, still := p.trees[t]; !still {
				return // and its keeper may serve another
			}
			if t.leaf != nil {
				_ = t.leaf.strike()
			}
			_ = t.keeper.strike(t.number)
		}()
	}
}

func (p *keptPlace) remove(deadline time.Time) error {
	if p.leaves != nil {
		return p.leaves.remove(deadline)
	}
	return nil
}
