package contain

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// kept is a mechanism that holds trees below keepers.
type kept struct {
	// look says whether the mechanism is to be had.
	look func() Rung
	// shields is whether children that gain no privileges are kept from signalling the keeper.
	shields bool
	// users is whether each tree has a user of its own.
	users bool
	// begin starts a keeper.
	begin func(program string) (*keeper, error)

	mu     sync.Mutex
	probed *Rung
	// counts is set when the kernel was seen to refuse a process to a tree that had its share.
	counts bool
	pools  map[string]*keepers // by program
}

// pool is where the keepers of a program are.
func (m *kept) pool(program string) *keepers {
	m.mu.Lock()
	defer m.mu.Unlock()
	ks := m.pools[program]
	if ks == nil {
		if m.pools == nil {
			m.pools = map[string]*keepers{}
		}
		ks = newKeepers(m.begin, program)
		m.pools[program] = ks
	}
	return ks
}

func (m *kept) probe() Rung {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.probed != nil {
		return *m.probed
	}
	r := m.look()
	r.Available = r.Reason == ""
	if !exhausted(r.Err) {
		m.probed = &r
	}
	return r
}

func (m *kept) forgetProbe() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.probed = nil
}

// open sees a keeper at work before it promises anything. The group's first start will have it.
func (m *kept) open(opts Options) (place, error) {
	others := opts.Limits
	if m.probe().Guarantees.Has(CapProcesses) {
		others.Processes = 0
	}
	if refused := others.unenforceable("a keeper caps nothing of that without a cgroup"); refused != nil {
		return nil, refused
	}
	if opts.Parent != "" {
		return nil, errors.New("it is not held by a cgroup")
	}
	pool := m.pool(opts.Keeper)
	k, err := pool.get(context.Background())
	if err != nil {
		m.forgetProbe()
		return nil, err
	}
	pool.put(k)
	p := &keptPlace{mechanism: m, keepers: pool}
	if opts.Limits.Processes == 0 {
		return p, nil
	}
	if err := m.proveCount(pool); err != nil {
		return nil, err
	}
	p.budget = &taskBudget{most: opts.Limits.Processes}
	return p, nil
}

// proveCount sees the kernel enforce a cap on processes without a cgroup, once.
func (m *kept) proveCount(pool *keepers) error {
	m.mu.Lock()
	known := m.counts
	m.mu.Unlock()
	if known {
		return nil
	}
	if err := (&keptPlace{mechanism: m, keepers: pool, budget: &taskBudget{most: proofTasks}}).proveCount(); err != nil {
		e := Limits{Processes: 1}.unenforceable("a tree cannot be counted by a user namespace of its own: " + bare(err).Error())
		e.Reason, e.Err = LimitKernelTooOld, bare(err)
		if bare(err) != errUncounted {
			e.Reason = LimitFailed
		}
		return e
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts = true
	return nil
}

// newSubreaper holds each tree below a keeper that is a subreaper: every orphan of the tree comes to it, whatever
// session or group it is in. Everybody may have one. The kill looks for the members one by one, again and again until
// nobody is left; a fork bomb may outrun it.
func newSubreaper() *kept {
	return &kept{
		shields: true,
		begin: func(program string) (*keeper, error) {
			return startKeeper(program, roleKeeper, 0, false)
		},
		look: func() Rung {
			r := helperRung()
			r.Mechanism, r.Guarantees = Subreaper, KillTree|KillOnOwnerDeath
			return r
		},
	}
}

// helperRung says what keeps this host from having helpers.
func helperRung() Rung {
	fd, err := unix.PidfdOpen(unix.Getpid(), 0)
	if err != nil {
		return Rung{Reason: "the kernel has no pidfds for us: " + bare(err).Error(), Err: bare(err), Remedy: "allow pidfd_open in the seccomp profile (Linux 5.3)"}
	}
	_ = unix.Close(fd)
	if err := unix.Access("/proc/self/exe", unix.X_OK); err != nil {
		return Rung{Reason: "this program cannot execute itself through /proc: " + bare(err).Error(), Err: bare(err), Remedy: "mount /proc"}
	}
	return Rung{}
}
