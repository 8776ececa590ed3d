package contain

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cgroup2Place is the cgroup of one group.
type cgroup2Place struct {
	mechanism *cgroup2
	base      *base
	path      string
	caps      *groupCaps // nil without caps
	scope     *scope     // that the group is in, nil for none
	wardens   *wardens   // of the base's directory, and the group's helper program
	warden    *warden
	serial    atomic.Int64 // of the last leaf
	spare     atomic.Pointer[cgroup2Tree]
	doomed    atomic.Bool
	released  bool // the base does not count it any more; the one Close that works sets it

	// mu guards what follows, for moments.
	mu  sync.Mutex
	dir int // the group's descriptor, -1 when it is closed
	cpu *time.Duration
}

// lacks is what the warden gives, as long as it is not there: while it starts in the background, and when somebody has
// killed it.
func (p *cgroup2Place) lacks() Guarantee {
	if p.warden.watches() {
		return 0
	}
	return KillOnOwnerDeath
}

func (p *cgroup2Place) start(ctx context.Context, spec Spec) (tree, error) {
	t, err := p.try(ctx, spec)
	if errors.Is(err, errBornDead) && !p.doomed.Load() {
		// We were moved to another cgroup since the probe, one with another level; or someone else killed the child, or the
		// spare leaf.
		if err := t.end(time.Now().Add(KillBound)); err != nil {
			return t, err
		}
		p.mechanism.forgetProbe()
		t, err = p.try(ctx, spec)
	}
	if t == nil {
		return nil, err // and not a tree that is a nil pointer
	}
	return t, err
}

func (p *cgroup2Place) try(ctx context.Context, spec Spec) (*cgroup2Tree, error) {
	t, err := p.leaf()
	if err != nil {
		return nil, &StartError{Step: StepTree, Err: bare(err)}
	}
	// A start that blocks in exec ends when the leaf is killed.
	stop := context.AfterFunc(ctx, func() { _ = t.strike() })
	t.leader, err = p.spawn(ctx, spec, &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: t.dir, Setpgid: true})
	stop()
	if err != nil {
		if refused := p.refused(t, err); refused != nil {
			err = refused
		}
		return nil, also(err, t.remove(time.Now().Add(removeBound)))
	}
	if err := ctx.Err(); err != nil {
		return t, err
	}
	if bornDead(t.leader.pid) {
		return t, &StartError{Step: StepTree, Err: errBornDead}
	}
	if err := p.unspareHeir(t); err != nil {
		return t, err
	}
	if err := confine(t.leader, spec); err != nil {
		return t, err
	}
	p.prepare()
	return t, nil
}

// unspare undoes the protection that members of a capped group have.
func (p *cgroup2Place) unspare(t *cgroup2Tree) error {
	if p.caps == nil {
		return nil
	}
	return unspare(t, 0)
}

// unspareHeir is unspare for who was started here, and can have inherited no protection but ours.
func (p *cgroup2Place) unspareHeir(t *cgroup2Tree) error {
	if p.caps == nil || !spared() {
		return nil
	}
	return p.unspare(t)
}

// spawn starts spec among the group's caps.
func (p *cgroup2Place) spawn(ctx context.Context, spec Spec, attr *syscall.SysProcAttr) (l *leader, err error) {
	if p.caps == nil {
		return spawn(ctx, spec, attr, nil)
	}
	before := p.caps.refusals()
	l, err = spawn(ctx, spec, attr, p.caps.gate)
	if hit := p.caps.hit(err, before); hit != nil {
		err = &StartError{Step: StepTree, Err: hit}
	}
	return l, err
}

// leaf is the cgroup for one start.
func (p *cgroup2Place) leaf() (*cgroup2Tree, error) {
	if t := p.spare.Swap(nil); t != nil {
		return t, nil
	}
	return p.makeLeaf()
}

// prepare makes the leaf of the next start, while the child of the last one runs: a group that has started twice is taken
// for one that will start again. What goes wrong is the next start's to meet.
func (p *cgroup2Place) prepare() {
	if p.serial.Load() < 2 || p.spare.Load() != nil {
		return
	}
	if t, err := p.makeLeaf(); err == nil && !p.spare.CompareAndSwap(nil, t) {
		_ = t.remove(time.Now().Add(removeBound))
	}
}

