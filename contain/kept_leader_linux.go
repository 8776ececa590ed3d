package contain

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// keptLeader is the first process of a tree that a keeper holds. It is not our child: how it ended, the keeper tells.
type keptLeader struct {
	number int
	pidfd  *os.File // nil until it is started
	ended  chan struct{}

	mu     sync.Mutex
	over   bool
	status ExitStatus
}

func (l *keptLeader) id() int               { return l.number }
func (l *keptLeader) done() <-chan struct{} { return l.ended }

// identify takes over the pidfd and finds out what the process is called here. The descriptor blocks, and so is not in the
// runtime's poller, which would wake us for an end of which the keeper is about to tell.
func (l *keptLeader) identify(pidfd int) error {
	f := os.NewFile(uintptr(pidfd), "pidfd")
	pid, err := pidOf(pidfd)
	if err != nil || pid <= 0 {
		_ = f.Close()
		return &StartError{Step: StepTree, Err: errors.New("/proc does not tell the process id behind a pidfd")}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.number, l.pidfd = pid, f
	return nil
}

// pidOf finds the process id behind a pidfd, as /proc shows it.
func pidOf(pidfd int) (int, error) {
	text, err := readSmall("/proc/self/fdinfo/" + strconv.Itoa(pidfd))
	if err != nil {
		return 0, err
	}
	return parsePidfd(text)
}

// parsePidfd reads the process id out of a /proc/PID/fdinfo/FD of a pidfd: -1 is of a process that is gone, and 0 of one
// that is not to be seen from our pid namespace.
func parsePidfd(text []byte) (int, error) {
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte("Pid:")); ok {
			return strconv.Atoi(string(bytes.TrimSpace(value)))
		}
	}
	return 0, os.ErrProcessDone
}

func (l *keptLeader) settle(status ExitStatus) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.over, l.status = true, status
		close(l.ended)
	}
}

// orphaned waits for the end of a process of which nobody will tell how it ended, or for close.
func (l *keptLeader) orphaned() {
	l.mu.Lock()
	f := l.pidfd
	l.mu.Unlock()
	if f != nil {
		if conn, err := f.SyscallConn(); err == nil {
			over := false
			// This waits where the runtime polls the descriptor, as that of a process that was adopted.
			_ = conn.Read(func(fd uintptr) bool {
				over = readable(fd, 0)
				return over
			})
			for closed := false; !over && !closed; {
				closed = conn.Control(func(fd uintptr) { over = readable(fd, orphanPace) }) != nil
			}
		}
	}
	l.settle(ExitStatus{Lost: true})
}

// orphanPace is how often, in milliseconds, who waits for an orphan looks whether he is still to.
const orphanPace = 100

// readable reports whether a pidfd's process is dead, after timeout milliseconds at most.
func readable(fd uintptr, timeout int) bool {
	set := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(set, timeout)
	return err == nil && n > 0
}

func (l *keptLeader) dead() (dead bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.pidfd == nil {
		return true
	}
	if conn, err := l.pidfd.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { dead = readable(fd, 0) })
	}
	return dead
}

// poll asks the kernel whether the process is dead; if it is, the keeper is about to tell how it ended.
func (l *keptLeader) poll() (ExitStatus, bool) {
	if l.dead() {
		timer := time.NewTimer(answerBound)
		defer timer.Stop()
		select {
		case <-l.ended:
		case <-timer.C:
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status, l.over
}

func (l *keptLeader) signal(sig syscall.Signal) error {
	if l.dead() {
		return os.ErrProcessDone
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	conn, err := l.pidfd.SyscallConn()
	if err != nil {
		return os.ErrProcessDone
	}
	var sendErr error
	err = conn.Control(func(fd uintptr) {
		sendErr = ignoringEINTR(func() error { return unix.PidfdSendSignal(int(fd), sig, nil, 0) })
	})
	if err != nil || errors.Is(sendErr, unix.ESRCH) {
		return os.ErrProcessDone
	}
	return sendErr
}

// close lets go of the process. Its status stays.
func (l *keptLeader) close() {
	l.mu.Lock()
	f := l.pidfd
	l.mu.Unlock()
	if f != nil {
		_ = f.Close()
	}
	l.settle(ExitStatus{Lost: true})
}
