package runner

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipe makes a pipe whose read or write end is ours: only ours is non-blocking, and in the runtime's poller. The other
// end is the child's, where O_NONBLOCK would make a plain write fail.
func pipe(read bool) (ours, childs *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, err
	}
	mine, other := fds[1], fds[0]
	if read {
		mine, other = fds[0], fds[1]
	}
	if err := unix.SetNonblock(mine, true); err != nil {
		_ = unix.Close(mine)
		_ = unix.Close(other)
		return nil, nil, err
	}
	return os.NewFile(uintptr(mine), "pipe"), os.NewFile(uintptr(other), "pipe"), nil
}

// childPipe makes a pipe whose ends are both for children.
func childPipe() (r, w *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "pipe"), os.NewFile(uintptr(fds[1]), "pipe"), nil
}

// bigPipe is what a busy pipe is enlarged to, in bytes: the most that an unprivileged process may ask for by default.
const bigPipe = 1 << 20

// enlarge lets a pipe that was found full hold more, so that writer and reader wake each other less often. Quiet pipes
// stay small: what all pipes of a user hold is bounded (fs.pipe-user-pages-soft).
func enlarge(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, bigPipe) }

// fionread asks how many bytes wait in a pipe.
const fionread = unix.TIOCINQ
