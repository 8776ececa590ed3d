//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package contain

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// leader is the first process of a tree: a child of ours that is watched through a kqueue, and not reaped until its
// tree is dead. Until then its process id and the process group of the same number are its own.
//
// Not verified: it compiles, and has not run on any of these systems. Each child parks one thread.
type leader struct {
	pid int
	// ended is closed when status is known.
	ended chan struct{}

	mu     sync.Mutex // held for moments, never across a call that blocks
	over   bool       // the process has ended, and status says how
	status ExitStatus
	reaped bool
}

func spawn(ctx context.Context, spec Spec, attr *syscall.SysProcAttr, _ *gate) (*leader, error) {
	if c := spec.Credential; c != nil {
		attr.Credential = &syscall.Credential{Uid: c.UID, Gid: c.GID, Groups: c.Groups}
	}
	spec.inSession(attr)
	pid, err := fork(ctx, spec, attr)
	if err != nil {
		return nil, err
	}
	l := &leader{pid: pid, ended: make(chan struct{})}
	go l.watch()
	return l, nil
}

func (l *leader) watch() {
	status, err := awaitExit(l.pid)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	if err != nil {
		// It was a zombie before the kqueue could take it.
		if status, err = peekExit(l.pid); err != nil {
			l.reap4()
			return
		}
	}
	l.settle(exitStatus(status))
}

// awaitExit waits until the process ends, without reaping it.
func awaitExit(pid int) (syscall.WaitStatus, error) {
	kq, err := unix.Kqueue()
	if err != nil {
		return 0, err
	}
	unix.CloseOnExec(kq)
	defer func() { _ = unix.Close(kq) }()
	change := make([]unix.Kevent_t, 1)
	unix.SetKevent(&change[0], pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	change[0].Fflags = noteExit
	events := make([]unix.Kevent_t, 1)
	for {
		n, err := unix.Kevent(kq, change, events, nil)
		change = nil
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, err
		case n == 1 && events[0].Flags&unix.EV_ERROR != 0:
			return 0, syscall.Errno(events[0].Data)
		case n == 1:
			return syscall.WaitStatus(events[0].Data), nil
		}
	}
}

// reap4 reaps the process, for want of a way to see how it ended without. The caller holds mu.
func (l *leader) reap4() {
	var status syscall.WaitStatus
	var usage syscall.Rusage
	var err error
	for {
		if _, err = syscall.Wait4(l.pid, &status, 0, &usage); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	l.reaped = true
	if l.over {
		return
	}
	if err != nil {
		l.settle(ExitStatus{Lost: true})
		return
	}
	s := exitStatus(status)
	s.CPU = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	l.settle(s)
}

func (l *leader) settle(s ExitStatus) {
	l.over, l.status = true, s
	close(l.ended)
}

func (l *leader) poll() (ExitStatus, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status, l.over
}

func (l *leader) signal(sig syscall.Signal) error {
	return l.pinned(func(pid int) error {
		if l.over {
			return os.ErrProcessDone
		}
		err := syscall.Kill(pid, sig)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	})
}

// pinned calls f while the process id cannot be anybody else's, or returns [os.ErrProcessDone] when it could be.
func (l *leader) pinned(f func(pid int) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reaped {
		return os.ErrProcessDone
	}
	return f(l.pid)
}

// reap waits until the process has ended and gives its id back.
func (l *leader) reap(deadline time.Time) error {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-l.ended:
	case <-timer.C:
		return errors.New("the first process has not ended")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.reaped {
		l.reap4()
	}
	return nil
}

func exitStatus(w syscall.WaitStatus) ExitStatus {
	if w.Signaled() {
		return ExitStatus{Signal: w.Signal(), Core: w.CoreDump()}
	}
	return ExitStatus{Code: w.ExitStatus()}
}

// bootTicks has no meaning here, where start times are not known; all of them are 0.
func bootTicks() uint64 { return 1 }

func mechanisms() []mechanism { return []mechanism{processGroup{}} }
