//go:build unix

package contain

import (
	"context"
	"syscall"

	"golang.org/x/sys/unix"
)

func detach(ctx context.Context, spec Spec) (Member, error) {
	pid, err := fork(ctx, spec, &syscall.SysProcAttr{Setsid: true})
	if err != nil {
		return Member{}, err
	}
	m := detachedMember(pid) // before it can be reaped
	go func() {
		for {
			if _, err := unix.Wait4(pid, nil, 0, nil); err != unix.EINTR {
				return
			}
		}
	}()
	return m, nil
}
