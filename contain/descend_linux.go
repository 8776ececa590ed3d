package contain

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// hasChildren is whether this kernel lists the children of a thread (CONFIG_PROC_CHILDREN).
var hasChildren = sync.OnceValue(func() bool {
	return unix.Access("/proc/thread-self/children", unix.R_OK) == nil
})

// descendants lists the processes below root, zombies included, as they were while it looked: one that was born
// meanwhile may be missing.
func descendants(root int) ([]process, error) {
	if !hasChildren() {
		return descendantsByParent(root)
	}
	var list []process
	seen := map[int]bool{root: true}
	for next := []int{root}; len(next) > 0; next = next[1:] {
		for _, pid := range childrenOf(next[0]) {
			if seen[pid] {
				continue // it has another parent by now
			}
			seen[pid] = true
			if p, err := readProcess(pid); err == nil {
				list = append(list, p)
				next = append(next, pid)
			}
		}
	}
	return list, nil
}

// childrenOf lists the children of all threads of a process. A process that is gone has none.
func childrenOf(pid int) (pids []int) {
	tasks := "/proc/" + strconv.Itoa(pid) + "/task"
	dir, err := os.Open(tasks)
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	threads, _ := dir.Readdirnames(-1)
	for _, thread := range threads {
		if text, err := readSmall(tasks + "/" + thread + "/children"); err == nil {
			pids = appendPIDs(pids, text)
		}
	}
	return pids
}

// appendPIDs reads a list of process ids, such as a cgroup.procs file.
func appendPIDs(pids []int, text []byte) []int {
	for word := range bytes.FieldsSeq(text) {
		if pid, err := strconv.Atoi(string(word)); err == nil && pid >= 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// descendantsByParent reads the whole process table, and who is whose parent from it.
func descendantsByParent(root int) ([]process, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	children := map[int][]process{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
	}
	var list []process
	seen := map[int]bool{root: true}
	for next := []int{root}; len(next) > 0; next = next[1:] {
		for _, p := range children[next[0]] {
			if !seen[p.pid] {
				seen[p.pid] = true
				list = append(list, p)
				next = append(next, p.pid)
			}
		}
	}
	return list, nil
}

// processes is the whole process table.
func processes() ([]process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, bare(err)
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, bare(err)
	}
	var list []process
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, err := readProcess(pid); err == nil {
				list = append(list, p)
			}
		}
	}
	return list, nil
}

// signalDescendants sends sig to everyone below root who is alive.
func signalDescendants(root int, sig syscall.Signal) (sum tally, err error) {
	list, err := descendants(root)
	if err != nil {
		return sum, err
	}
	slices.Reverse(list) // the youngest first: what is forked meanwhile has a dead parent, and moves up to where we look next
	for _, p := range list {
		if m := p.member(); m.Alive() {
			sum.count(m, p.signal(sig))
		}
	}
	return sum, nil
}

// signal sends sig to this process and to no later one with the same id, which would have begun at another time.
func (p process) signal(sig syscall.Signal) error {
	return signalThat(p.pid, sig, func() bool {
		now, err := readProcess(p.pid)
		return err == nil && now.start == p.start
	})
}

// signalThat sends sig to the process that has the id pid, if it is the one meant, which is asked when the id cannot
// become another's any more.
func signalThat(pid int, sig syscall.Signal, meant func() bool) error {
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case err == nil:
		defer func() { _ = unix.Close(fd) }()
		if !meant() {
			return os.ErrProcessDone
		}
		err = ignoringEINTR(func() error { return unix.PidfdSendSignal(fd, sig, nil, 0) })
	case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM):
		// No pidfd here. What is left is to look who has the id, immediately before using it.
		if !meant() {
			return os.ErrProcessDone
		}
		err = unix.Kill(pid, sig)
	case errors.Is(err, unix.EINVAL):
		return os.ErrProcessDone // not the leader of a thread group, so not a process any more
	}
	if errors.Is(err, unix.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
