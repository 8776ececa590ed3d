package contain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// readyBound is how long a helper may take to say that it is ready: an executed Go program needs 10 ms, and a slow machine
// with a crowd on it a thousand times as long.
const readyBound = 30 * time.Second

// helper is a running helper program, as its owner sees it.
type helper struct {
	link    link
	process *leader
	ending  sync.Once
	// reaped is closed when the process has ended and is reaped.
	reaped chan struct{}
}

// messageReady is the first thing that a helper says.
const messageReady = 'R'

// ourselves is the path by which this program executes itself, whatever has become of its file.
const ourselves = "/proc/self/exe"

// startHelper starts the helper program in a role and waits until it is ready. program is [Options.Keeper].
func startHelper(program, role string, args []string, flags uintptr, files ...*os.File) (*helper, error) {
	if program == "" {
		return startProgram(ourselves, readyBound, role, args, flags, files...)
	}
	if !filepath.IsAbs(program) {
		return nil, &KeeperError{Err: errors.New("its path is not absolute")}
	}
	h, err := startProgram(program, readyBound, role, args, flags, files...)
	if err != nil {
		return nil, &KeeperError{Err: err}
	}
	return h, nil
}

func startProgram(program string, patience time.Duration, role string, args []string, flags uintptr, files ...*os.File) (*helper, error) {
	ours, theirs, err := helperSockets(true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }()
	h := &helper{link: ours, reaped: make(chan struct{})}
	owner, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		_ = h.link.file.Close()
		return nil, bare(err)
	}
	self := os.NewFile(uintptr(owner), "pidfd")
	defer func() { _ = self.Close() }()

	pidfd := -1
	spec := Spec{
		Path:  program,
		Argv:  Seal(append([]string{helperName, role, strconv.Itoa(len(files))}, args...)...),
		Env:   Seal("GOMAXPROCS=2", "GOTRACEBACK=none"),
		Files: append([]*os.File{theirs, self}, files...),
	}
	pid, err := fork(context.Background(), spec, &syscall.SysProcAttr{Setsid: true, Cloneflags: flags, PidFD: &pidfd})
	if err == nil && pidfd < 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		err = unix.ENOSYS
	}
	if err != nil {
		_ = h.link.file.Close()
		return nil, fmt.Errorf("the helper program cannot be started: %w", bare(err))
	}
	h.process = newLeader(pid, pidfd)
	_ = theirs.Close() // so that its death is heard
	sent, err := h.greet(patience)
	if err == nil && role == roleRelay {
		err = h.adopted(sent)
	} else {
		closeAll(sent)
	}
	if err != nil {
		h.end()
		return nil, fmt.Errorf("the helper program is not ready: %w", bare(err))
	}
	return h, nil
}

// helperSockets are our link to a helper, which does not block, and the other end of it. The runtime polls what does not
// block already when it becomes a file.
func helperSockets(polled bool) (ours link, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return link{}, nil, bare(err)
	}
	if polled {
		_ = unix.SetNonblock(pair[0], true)
	}
	ours = link{file: os.NewFile(uintptr(pair[0]), helperName), unpolled: !polled}
	_ = unix.SetNonblock(pair[0], true)
	return ours, os.NewFile(uintptr(pair[1]), helperName), nil
}

var errForeign = errors.New("it is a helper of another version of this package")

// greet waits until the helper is ready, and returns the pidfd of itself that it may send.
func (h *helper) greet(patience time.Duration) (pidfd []int, err error) {
	_ = h.link.file.SetReadDeadline(time.Now().Add(patience))
	m, err := h.link.receive()
	_ = h.link.file.SetReadDeadline(time.Time{})
	if err == nil && m.kind != messageReady {
		err = errMalformed
	}
	if err == nil {
		body := unpacker{rest: m.body}
		if errno, version := body.number(), body.number(); body.bad || version != wireVersion {
			err = errForeign
		} else if errno != 0 {
			err = syscall.Errno(errno)
		}
	}
	if err != nil {
		closeAll(m.files)
		return nil, err
	}
	return m.files, nil
}

// alive reports whether the helper still runs.
func (h *helper) alive() bool {
	_, over := h.process.poll()
	return !over
}

// end kills the helper without asking it, and reaps it. It does not wait; reaped says when it is gone.
func (h *helper) end() {
	h.ending.Do(func() {
		_ = h.process.signal(syscall.SIGKILL)
		_ = h.link.file.Close()
		go func() {
			defer close(h.reaped)
			h.process.watch()
			_ = h.process.reap(time.Now().Add(KillBound))
		}()
	})
}

// awaitReaped reports whether the helper was gone by the deadline.
func (h *helper) awaitReaped(deadline time.Time) error {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-h.reaped:
		return nil
	case <-timer.C:
		return errors.New("the helper program has not ended")
	}
}
