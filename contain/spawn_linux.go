package contain

import (
	"context"
	"syscall"

	"golang.org/x/sys/unix"
)

// spawn starts spec with attr and watches it.
func spawn(ctx context.Context, spec Spec, attr *syscall.SysProcAttr) (*leader, error) {
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
