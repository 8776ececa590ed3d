package contain

import (
	"context"
	"syscall"

	"golang.org/x/sys/unix"
)

// spawn starts spec with attr and watches it. gate leads to where the child is to be born, nil if that is where we are.
func spawn(ctx context.Context, spec Spec, attr *syscall.SysProcAttr, gate *gate) (l *leader, err error) {
	start := func() (err error) {
		l, err = spawnHere(ctx, spec, attr)
		return err
	}
	if gate == nil && !spec.NoNewPrivileges {
		err = start()
		return l, err
	}
	onThread(func() (clean bool) {
		clean = true
		if spec.NoNewPrivileges {
			// The thread has it from now on, and so has whatever it starts: for good, so the thread ends.
			clean = false
			if err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
				err = &StartError{Step: StepConfine, Err: err}
				return clean
			}
		}
		if gate == nil {
			err = start()
			return clean
		}
		home := false
		home, err = gate.through(start)
		return clean && home
	})
	return l, err
}

func spawnHere(ctx context.Context, spec Spec, attr *syscall.SysProcAttr) (*leader, error) {
	spec.inSession(attr)
	if spec.NoCoreDumps {
		if err := coreless.enter(); err != nil {
			return nil, &StartError{Step: StepConfine, Err: err}
		}
		defer coreless.leave()
	}
	pidfd := -1
	attr.PidFD = &pidfd
	pid, err := fork(ctx, spec, attr)
	if err != nil {
		return nil, err
	}
	return watchLeader(pid, pidfd), nil
}

// bootTicks is the time since boot in the unit of [Member.Start].
func bootTicks() uint64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0
	}
	// The kernel shows start times in USER_HZ, which is 100 on everything that Go runs on.
	return uint64(now.Nano() / 1e7)
}
