//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package cassette

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// fileLock is an flock on a file of its own, which is removed when the lock is given up. After a crash the file stays
// and the lock does not: the next holder takes the file over.
type fileLock struct{ f *os.File }

func lockFile(path string) (*fileLock, error) {
	// Whoever removes the file can do so between our opening and locking it; then there is another one to lock.
	for range 100 {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			holder := readHolder(f)
			_ = f.Close()
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil, &LockedError{Holder: holder}
			}
			return nil, err
		}
		ours, err := f.Stat()
		if err != nil {
			_ = f.Close()
			return nil, err
		}
		if there, err := os.Lstat(path); err != nil || !os.SameFile(ours, there) {
			_ = f.Close()
			continue
		}
		// Who holds the lock is a help for messages, and no part of it.
		if f.Truncate(0) == nil {
			_, _ = f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
		}
		return &fileLock{f}, nil
	}
	return nil, &LockedError{}
}

func readHolder(f *os.File) int {
	text, _ := io.ReadAll(io.LimitReader(f, 32))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

// release removes the file before it gives up the lock, so that nobody can have locked what is removed.
func (l *fileLock) release() error {
	return errors.Join(os.Remove(l.f.Name()), l.f.Close())
}
