//go:build dragonfly || freebsd || netbsd || openbsd

package contain

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const noteExit = unix.NOTE_EXIT

// peekExit has no way here to tell how a zombie has ended without reaping it.
func peekExit(int) (syscall.WaitStatus, error) { return 0, syscall.ENOTSUP }

// groupMembers cannot list a process group here.
func groupMembers(int) ([]Member, error) { return nil, nil }
