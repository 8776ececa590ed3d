package contain

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

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
	text, err := readSmall(m.membership)
	if err != nil {
		return nil, err
	}
	own, err := parseSelfCgroup(text)
	if err != nil {
		return nil, err
	}
	return m.under(own)
}

// under are the directories at which a cgroup is to be seen, the newest mount first.
func (m *cgroup2) under(path string) ([]string, error) {
	text, err := readSmall(m.mountinfo)
	if err != nil {
		return nil, err
	}
	var dirs []string
	mounts := parseMountinfo(text)
	if len(mounts) == 0 {
		return nil, errNoCgroup2
	}
	for i := len(mounts) - 1; i >= 0; i-- {
		if dir, ok := mounts[i].under(path); ok {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

// find is the first of them that is there.
func (m *cgroup2) find(path string) (dir string, ok bool) {
	dirs, _ := m.under(path) // none is none
	for _, dir := range dirs {
		if (kernelFS{}).IsCgroup2(dir) {
			return dir, true
		}
	}
	return "", false
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
