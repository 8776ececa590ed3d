package contain

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

// leader is the first process of a tree. Its id is its own until the handle is closed, which reap does.
type leader struct {
	pid   int
	ended chan struct{}

	mu     sync.Mutex
	handle windows.Handle // 0 when closed
	over   bool
	status ExitStatus
}

// watchLeader takes the process's handle over. It parks a thread until the process has ended.
func watchLeader(pid int, handle windows.Handle) *leader {
	l := &leader{pid: pid, ended: make(chan struct{}), handle: handle}
	go func() {
		_, _ = windows.WaitForSingleObject(handle, windows.INFINITE)
		l.poll()
		close(l.ended) // only now may the handle be closed
	}()
	return l
}

func (l *leader) poll() (ExitStatus, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return l.status, true
	}
	// An exit code alone does not tell: 259 is also what a running process has.
	if event, err := windows.WaitForSingleObject(l.handle, 0); err != nil || event != windows.WAIT_OBJECT_0 {
		return ExitStatus{}, false
	}
	var code uint32
	if err := windows.GetExitCodeProcess(l.handle, &code); err != nil {
		l.status.Lost = true
	}
	l.status.Code = int(code)
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(l.handle, &created, &exited, &kernel, &user); err == nil {
		ticks := func(f windows.Filetime) int64 { return int64(f.HighDateTime)<<32 | int64(f.LowDateTime) }
		l.status.CPU = time.Duration(ticks(kernel)+ticks(user)) * 100
	}
	l.over = true
	return l.status, true
}

func (l *leader) signal(sig syscall.Signal) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return os.ErrProcessDone
	}
	if sig != syscall.SIGKILL {
		return syscall.EWINDOWS
	}
	return windows.TerminateProcess(l.handle, 1)
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
	if l.handle != 0 {
		_ = windows.CloseHandle(l.handle)
		l.handle = 0
	}
	return nil
}
