package contain

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// leader is the first process of a tree: a child of ours that is watched, and not reaped until its tree is dead.
//
// Until it is reaped, its process id and the process group of the same number are its own. So reap is the last thing
// done to a tree, and everything that goes by number is done under mu, after a look at reaped.
type leader struct {
	pid int
	// ended is closed when status is known.
	ended chan struct{}

	// mu is held for moments, never across a call that blocks.
	mu     sync.Mutex
	over   bool // the process has ended, and status says how
	status ExitStatus
	reaped bool
	// pidfd is nil where the kernel has none to give.
	pidfd *os.File
}

// watchLeader watches a process just started. It takes pidfd over, which is -1 where there is none.
func watchLeader(pid, pidfd int) *leader {
	l := newLeader(pid, pidfd)
	go l.watch()
	return l
}

// newLeader watches nothing: ended stays open until somebody polls.
func newLeader(pid, pidfd int) *leader {
	l := &leader{pid: pid, ended: make(chan struct{})}
	if pidfd >= 0 {
		// Only a non-blocking descriptor goes to the runtime's poller, where a waiting goroutine costs no thread.
		_ = unix.SetNonblock(pidfd, true)
		l.pidfd = os.NewFile(uintptr(pidfd), "pidfd")
	}
	return l
}

func (l *leader) watch() {
	if l.pidfd != nil {
		if conn, err := l.pidfd.SyscallConn(); err == nil {
			_ = conn.Read(func(uintptr) bool {
				_, over := l.poll()
				return over
			})
		}
	}
	// Without a pidfd, or without a poller that takes it, this parks a thread until the process has ended. It returns at
	// once if the status is known already.
	for {
		if _, over := l.poll(); over {
			return
		}
		if err := unix.Waitid(unix.P_PID, l.pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
			time.Sleep(drainPaceMax) // never seen; and never a busy loop
		}
	}
}

// poll asks the kernel whether the process has ended.
func (l *leader) poll() (ExitStatus, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return l.status, true
	}
	var info unix.Siginfo
	var usage unix.Rusage
	switch err := l.waitid(&info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, &usage); {
	case errors.Is(err, unix.ECHILD):
		// Somebody waited for any child at all (wait4 with -1), or has told the kernel to reap by ignoring SIGCHLD.
		l.status, l.reaped = ExitStatus{Lost: true}, true
	case err != nil || childOf(&info).pid == 0:
		return ExitStatus{}, false
	default:
		l.status = exitStatus(&info, &usage)
	}
	l.over = true
	close(l.ended)
	return l.status, true
}

// waitid waits by identity if it can. The caller holds mu.
func (l *leader) waitid(info *unix.Siginfo, options int, usage *unix.Rusage) error {
	if l.pidfd == nil {
		return ignoringEINTR(func() error { return unix.Waitid(unix.P_PID, l.pid, info, options, usage) })
	}
	return l.withPidfd(func(fd int) error { return unix.Waitid(unix.P_PIDFD, fd, info, options, usage) })
}

func (l *leader) withPidfd(f func(fd int) error) error {
	conn, err := l.pidfd.SyscallConn()
	if err != nil {
		return err
	}
	var ferr error
	if err := conn.Control(func(fd uintptr) { ferr = ignoringEINTR(func() error { return f(int(fd)) }) }); err != nil {
		return err
	}
	return ferr
}

func (l *leader) signal(sig syscall.Signal) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return os.ErrProcessDone
	}
	var err error
	if l.pidfd != nil {
		err = l.withPidfd(func(fd int) error { return unix.PidfdSendSignal(fd, sig, nil, 0) })
	} else {
		err = unix.Kill(l.pid, sig)
	}
	if errors.Is(err, unix.ESRCH) {
		return os.ErrProcessDone
	}
	return err
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
	if !l.await(deadline) {
		return errors.New("the first process has not ended")
	}
	l.mu.Lock()
	if !l.reaped {
		_ = l.waitid(nil, unix.WEXITED|unix.WNOHANG, nil) // it has ended; ECHILD: somebody else has reaped it meanwhile
		l.reaped = true
	}
	pidfd := l.pidfd
	l.mu.Unlock()
	if pidfd != nil {
		_ = pidfd.Close() // not under mu: it waits for watch to let go of the descriptor
	}
	return nil
}

// await reports whether the process has ended by the deadline.
func (l *leader) await(deadline time.Time) bool {
	if _, over := l.poll(); over {
		return true
	}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-l.ended:
		return true
	case <-timer.C:
		return false
	}
}

// child is the part of a siginfo that waitid fills in, after its three common fields.
type child struct{ pid, uid, status int32 }

func childOf(info *unix.Siginfo) child {
	// Three 32-bit fields, then a union that is aligned as a pointer is.
	const at = (3*4 + unsafe.Sizeof(uintptr(0)) - 1) &^ (unsafe.Sizeof(uintptr(0)) - 1)
	return *(*child)(unsafe.Add(unsafe.Pointer(info), at))
}

// The values of a siginfo's code for a process that ended by a signal; other ends are exits.
const (
	cldKilled = 2
	cldDumped = 3
)

func exitStatus(info *unix.Siginfo, usage *unix.Rusage) ExitStatus {
	s := ExitStatus{CPU: time.Duration(usage.Utime.Nano() + usage.Stime.Nano())}
	switch status := childOf(info).status; info.Code {
	case cldKilled, cldDumped:
		s.Signal, s.Core = syscall.Signal(status), info.Code == cldDumped
	default:
		s.Code = int(status)
	}
	return s
}

func ignoringEINTR(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
