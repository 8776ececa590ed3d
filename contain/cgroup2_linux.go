package contain

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cgroup2 holds each tree in a cgroup v2 leaf of its own. It needs no controller, only a directory that we may write.
//
//	our own cgroup/                     or, for caps, one that can have them: see strategies
//	  boombox-PIDNS-PID-START-RANDOM/   one for this process while it has groups (the base)
//	    group-1/                        one for each group
//	      leaf-1/                       one for each start, never used again
//
// A leaf is used once because a cgroup that was killed kills whatever is cloned into it afterwards, while the start
// reports success: the kernel compares how often the spawner's own cgroup was killed with how often the target was.
// Hence level, too.
type cgroup2 struct {
	mountinfo, membership string // the files to read, and in specs others

	mu      sync.Mutex
	probed  *cgroup2Probe
	bases   map[string]*base    // by the directory that they are in
	serial  int                 // of the last group
	swept   map[string]bool     // directories
	placed  string              // where a group with caps found its place, "" while none has
	wardens map[string]*wardens // by the directory that they watch
}

// base is the cgroup of this process in one directory, while it has groups there. It is in our own cgroup, unless a
// group has caps that can only be had elsewhere.
type base struct {
	dir, path string
	groups    int
}

// cgroup2Probe is what was found out about the host.
type cgroup2Probe struct {
	rung Rung
	// dir is our own cgroup's directory.
	dir string
	// level is how often our own cgroup was killed in its life, and so how often an empty leaf has to be, before a process
	// can be cloned into it.
	level int
}

// maxLevel bounds the search for the level, which costs one fork for each step.
const maxLevel = 128

func newCgroup2(mountinfo, membership string) *cgroup2 {
	return &cgroup2{mountinfo: mountinfo, membership: membership, bases: map[string]*base{}, swept: map[string]bool{},
		wardens: map[string]*wardens{}}
}

func (m *cgroup2) probe() Rung {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.look().rung
}

// look probes, once; but a refusal for want of resources is not remembered. The caller holds mu, under which the probe
// forks: it executes nothing, so it cannot block.
func (m *cgroup2) look() *cgroup2Probe {
	if m.probed != nil {
		return m.probed
	}
	p := m.search()
	p.rung.Mechanism = Cgroup2
	p.rung.Guarantees = KillTree | KillForkBomb | KillOnOwnerDeath | caps
	p.rung.Available = p.rung.Reason == ""
	if p.rung.Available {
		p.rung.Refused = m.refusedCaps(p.dir)
	}
	for _, refused := range p.rung.Refused {
		p.rung.Guarantees &^= refused.Kind.guarantee()
	}
	if !exhausted(p.rung.Err) {
		m.probed = p
	}
	return p
}

// exhausted reports whether err says that something has run out for the moment.
func exhausted(err error) bool {
	switch bare(err) {
	case syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.ENOSPC:
		return true
	}
	return false
}

// forgetProbe makes the next look probe anew.
func (m *cgroup2) forgetProbe() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.probed = nil
}

// search finds the first directory in which everything works, or says why the last one does not do.
func (m *cgroup2) search() *cgroup2Probe {
	found, err := m.candidates()
	if err != nil {
		r := Rung{Reason: "no cgroup v2 is to be seen: " + bare(err).Error(), Err: bare(err)}
		if errors.Is(err, errNoCgroup2) {
			r = Rung{Reason: "this system has no cgroup v2", Remedy: "mount cgroup2"}
		}
		return &cgroup2Probe{rung: r}
	}
	p := &cgroup2Probe{rung: Rung{
		Reason: "our own cgroup is outside of every mounted cgroup v2 tree",
		Remedy: "mount cgroup2 so that the process's own cgroup is in it",
	}}
	for _, dir := range found {
		level, rung := tryCgroup(dir)
		p = &cgroup2Probe{rung: rung, dir: dir, level: level}
		if rung.Reason == "" {
			break
		}
	}
	return p
}

