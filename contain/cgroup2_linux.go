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
//	our own cgroup/
//	  boombox-PIDNS-PID-START-RANDOM/   one for this process while it has groups (the base)
//	    group-1/                        one for each group
//	      leaf-1/                       one for each start, never used again
//
// A leaf is used once because a cgroup that was killed kills whatever is cloned into it afterwards, while the start
// reports success: the kernel compares how often the spawner's own cgroup was killed with how often the target was.
// Hence level, too.
type cgroup2 struct {
	mountinfo, membership string // the files to read, and in specs others

	mu     sync.Mutex
	probed *cgroup2Probe
	base   string // the path of the base, "" when there is none
	groups int    // that are open in the base
	serial int    // of the last group
	swept  bool

	wardens wardens
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
	return &cgroup2{mountinfo: mountinfo, membership: membership}
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
	p.rung.Guarantees = KillTree | KillForkBomb | KillOnOwnerDeath
	p.rung.Available = p.rung.Reason == ""
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

// open makes a group, and the base for the first one. A warden comes with the first group: it is waited for if the
// group is to die with us, and starts in the background otherwise.
func (m *cgroup2) open(require Guarantee) (place, error) {
	p, err := m.newPlace()
	if err != nil {
		return nil, err
	}
	p.warden = m.wardens.watch(filepath.Dir(filepath.Dir(p.path)))
	if require.Has(KillOnOwnerDeath) {
		if err := p.warden.await(); err != nil {
			err = fmt.Errorf("no warden can watch over it: %w", err)
			return nil, also(err, p.remove(time.Now().Add(removeBound)))
		}
	}
	return p, nil
}

func (m *cgroup2) newPlace() (*cgroup2Place, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.look()
	if !p.rung.Available {
		return nil, errors.New(p.rung.Reason)
	}
	if !m.swept {
		m.swept = true
		sweep(p.dir, owner.dead)
	}
	m.serial++
	name := "group-" + strconv.Itoa(m.serial)
	for again := true; ; again = false {
		err := m.makeGroup(p.dir, name)
		if err == nil {
			m.groups++
			return &cgroup2Place{mechanism: m, path: filepath.Join(m.base, name)}, nil
		}
		// ENOENT: somebody has removed the base from under us.
		if !again || m.groups > 0 || !isGone(err) {
			m.probed = nil
			return nil, bare(err)
		}
		m.base = ""
	}
}

func (m *cgroup2) makeGroup(dir, name string) error {
	if m.base == "" {
		base := filepath.Join(dir, baseName())
		if err := os.Mkdir(base, 0o755); err != nil {
			return err
		}
		m.base = base
	}
	return os.Mkdir(filepath.Join(m.base, name), 0o755)
}

// release removes the base with its last group. After an error the group is still counted.
func (m *cgroup2) release(deadline time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.groups == 1 {
		if err := removeCgroup(unix.AT_FDCWD, m.base, deadline); err != nil {
			return err
		}
		m.base = ""
		m.wardens.unused()
	}
	m.groups--
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
	path      string
	warden    *warden
	serial    atomic.Int64 // of the last leaf
	doomed    atomic.Bool
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
	t.leader, err = spawn(ctx, spec, &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: t.dir, Setpgid: true})
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
	return t, nil
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
	if err := removeCgroup(unix.AT_FDCWD, p.path, deadline); err != nil {
		return err
	}
	return p.mechanism.release(deadline)
}
