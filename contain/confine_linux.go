package contain

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// coreLimit lowers this process's soft limit of core dumps to 0 as long as a start is under way that needs it. Limits are
// the whole process's, not a thread's, and a child inherits them; so this is how a child has the limit from birth on.
type coreLimit struct {
	mu    sync.Mutex
	users int
	was   unix.Rlimit
}

var coreless coreLimit

func (c *coreLimit) enter() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users == 0 {
		if err := unix.Getrlimit(unix.RLIMIT_CORE, &c.was); err != nil {
			return err
		}
		if c.was.Cur != 0 {
			if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Max: c.was.Max}); err != nil {
				return err
			}
		}
	}
	c.users++
	return nil
}

func (c *coreLimit) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users--; c.users == 0 && c.was.Cur != 0 {
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &c.was) // raising a soft limit to what it was is never refused
	}
}

// confine makes the limit of core dumps one that the child cannot raise. Until then it has a soft limit of 0.
func confine(l *leader, spec Spec) error {
	if !spec.NoCoreDumps {
		return nil
	}
	err := l.pinned(func(pid int) error { return unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil) })
	if _, over := l.poll(); err == nil || errors.Is(err, unix.ESRCH) || over {
		return nil
	}
	return &StartError{Step: StepConfine, Err: bare(err)}
}