// candidates are the directories at which our own cgroup is to be seen, the newest mount first.
func (m *cgroup2) candidates() ([]string, error) {
	text, err := os.ReadFile(m.membership)
	if err != nil {
		return nil, err
	}
	own, err := parseSelfCgroup(text)
	if err != nil {
		return nil, err
	}
	if text, err = os.ReadFile(m.mountinfo); err != nil {
		return nil, err
	}
	var dirs []string
	mounts := parseMountinfo(text)
	if len(mounts) == 0 {
		return nil, errNoCgroup2
	}
	for i := len(mounts) - 1; i >= 0; i-- {
		if dir, ok := mounts[i].under(own); ok {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

// tryCgroup tries in dir all that a start will need, with a cgroup made for that and removed again.
func tryCgroup(dir string) (level int, refused Rung) {
	var fs unix.Statfs_t
	if err := ignoringEINTR(func() error { return unix.Statfs(dir, &fs) }); err != nil {
		return 0, refusal("our own cgroup cannot be reached", err)
	}
	if fs.Type != unix.CGROUP2_SUPER_MAGIC {
		return 0, Rung{Reason: "another file system is mounted over our own cgroup"}
	}
	leaf := filepath.Join(dir, baseName())
	if err := unix.Mkdir(leaf, 0o755); err != nil {
		return 0, refusal("no cgroup can be made below our own", err)
	}
	defer func() { _ = removeCgroup(unix.AT_FDCWD, leaf, time.Now().Add(removeBound)) }()
	fd, err := openat(unix.AT_FDCWD, leaf, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return 0, refusal("a new cgroup cannot be opened", err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Faccessat(fd, "cgroup.kill", unix.W_OK, 0); err != nil {
		return 0, Rung{Reason: "the kernel has no cgroup.kill (Linux 5.14)", Err: err}
	}
	return findLevel(fd)
}

var errBornDead = errors.New("the child was killed before it could execute")

// findLevel finds how often an empty leaf has to be killed before it takes children.
func findLevel(leaf int) (level int, refused Rung) {
	for level = 0; level <= maxLevel; level++ {
		switch err := tryClone(leaf); {
		case err == nil:
			return level, Rung{}
		case !errors.Is(err, errBornDead):
			return 0, refusal("no process can be cloned into a new cgroup", err)
		}
		if err := cgroupKill(leaf); err != nil {
			return 0, refusal("a new cgroup cannot be killed", err)
		}
	}
	return 0, Rung{
		Reason: fmt.Sprintf("our own cgroup was killed more than %d times, and the kernel holds that against every child", maxLevel),
		Remedy: "start this process in a new cgroup",
	}
}

// tryClone tries to clone a child into a cgroup, with no program to run: that an empty path does not exist is told by
// the child, after the clone.
func tryClone(leaf int) error {
	pidfd := -1
	attr := &syscall.ProcAttr{Sys: &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: leaf, PidFD: &pidfd, Setpgid: true}}
	pid, _, err := syscall.StartProcess("", []string{""}, attr)
	if errors.Is(err, syscall.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	// It was born, and reported no failure to execute: it is dead.
	return errors.Join(errBornDead, watchLeader(pid, pidfd).reap(time.Now().Add(removeBound)))
}

// refusal words the system's refusal, and what an administrator could do about it.
func refusal(what string, err error) Rung {
	errno := bare(err)
	r := Rung{Reason: what + ": " + errno.Error(), Err: errno}
	switch errno {
	case syscall.EACCES, syscall.EPERM:
		r.Remedy = "delegate a cgroup to this user (systemd: Delegate=yes, or systemd-run --user --scope)"
	case syscall.EROFS:
		r.Remedy = "mount /sys/fs/cgroup writable in the container"
	case syscall.ENOSYS:
		r.Remedy = "allow clone3 in the seccomp profile (Linux 5.7)"
	case syscall.EBUSY:
		r.Remedy = "disable the controllers in the cgroup's cgroup.subtree_control, or start this process in a leaf"
	case syscall.EOPNOTSUPP:
		r.Remedy = "start this process in a cgroup that is not threaded"
	}
	return r
}

// open makes a group, with the caps asked for. A warden comes with the first group in a directory: it is waited for if
// the group is to die with us, and starts in the background otherwise.
func (m *cgroup2) open(opts Options) (place, error) {
	p, err := m.newPlace(opts)
	if err != nil {
		return nil, err
	}
	p.warden = p.wardens.watch(p.base.dir)
	if opts.Require.Has(KillOnOwnerDeath) {
		if err := p.warden.await(); err != nil {
			err = fmt.Errorf("no warden can watch over it: %w", err)
			return nil, also(err, p.remove(time.Now().Add(removeBound)))
		}
	}
	return p, nil
}

func (m *cgroup2) newPlace(opts Options) (*cgroup2Place, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.look()
	if !p.rung.Available {
		return nil, errors.New(p.rung.Reason)
	}
	plan, err := m.plan(p.dir, opts)
	if err != nil {
		return nil, err
	}
	group, err := m.newGroup(plan.dir)
	if err != nil {
		return nil, err
	}
	for _, h := range plan.v1 {
		if h.dir != "" && !m.swept[h.dir] {
			m.swept[h.dir] = true
			sweepV1(h.dir, owner.dead)
		}
	}
	if group.caps, err = plan.impose(group.base.path, group.path); err == nil {
		group.dir, err = openat(unix.AT_FDCWD, group.path, unix.O_RDONLY|unix.O_DIRECTORY)
	}
	if err != nil {
		return nil, also(err, group.discard(time.Now().Add(removeBound)))
	}
	return group, nil
}

// newGroup makes the cgroup of a group, and the base for the first one. The caller holds mu.
func (m *cgroup2) newGroup(dir string) (*cgroup2Place, error) {
	if !m.swept[dir] {
		m.swept[dir] = true
		sweep(dir, owner.dead)
	}
	m.serial++
	name := "group-" + strconv.Itoa(m.serial)
	for again := true; ; again = false {
		b, err := m.makeGroup(dir, name)
		if err == nil {
			b.groups++
			return &cgroup2Place{
				mechanism: m, base: b, wardens: m.wardensOf(dir), path: filepath.Join(b.path, name), dir: -1,
			}, nil
		}
		// ENOENT: somebody has removed the base from under us.
		if !again || b != nil && b.groups > 0 || !isGone(err) {
			m.probed = nil
			return nil, bare(err)
		}
		delete(m.bases, dir)
	}
}

func (m *cgroup2) makeGroup(dir, name string) (*base, error) {
	b := m.bases[dir]
	if b == nil {
		b = &base{dir: dir, path: filepath.Join(dir, baseName())}
		if err := os.Mkdir(b.path, 0o755); err != nil {
			return nil, err
		}
		m.bases[dir] = b
	}
	return b, os.Mkdir(filepath.Join(b.path, name), 0o755)
}

// wardensOf is where the warden of a directory is kept. The caller holds mu.
func (m *cgroup2) wardensOf(dir string) *wardens {
	ws := m.wardens[dir]
	if ws == nil {
		ws = &wardens{}
		m.wardens[dir] = ws
	}
	return ws
}

// release removes a base with its last group. After an error the group is still counted.
func (m *cgroup2) release(b *base, deadline time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.releaseLocked(b, deadline)
}

func (m *cgroup2) releaseLocked(b *base, deadline time.Time) error {
	if b.groups == 1 {
		if err := removeCgroup(unix.AT_FDCWD, b.path, deadline); err != nil {
			return err
		}
		delete(m.bases, b.dir)
		m.wardensOf(b.dir).unused()
	}
	b.groups--
	return nil
}

// baseName names a base after its owner, so that another process can tell whether it still lives.
func baseName() string {
	var salt [4]byte
	_, _ = rand.Read(salt[:])
	return self().String() + "-" + hex.EncodeToString(salt[:])
}

// cgroup2Place is the cgroup of one group.
type cgroup2Place struct {
	mechanism *cgroup2
	base      *base
	path      string
	caps      *groupCaps // nil without caps
	wardens   *wardens   // of the base's directory
	warden    *warden
	serial    atomic.Int64 // of the last leaf
	doomed    atomic.Bool

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
		// We were moved to another cgroup since the probe, one with another level; or someone else killed the child.
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
	return t, confine(t.leader, spec)
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

// leaf makes the cgroup for one start.
func (p *cgroup2Place) leaf() (*cgroup2Tree, error) {
	p.mechanism.mu.Lock()
	level := p.mechanism.look().level
	p.mechanism.mu.Unlock()

	t := &cgroup2Tree{path: p.path + "/leaf-" + strconv.FormatInt(p.serial.Add(1), 10), dir: -1}
	err := unix.Mkdir(t.path, 0o755)
	if err != nil {
		return nil, err
	}
	t.dir, err = openat(unix.AT_FDCWD, t.path, unix.O_RDONLY|unix.O_DIRECTORY)
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
	if err := p.removeCaps(deadline); err != nil {
		return err
	}
	// A member that may write here can have climbed from its leaf into the group's own cgroup. It dies with the group.
	if errors.Is(unix.Rmdir(p.path), unix.EBUSY) {
		p.doom()
	}
	if err := removeCgroup(unix.AT_FDCWD, p.path, deadline); err != nil {
		return err
	}
	return p.mechanism.release(p.base, deadline)
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

func (p *cgroup2Place) evidence() Evidence {
	if p.caps == nil {
		return Evidence{}
	}
	return p.caps.evidence()
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
