package contain

import (
	"errors"
	"sync"
	"syscall"
	"time"
)

// Child is one started command and the tree below it. It is safe for concurrent use.
type Child struct {
	group  *Group
	tree   tree
	leader firstProcess
	// lacks is what of the group's guarantees this tree has not, since it was adopted.
	lacks Guarantee

	// ending is held by the one Kill or Close that works, at most for its bound. Nothing else waits for it.
	ending sync.Mutex
	closed bool
}

// Guarantees says what holds of this tree: what [Group.Guarantees] says, but for a tree that was adopted, of which less may
// hold.
func (c *Child) Guarantees() Guarantee { return c.group.Guarantees() &^ c.lacks }

// PID is the process id of the first process. It stays that process's own, unrecycled, until Close returns.
func (c *Child) PID() int { return c.leader.id() }

// Exited is closed when the first process has ended (its descendants may live). It does not wait for any pipe.
func (c *Child) Exited() <-chan struct{} { return c.leader.done() }

// Poll looks, without blocking, whether the first process has ended, asking the kernel and not only what Exited has
// heard so far. The status stays available after Close.
func (c *Child) Poll() (ExitStatus, bool) { return c.leader.poll() }

// Signal sends sig to the first process, by identity and not by number. It returns [os.ErrProcessDone] when that
// process has ended.
func (c *Child) Signal(sig syscall.Signal) error { return c.leader.signal(sig) }

// SignalTree does for one tree what [Group.Signal] does for all.
func (c *Child) SignalTree(sig syscall.Signal) error {
	t, err := c.tree.signal(sig)
	return t.verdict(sig, err)
}

// Members lists the processes of this tree. Of zombies it shows those that the mechanism shows, the first process among
// them until Close.
func (c *Child) Members() ([]Member, error) { return c.tree.members() }

// Kill ends the whole tree and waits until it is verified empty, at most [KillBound]; then a [*DrainError] names the
// survivors. The first process is not reaped: its status stays, and its id stays its own.
func (c *Child) Kill() error { return c.kill(time.Now().Add(KillBound)) }

// Close kills the tree if anything of it is left, reaps the first process and removes what held the tree, within
// [KillBound]. It is idempotent, and after an error it can be tried again.
func (c *Child) Close() error { return c.close(time.Now().Add(KillBound)) }

func (c *Child) kill(deadline time.Time) error {
	c.ending.Lock()
	defer c.ending.Unlock()
	if c.closed {
		return nil
	}
	return drain(c.tree, deadline)
}

func (c *Child) close(deadline time.Time) error {
	c.ending.Lock()
	defer c.ending.Unlock()
	if c.closed {
		return nil
	}
	err := c.tree.end(deadline)
	if err != nil && !errors.Is(err, errLost) {
		return err
	}
	c.closed = true
	c.group.forget(c)
	return err
}

// strike sends the kill and waits for nothing.
func (c *Child) strike() {
	if c.ending.TryLock() {
		defer c.ending.Unlock()
		if !c.closed {
			_ = c.tree.strike() // drain strikes again and keeps the error
		}
	}
}
