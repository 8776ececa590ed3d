//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package contain

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// processGroup is the floor: every unix has it, it promises nothing, and it still ends every child that does not mean
// to leave.
type processGroup struct{}

func (processGroup) probe() Rung { return Rung{Mechanism: ProcessGroup, Available: true} }

func (processGroup) open(opts Options) (place, error) {
	if refused := opts.Limits.unenforceable("a process group caps nothing"); refused != nil {
		return nil, refused
	}
	if opts.Parent != "" {
		return nil, errors.New("it is not held by a cgroup")
	}
	return processGroupPlace{}, nil
}

type processGroupPlace struct{}

func (processGroupPlace) start(ctx context.Context, spec Spec) (tree, error) {
	l, err := spawn(ctx, spec, &syscall.SysProcAttr{Setpgid: true}, nil)
	if err != nil {
		return nil, err
	}
	err = confine(l, spec)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return &processGroupTree{leader: l}, err
}

func (processGroupPlace) doom() {}

func (processGroupPlace) remove(time.Time) error { return nil }

type processGroupTree struct {
	leader *leader
	// struck is when, by [bootTicks], the group was last killed before its leader was reaped: a process that began later
	// cannot be a member, because no member lived on to fork it. 0 until the leader is reaped.
	struck atomic.Uint64
}

func (t *processGroupTree) first() firstProcess { return t.leader }

// strike kills the group while its first process, dead or alive, keeps the number from being anybody else's. Killing
// after reaping is how Bazel hits strangers (bazelbuild/bazel 11910).
func (t *processGroupTree) strike() error { return t.send(syscall.SIGKILL) }

// signal is one system call for all, which does not tell how many there were, takes zombies for members, and refuses only
// if nobody may be signalled.
func (t *processGroupTree) signal(sig syscall.Signal) (sum tally, err error) {
	if empty, err := t.empty(); empty || err != nil {
		return sum, err
	}
	err = t.send(sig)
	if err == nil {
		sum.sent = -1
	}
	return sum, err
}

func (t *processGroupTree) send(sig syscall.Signal) error {
	err := t.leader.pinned(func(pid int) error { return syscall.Kill(-pid, sig) })
	if errors.Is(err, syscall.ESRCH) || errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

func (t *processGroupTree) empty() (bool, error) {
	if _, over := t.leader.poll(); !over {
		return false, nil
	}
	members, err := t.members()
	return err == nil && len(alive(members)) == 0, err
}

func (t *processGroupTree) members() ([]Member, error) {
	members, err := groupMembers(t.leader.pid)
	struck := t.struck.Load()
	if err != nil || struck == 0 {
		return members, err
	}
	ours := members[:0]
	for _, m := range members {
		if m.Start <= struck && m.PID != t.leader.pid {
			ours = append(ours, m)
		}
	}
	return ours, nil
}

// end makes the usual case cheap: once the first process is reaped, a group that nobody is in does not exist, and one
// system call tells so. Only if it exists, be it by a zombie that its new parent has not reaped yet, the process table
// is walked.
func (t *processGroupTree) end(deadline time.Time) error {
	if t.struck.Load() == 0 {
		if err := t.strike(); err != nil && !errors.Is(err, syscall.EPERM) {
			// EPERM: no member that we may signal is left. On some systems a group of zombies says so too.
			return err
		}
		struck := bootTicks() // not before the kill: who was born until then is a member
		if err := t.leader.reap(deadline); err != nil {
			return drain(t, deadline)
		}
		t.struck.Store(struck)
	}
	if errors.Is(syscall.Kill(-t.leader.pid, 0), syscall.ESRCH) {
		return nil
	}
	return drain(t, deadline)
}