func (p *cgroup2Place) makeLeaf() (*cgroup2Tree, error) {
	p.mechanism.mu.Lock()
	level := p.mechanism.look().level
	p.mechanism.mu.Unlock()

	t := &cgroup2Tree{path: p.path + "/leaf-" + strconv.FormatInt(p.serial.Add(1), 10), dir: -1}
	err := unix.Mkdir(t.path, 0o755)
	if err != nil {
		return nil, err
	}
	t.dir, err = openat(unix.AT_FDCWD, t.path, unix.O_PATH|unix.O_DIRECTORY)
	for i := 0; i < level && err == nil; i++ {
		err = cgroupKill(t.dir)
	}
	if err != nil {
		return nil, also(err, t.remove(time.Now().Add(removeBound)))
	}
	return t, nil
}

// refused finds out whether a start failed because no process can be cloned into the leaf. The system reports clone
// and exec alike.
func (p *cgroup2Place) refused(t *cgroup2Tree, err error) error {
	switch bare(err) {
	case syscall.ENOENT, syscall.ENOEXEC, syscall.ENOTDIR, syscall.E2BIG, syscall.ETXTBSY:
		return nil // never said by clone
	}
	if exhausted(err) {
		return nil
	}
	cloneErr := tryClone(t.dir)
	if cloneErr == nil || errors.Is(cloneErr, errBornDead) {
		return nil
	}
	p.mechanism.forgetProbe()
	return &StartError{Step: StepTree, Err: bare(cloneErr)}
}

// bornDead reports whether a child that was started never executed its program.
func bornDead(pid int) bool {
	p, err := readProcess(pid)
	return err == nil && p.flags&forkedNoExec != 0
}

func (p *cgroup2Place) doom() {
	p.doomed.Store(true)
	if dir, err := openat(unix.AT_FDCWD, p.path, unix.O_PATH|unix.O_DIRECTORY); err == nil {
		_ = cgroupKill(dir)
		_ = unix.Close(dir)
	}
}

func (p *cgroup2Place) remove(deadline time.Time) error {
	p.closeDir()
	if t := p.spare.Swap(nil); t != nil {
		_ = unix.Rmdir(t.path) // whoever has come in dies with the group
		t.release()
	}
	if err := p.removeCaps(deadline); err != nil {
		return err
	}
	// A member that may write here can have climbed from its leaf into the group's own cgroup. It dies with the group.
	if err := unix.Rmdir(p.path); err != nil {
		if errors.Is(err, unix.EBUSY) {
			p.doom()
		}
		if err := removeCgroup(unix.AT_FDCWD, p.path, deadline); err != nil {
			return err
		}
	}
	if !p.released {
		if err := p.mechanism.release(p.base, deadline); err != nil {
			return err
		}
		p.released = true
	}
	return p.removeScope(deadline)
}

// removeScope ends the scope that was made for this group.
func (p *cgroup2Place) removeScope(deadline time.Time) error {
	if p.scope == nil {
		return nil
	}
	p.mechanism.abandon(p.base.dir)
	return p.scope.close(deadline)
}

// discard is remove for a group that was never given out. The caller holds the mechanism's mu.
func (p *cgroup2Place) discard(deadline time.Time) error {
	p.closeDir()
	if err := p.removeCaps(deadline); err != nil {
		return err
	}
	if err := removeCgroup(unix.AT_FDCWD, p.path, deadline); err != nil {
		return err
	}
	return p.mechanism.releaseLocked(p.base, deadline)
}

func (p *cgroup2Place) removeCaps(deadline time.Time) error {
	if p.caps == nil {
		return nil
	}
	return p.caps.close(deadline)
}

// closeDir reads the group's counter for the last time.
func (p *cgroup2Place) closeDir() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dir >= 0 {
		p.cpu = cpuUsed(p.dir)
		_ = unix.Close(p.dir)
		p.dir = -1
	}
}

func (p *cgroup2Place) freezes() bool { return true }

func (p *cgroup2Place) evidence() Evidence {
	if p.caps == nil {
		return Evidence{}
	}
	return p.caps.evidence()
}

func (p *cgroup2Place) update(l Limits) error {
	if p.caps == nil {
		return l.fixed(Limits{})
	}
	var widen func(Limits) error
	if p.scope != nil {
		widen = p.scope.update
	}
	return p.caps.update(l, widen)
}

func (p *cgroup2Place) stats() (s Stats) {
	if p.caps != nil {
		s = p.caps.peaks()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dir >= 0 {
		p.cpu = cpuUsed(p.dir)
	}
	s.CPU = clonePtr(p.cpu)
	return s
}

// cpuUsed is the processor time of all that ever ran in a cgroup v2: it needs no controller, and counts the dead. Nil if
// the kernel does not tell.
func cpuUsed(dir int) *time.Duration {
	text, err := readAt(dir, "cpu.stat")
	if err != nil {
		return nil
	}
	usec, ok := parseCount(text, "usage_usec")
	if !ok {
		return nil
	}
	used := time.Duration(usec) * time.Microsecond
	return &used
}
