//go:build unix

package runner

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// prefill writes what fits into the empty pipe, and returns how much that is. Our end is non-blocking.
func prefill(pipe *os.File, b []byte) (written int) {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return 0
	}
	_ = conn.Control(func(fd uintptr) {
		for written < len(b) {
			n, err := unix.Write(int(fd), b[written:])
			if err == unix.EINTR {
				continue
			}
			if err != nil || n <= 0 {
				return
			}
			written += n
		}
	})
	return written
}

// brokenPipeCode knows what a terminal says whose other end is closed.
func brokenPipeCode(err error) bool { return errors.Is(err, unix.EIO) }
