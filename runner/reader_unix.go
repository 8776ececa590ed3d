//go:build unix

package runner

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// fullRead is what a read gives when the pipe was about full: the default pipe holds 64 KiB.
	fullRead = 48 << 10
	// strangerQuota is how much is read of what somebody outside the tree still writes once the tree is gone.
	strangerQuota = 64 << 10
)

// canAskToEnd: there are signals that ask a process to end.
const canAskToEnd = true

// pipeReader is our end of an output pipe. After its read deadline it still gives what is in the pipe already, and only
// then fails with [os.ErrDeadlineExceeded].
type pipeReader struct {
	file *os.File
	conn syscall.RawConn
	// treeless is set when the tree is gone: what it wrote is in the pipe, and no more will come of it.
	treeless atomic.Bool
	// terminal: it is the end of a terminal, which has no other end of file than an error.
	terminal bool

	// The following belong to the one goroutine that reads.
	enlarged bool
	quotaSet bool
	quota    int
}

func newOutput() (*pipeReader, *os.File, error) {
	r, w, err := pipe(true)
	if err != nil {
		return nil, nil, err
	}
	reader, err := newReader(r)
	if err != nil {
		_ = r.Close()
		_ = w.Close()
		return nil, nil, err
	}
	return reader, w, nil
}

func newReader(f *os.File) (*pipeReader, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &pipeReader{file: f, conn: conn}, nil
}

func (r *pipeReader) Read(p []byte) (int, error) {
	if r.treeless.Load() {
		if err := r.ration(); err != nil {
			return 0, err
		}
	}
	n, err := r.file.Read(p)
	if n == 0 && isTimeout(err) {
		n, err = r.readNow(p)
	}
	if r.terminal && errors.Is(err, unix.EIO) {
		// Nobody has the terminal any more. That may have become so after the kernel had looked for output, which then was
		// written in between; now it is there for whoever looks again.
		if n, err = r.readNow(p); err == unix.EIO {
			err = io.EOF
		}
	}
	if n >= fullRead && !r.enlarged {
		r.enlarged = true
		_ = r.conn.Control(enlarge)
	}
	r.quota -= n
	return n, err
}

// ration stops a stranger that writes without end. What the tree wrote is read in full.
func (r *pipeReader) ration() error {
	if !r.quotaSet {
		waiting := 0
		_ = r.conn.Control(func(fd uintptr) { waiting, _ = unix.IoctlGetInt(int(fd), fionread) })
		r.quotaSet, r.quota = true, waiting+strangerQuota
	}
	if r.quota <= 0 {
		return errStranger
	}
	return nil
}

// readNow reads without waiting, whatever the deadline.
func (r *pipeReader) readNow(p []byte) (n int, err error) {
	ctlErr := r.conn.Control(func(fd uintptr) {
		for {
			if n, err = unix.Read(int(fd), p); err != unix.EINTR {
				return
			}
		}
	})
	switch {
	case ctlErr != nil:
		return 0, ctlErr
	case err == unix.EAGAIN:
		return 0, os.ErrDeadlineExceeded
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

func (r *pipeReader) SetReadDeadline(t time.Time) error { return r.file.SetReadDeadline(t) }

func (r *pipeReader) Close() error { return r.file.Close() }

// hungUp reports whether all write ends are closed, or the reader is. While another goroutine starts a child, that child
// has a copy of every descriptor of ours until its exec is done with closing them, which is after its exec has let the
// starter go on: a write end that is still open may be nobody's.
func (r *pipeReader) hungUp() bool {
	fds := []unix.PollFd{{Events: unix.POLLIN}}
	err := r.conn.Control(func(fd uintptr) {
		fds[0].Fd = int32(fd)
		for {
			if _, err := unix.Poll(fds, 0); err != unix.EINTR {
				return
			}
		}
	})
	return err != nil || fds[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0
}
