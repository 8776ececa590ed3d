package contain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const namespaceGives = KillTree | KillForkBomb | KillOnOwnerDeath | ResistSameUID

// newPIDNamespace holds each tree in a pid namespace of its own, whose first process is a keeper. Nobody can leave a pid
// namespace; its members see no process outside, nor can they signal one; the keeper, as its first process, is out of
// reach of their signals; and when the keeper dies, the kernel kills them all.
//
// Root makes the namespace as it is. Others make it within a user namespace, in which there is one user, they
// themselves.
func newPIDNamespace() *kept {
	var unprivileged atomic.Bool
	return &kept{
		look: func() Rung {
			r := helperRung()
			if r.Reason == "" {
				var user bool
				user, r = lookForNamespaces()
				unprivileged.Store(user)
			}
			r.Mechanism, r.Guarantees = PIDNamespace, namespaceGives
			if unprivileged.Load() && os.Geteuid() != 0 {
				r.Guarantees |= CapProcesses
			}
			return r
		},
		begin: func(program string) (*keeper, error) {
			if unprivileged.Load() {
				return startKeeper(program, roleRelay, 0, true)
			}
			return startKeeper(program, roleKeeper, unix.CLONE_NEWPID, true)
		},
	}
}

// lookForNamespaces tries to clone into new namespaces, with nothing to execute there.
func lookForNamespaces() (user bool, refused Rung) {
	err := tryNamespace(&syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID})
	if err == nil {
		return false, Rung{}
	}
	// Without mappings first: when the clone is refused, Go forgets the pipe that it has opened for them.
	userErr := tryNamespace(&syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWPID})
	if userErr == nil {
		userErr = tryNamespace(userNamespace(0))
	}
	if userErr == nil {
		return true, Rung{}
	}
	r := Rung{
		Reason: fmt.Sprintf("no pid namespace can be made (%v), and no user namespace to make one in (%v)", bare(err), bare(userErr)),
		Err:    bare(userErr),
	}
	switch bare(userErr) {
	case unix.ENOSPC:
		r.Remedy = "raise the sysctl user.max_user_namespaces, or give the program CAP_SYS_ADMIN"
	case unix.EPERM, unix.EACCES:
		r.Remedy = "allow user namespaces to users (sysctl kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns, " +
			"the container's seccomp profile), or give the program CAP_SYS_ADMIN"
	}
	return false, r
}

// userNamespace is how a child gets a pid namespace within a user namespace that has our user and group and no others.
func userNamespace(more uintptr) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWPID | more,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}},
	}
}

// tryNamespace clones a child that has nothing to execute: that an empty path does not exist is told by the child.
func tryNamespace(attr *syscall.SysProcAttr) error {
	pidfd := -1
	attr.PidFD = &pidfd
	pid, _, err := syscall.StartProcess("", []string{""}, &syscall.ProcAttr{Sys: attr})
	if errors.Is(err, syscall.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(errBornDead, watchLeader(pid, pidfd).reap(time.Now().Add(removeBound)))
}

// serveRelay makes a keeper in a user namespace, and ends. To clone into a user namespace copies the page tables of the
// cloning process, and the relay has few. The keeper is its sibling, and so its owner's child.
func (h *helperProcess) serveRelay() {
	attr := userNamespace(unix.CLONE_PARENT)
	attr.Setsid = true
	_, _, err := syscall.StartProcess(ourselves, []string{helperName, roleKeeper, "1"}, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2, helperSocket, helperOwner, keeperOrders}, Sys: attr,
	})
	if err != nil {
		_ = h.ready(bare(err), -1)
	}
}

// adopted is the keeper that the helper, a relay, has made.
func (h *helper) adopted(sent []int) error {
	if len(sent) != 1 {
		closeAll(sent)
		return errMalformed
	}
	pid, err := pidOf(sent[0])
	if err == nil && pid <= 0 {
		err = os.ErrProcessDone
	}
	if err != nil {
		closeAll(sent)
		return err
	}
	relay := h.process
	h.process = newLeader(pid, sent[0])
	go relay.watch()
	return relay.reap(time.Now().Add(readyBound))
}

// leafNamespace is a pid namespace and a cgroup at once: the keeper, outside of the cgroup, clones the first process
// into the leaf.
type leafNamespace struct {
	cgroups    *cgroup2
	namespaces *kept

	mu     sync.Mutex
	proven bool // a keeper can clone into a leaf
}

func (m *leafNamespace) probe() Rung {
	r := m.cgroups.probe()
	if r.Available {
		r = m.namespaces.probe()
	}
	r.Mechanism, r.Guarantees, r.Refused = Cgroup2PIDNamespace, namespaceGives, nil
	if r.Available {
		var caps Guarantee
		caps, r.Refused = m.cgroups.capsForOthers()
		r.Guarantees |= caps
	}
	return r
}

func (m *leafNamespace) open(opts Options) (place, error) {
	if err := m.cgroups.refuseOthers(opts.Limits); err != nil {
		return nil, err
	}
	opened, err := m.namespaces.open(Options{Require: opts.Require, Keeper: opts.Keeper})
	if err != nil {
		return nil, err
	}
	// The namespace ends with its owner. The warden only removes the cgroup then, and is not waited for.
	opts.Require &^= KillOnOwnerDeath
	leaves, err := m.cgroups.open(opts)
	if err != nil {
		return nil, err
	}
	p := opened.(*keptPlace)
	p.leaves = leaves.(*cgroup2Place)
	if err := m.prove(p); err != nil {
		return nil, also(err, p.remove(time.Now().Add(removeBound)))
	}
	return p, nil
}

// prove starts nothing in a leaf, once.
func (m *leafNamespace) prove(p *keptPlace) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proven {
		return nil
	}
	if _, err := p.start(context.Background(), Spec{Argv: Seal("")}); !errors.Is(err, syscall.ENOENT) {
		return fmt.Errorf("its first process cannot be cloned into a cgroup: %w", bare(err))
	}
	m.proven = true
	return nil
}
