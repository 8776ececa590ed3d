package contain

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cgroup2Tree is one leaf and who is in it and below it.
type cgroup2Tree struct {
	path   string
	leader *leader // nil in a tree that a dead owner has left

	// mu guards dir, for moments: everything done with it is quick.
	mu  sync.Mutex
	dir int // the leaf's descriptor, -1 when it is closed
	cpu *time.Duration
}

// listDepth is how deep nested cgroups are listed. Deeper members are killed like all, and count for empty.
const listDepth = 64

func (t *cgroup2Tree) first() firstProcess { return t.leader }

// withDir calls f with the leaf's descriptor, or returns [os.ErrProcessDone] if the leaf is removed.
func (t *cgroup2Tree) withDir(f func(dir int) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dir < 0 {
		return os.ErrProcessDone
	}
	return f(t.dir)
}

func (t *cgroup2Tree) strike() error {
	err := t.withDir(cgroupKill)
	if errors.Is(err, os.ErrProcessDone) || isGone(err) {
		return nil
	}
	return err
}

func (t *cgroup2Tree) empty() (empty bool, err error) {
	err = t.withDir(func(dir int) error {
		populated, err := cgroupPopulated(dir)
		empty = err == nil && !populated
		return err
	})
	if errors.Is(err, os.ErrProcessDone) {
		return true, nil
	}
	return empty, err
}

func (t *cgroup2Tree) freeze(on bool) error {
	err := t.withDir(func(dir int) error {
		if on {
			return writeAt(dir, "cgroup.freeze", "1")
		}
		return writeAt(dir, "cgroup.freeze", "0")
	})
	if errors.Is(err, os.ErrProcessDone) || isGone(err) {
		return nil
	}
	return err
}

// stands reports whether every member is frozen. A member on its way into an uninterruptible sleep is not, until it
// wakes.
func (t *cgroup2Tree) stands() (frozen bool, err error) {
	if empty, err := t.empty(); empty || err != nil {
		return empty, err
	}
	err = t.withDir(func(dir int) error {
		frozen, err = cgroupEvent(dir, "frozen")
		return err
	})
	if errors.Is(err, os.ErrProcessDone) {
		return true, nil
	}
	return frozen, err
}

func (t *cgroup2Tree) pids() (pids []int, err error) {
	err = t.withDir(func(dir int) error {
		pids, err = cgroupPIDs(dir, nil, listDepth)
		return err
	})
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	return pids, err
}

func (t *cgroup2Tree) members() ([]Member, error) {
	pids, err := t.pids()
	if err != nil {
		return nil, bare(err)
	}
	if t.leader != nil {
		// A cgroup does not list zombies. The first process is one until its tree is closed.
		_ = t.leader.pinned(func(pid int) error {
			if !slices.Contains(pids, pid) {
				pids = append(pids, pid)
			}
			return nil
		})
	}
	members := make([]Member, 0, len(pids))
	for _, pid := range pids {
		if pid == 0 {
			members = append(members, Member{}) // alive, and not to be seen from our pid namespace
			continue
		}
		if m := lookMember(pid); m.State != 'X' {
			members = append(members, m)
		}
	}
	return members, nil
}

// signal goes by identity: a pidfd is opened for a listed id, and used only if a process of that id is in the tree
// afterwards too. If the id was recycled in between, the pidfd is that of the dead member, and reaches nobody; or it is
// that of a stranger, who is not in the tree.
func (t *cgroup2Tree) signal(sig syscall.Signal) (sum tally, err error) {
	pids, err := t.pids()
	if err != nil {
		return sum, err
	}
	for _, pid := range pids {
		if pid == 0 {
			sum.count(Member{}, errUnseen)
			continue
		}
		if err := t.signalMember(pid, sig); err == nil {
			sum.count(Member{}, nil)
		} else {
			sum.count(lookMember(pid), err)
		}
	}
	return sum, nil
}

// errUnseen: a member of the cgroup lives in a pid namespace that is not below ours.
var errUnseen = errors.New("it is not to be seen from our pid namespace")

func (t *cgroup2Tree) signalMember(pid int, sig syscall.Signal) error {
	return signalThat(pid, sig, func() bool { return t.holds(pid) })
}

// holds reports whether the process pid is in the leaf or below it.
func (t *cgroup2Tree) holds(pid int) bool {
	text, err := readSmall("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return false
	}
	path, err := parseSelfCgroup(text)
	if err != nil {
		return false
	}
	// The names of the base, the group and the leaf together are unique on the host.
	names := strings.Split(t.path, "/")
	return strings.Contains(path+"/", "/"+strings.Join(names[len(names)-3:], "/")+"/")
}

func (t *cgroup2Tree) end(deadline time.Time) error {
	if err := drain(t, deadline); err != nil {
		return err
	}
	// Its tree is empty, so it is dead, or a moment away from being waited for.
	if err := t.leader.reap(deadline); err != nil {
		return &DrainError{Err: err}
	}
	return t.remove(deadline)
}

// remove removes the leaf, and what members have made below it.
func (t *cgroup2Tree) remove(deadline time.Time) error {
	t.measure()
	if err := removeCgroup(unix.AT_FDCWD, t.path, deadline); err != nil {
		return err
	}
	t.release()
	return nil
}

func (t *cgroup2Tree) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dir >= 0 {
		_ = unix.Close(t.dir)
		t.dir = -1
	}
}

// measure reads the leaf's counter, as long as it is there.
func (t *cgroup2Tree) measure() *time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dir >= 0 {
		if used := cpuUsed(t.dir); used != nil {
			t.cpu = used
		}
	}
	return clonePtr(t.cpu)
}

func (t *cgroup2Tree) stats() Stats { return Stats{CPU: t.measure()} }
