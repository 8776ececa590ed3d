package contain

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// kernelThread is the kernel's PF_KTHREAD.
const kernelThread = 0x00200000

// candidate finds the process that is to be adopted, and pins it.
func candidate(pid int, start uint64) (p process, l *keptLeader, err error) {
	l, refused := pin(pid)
	if refused == nil {
		if p, refused = inspect(l, start); refused != nil {
			l.close()
		}
	}
	if refused != nil {
		refused.PID = pid
		return p, nil, refused
	}
	go l.orphaned()
	return p, l, nil
}

func pin(pid int) (*keptLeader, *AdoptError) {
	switch {
	case pid <= 0:
		return nil, &AdoptError{Reason: AdoptNoProcess}
	case pid == 1:
		return nil, &AdoptError{Reason: AdoptSystem}
	case pid == os.Getpid():
		return nil, &AdoptError{Reason: AdoptSelf}
	}
	pidfd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	switch {
	case errors.Is(err, unix.ESRCH):
		return nil, &AdoptError{Reason: AdoptEnded, Err: os.ErrProcessDone}
	case errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT):
		return nil, &AdoptError{Reason: AdoptNoProcess, Err: err} // a thread
	case err != nil:
		return nil, &AdoptError{Reason: AdoptRefused, Err: err}
	}
	return &keptLeader{number: pid, pidfd: os.NewFile(uintptr(pidfd), "pidfd"), ended: make(chan struct{})}, nil
}

// inspect looks a process up that is pinned: if it is alive afterwards, it is the one that was seen.
func inspect(l *keptLeader, start uint64) (process, *AdoptError) {
	p, err := readProcess(l.number)
	switch {
	case err == nil && start != 0 && p.start != start:
		return p, &AdoptError{Reason: AdoptRecycled}
	case errors.Is(err, os.ErrProcessDone) || l.dead():
		return p, &AdoptError{Reason: AdoptEnded, Err: os.ErrProcessDone}
	case err != nil:
		return p, &AdoptError{Reason: AdoptRefused, Err: bare(err)}
	case p.flags&kernelThread != 0:
		return p, &AdoptError{Reason: AdoptSystem}
	}
	above := ancestors(os.Getpid())
	if slices.Contains(above, p.pid) {
		return p, &AdoptError{Reason: AdoptAncestor}
	}
	if held(p, above) {
		return p, &AdoptError{Reason: AdoptHeld}
	}
	switch err := l.signal(0); {
	case errors.Is(err, os.ErrProcessDone):
		return p, &AdoptError{Reason: AdoptEnded, Err: err}
	case err != nil:
		return p, &AdoptError{Reason: AdoptRefused, Err: bare(err)}
	}
	return p, nil
}

// ancestors are the processes above one, as far as they are to be seen.
func ancestors(pid int) (above []int) {
	for p, err := readProcess(pid); err == nil && p.parent > 0 && !slices.Contains(above, p.parent); p, err = readProcess(p.parent) {
		above = append(above, p.parent)
	}
	return above
}

// held reports whether a process is a member of a group, of ours or of another program's, or one of the helpers that hold
// groups: below our own ancestors, and below our own cgroup, there is a helper above it, or the cgroup of a group.
func held(p process, above []int) bool {
	for q, err := p, error(nil); err == nil && q.pid != os.Getpid() && !slices.Contains(above, q.pid); q, err = readProcess(q.parent) {
		if q.name == helperName {
			return true
		}
	}
	own, err1 := cgroupPathOf("self")
	its, err2 := cgroupPathOf(strconv.Itoa(p.pid))
	if err1 != nil || err2 != nil || its == own {
		return false // there are no cgroups to be held in; or what holds it holds us, too
	}
	for name := range strings.SplitSeq(strings.TrimPrefix(its, strings.TrimSuffix(own, "/")+"/"), "/") {
		if _, is := parseBase(name); is {
			return true
		}
	}
	return false
}

// cgroupPathOf is the cgroup v2 that a process is in, as /proc tells it.
func cgroupPathOf(pid string) (string, error) {
	text, err := readSmall("/proc/" + pid + "/cgroup")
	if err != nil {
		return "", err
	}
	return parseSelfCgroup(text)
}

// What holds of a process that is only followed: nothing of all there is.
const (
	everything  = ^Guarantee(0)
	followsOnly = "a process that exists can only be followed"
)

func (p *keptPlace) adopts() (Guarantee, string) {
	if p.leaves == nil {
		return everything, followsOnly
	}
	lacks := ResistSameUID
	if p.leaves.warden.await() != nil {
		lacks |= KillOnOwnerDeath
	}
	return lacks, "nobody can be brought into a pid namespace"
}

func (p *keptPlace) adopt(pid int, start uint64) (tree, error) {
	if p.leaves == nil {
		return follow(pid, start)
	}
	return p.leaves.adopt(pid, start)
}

func (processGroupPlace) adopts() (Guarantee, string) { return everything, followsOnly }

func (processGroupPlace) adopt(pid int, start uint64) (tree, error) { return follow(pid, start) }
