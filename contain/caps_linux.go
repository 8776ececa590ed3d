package contain

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// groupCaps are the caps in force on one group, one axis for each.
type groupCaps struct {
	axes []*axis
	// gate is how a spawning thread gets into the cgroup v1 directories, nil when there are none.
	gate *gate

	// changing is held by the one update or close that works. The kernel may take its time to lower a cap.
	changing sync.Mutex
	// mu guards what the axes have in force, and what follows, for moments.
	mu sync.Mutex
	// last is what was read last; afterwards, closed is set.
	last   Evidence
	stats  Stats
	closed bool
}

// evidence reads the counters, unless the group is closed.
func (c *groupCaps) evidence() Evidence {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.last = c.readEvidence()
	}
	return c.last.Clone()
}

func (c *groupCaps) readEvidence() Evidence {
	var e Evidence
	for _, a := range c.axes {
		l := LimitEvidence{Kind: a.kind, Max: a.max, Effective: a.effective}
		l.Tripped, l.Events = a.read(a)
		e.Limits = append(e.Limits, l)
		if a.kind == LimitMemory {
			e.OutsideKills = a.outside(a)
		}
	}
	return e
}

// peaks reads what was used at most, unless the group is closed.
func (c *groupCaps) peaks() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.stats = c.readPeaks()
	}
	return c.stats.Clone()
}

func (c *groupCaps) readPeaks() (s Stats) {
	for _, a := range c.axes {
		switch a.kind {
		case LimitMemory:
			s.PeakMemory = a.peak(a)
		case LimitProcesses:
			s.PeakProcesses = a.peak(a)
		}
	}
	return s
}

// update sets other values for the caps: all of them, or none. before is called first, if it is not nil.
func (c *groupCaps) update(l Limits, before func(Limits) error) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	was := c.inForce()
	if err := l.fixed(was); err != nil {
		return err
	}
	if before != nil {
		if err := before(l); err != nil {
			return err
		}
	}
	effective := make([]float64, len(c.axes))
	for i, a := range c.axes {
		var err error
		if effective[i], err = c.change(a, l); err != nil {
			// Back, with the one that refused: it may have taken one of two files.
			for ; i >= 0; i-- {
				_, backErr := c.change(c.axes[i], was)
				err = also(err, backErr)
			}
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, a := range c.axes {
		a.inForce(l.Of(a.kind), effective[i])
	}
	return nil
}

// inForce is what the caps are now.
func (c *groupCaps) inForce() (l Limits) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.axes {
		switch a.kind {
		case LimitMemory:
			l.Memory = int64(a.max)
		case LimitProcesses:
			l.Processes = int(a.max)
		case LimitCPU:
			l.CPU = a.max
		}
	}
	return l
}

func (c *groupCaps) change(a *axis, l Limits) (effective float64, err error) {
	if c.gate != nil && c.gate.axis == a {
		return c.gate.resize(l.Processes)
	}
	return a.impose(l)
}

// close reads everything once more, closes the descriptors and removes what there is beside the group's own cgroup.
func (c *groupCaps) close(deadline time.Time) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.last, c.stats, c.closed = c.readEvidence(), c.readPeaks(), true
		for _, a := range c.axes {
			_ = unix.Close(a.dir)
		}
	}
	if c.gate == nil {
		return nil
	}
	return c.gate.remove(deadline)
}

// refusals is how many starts and forks the cap on processes has refused, -1 when that is not known.
func (c *groupCaps) refusals() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.axes {
		if a.kind == LimitProcesses && !c.closed {
			if _, n := a.read(a); n != nil {
				return *n
			}
		}
	}
	return -1
}

// hit says whether a start failed because the group is full: when the kernel has counted one more refusal.
func (c *groupCaps) hit(err error, before int64) error {
	if c == nil || before < 0 || !errors.Is(err, unix.EAGAIN) || c.refusals() <= before {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.axes {
		if a.kind == LimitProcesses {
			return &LimitHit{Kind: a.kind, Max: a.max, Err: unix.EAGAIN}
		}
	}
	return nil
}

// add takes a cap on a v1 directory in.
func (c *groupCaps) add(a *axis, d *v1Dir) {
	if c.gate == nil {
		c.gate = &gate{pids: -1}
	}
	if a.kind == LimitProcesses {
		c.gate.pids, c.gate.max, c.gate.axis = len(c.gate.dirs), int(a.max), a
	}
	c.gate.dirs = append(c.gate.dirs, d)
	c.axes = append(c.axes, a)
}

// sort puts the axes in the order of reports. Those of v1 stay in the order memory, processes, cpu among themselves, so
// that a thread goes through the cap on processors last.
func (c *groupCaps) sort() {
	slices.SortFunc(c.axes, func(a, b *axis) int {
		return cmp.Compare(slices.Index(limitKinds, a.kind), slices.Index(limitKinds, b.kind))
	})
}
