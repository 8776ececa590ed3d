package contain

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// groupCaps are the caps in force on one group, one axis for each. The counters are read through descriptors of the
// directories, opened when these were made: no name is looked up again that somebody could have put something else at.
type groupCaps struct {
	axes []*axis
	// gate is how a spawning thread gets into the cgroup v1 directories, nil when there are none.
	gate *gate

	mu sync.Mutex
	// last is what was read last; afterwards, closed is set.
	last   Evidence
	stats  Stats
	closed bool
}

// axis is one cap, set on one directory.
type axis struct {
	kind LimitKind
	// max is the cap asked for, effective the smallest up to the root.
	max, effective float64
	dir            int // the directory's descriptor
	meter          axisMeter
}

// axisMeter reads the counters of one axis. What it cannot read is nil and [TripUnknown].
type axisMeter interface {
	// read says whether the cap was hit, and how often.
	read(a *axis) (tripped Tripped, events *int64)
	// peak is the most that was used at once.
	peak(a *axis) *int64
	// outside counts kills for want of memory that were not this cap's.
	outside(a *axis) *int64
}

// setting is one file to be written, and whether the kernel must have it.
type setting struct {
	file, text string
	optional   bool
}

// settings are the files of cgroup v2 for one cap, the cap itself first.
func settings(kind LimitKind, l Limits) []setting {
	switch kind {
	case LimitMemory:
		return []setting{
			{file: "memory.max", text: strconv.FormatInt(l.Memory, 10)},
			// Else the tree swaps what is over the cap. Without swap there is no such file.
			{file: "memory.swap.max", text: "0", optional: true},
			// Killing one member of many leaves the rest limping on.
			{file: "memory.oom.group", text: "1"},
		}
	case LimitProcesses:
		return []setting{{file: "pids.max", text: strconv.Itoa(l.Processes)}}
	default:
		return []setting{{file: "cpu.max", text: fmt.Sprintf("%d %d", quota(l.CPU), cpuPeriod)}}
	}
}

// cpuPeriod is the period in which processor time is dealt out, in microseconds: the kernel's own default.
const cpuPeriod = 100_000

func quota(cores float64) int64 { return int64(math.Round(cores * cpuPeriod)) }

// capV2 sets one cap on the cgroup dir, whose parents have the controller enabled, and reads it back.
func capV2(dir string, kind LimitKind, l Limits) (*axis, error) {
	fd, err := openat(unix.AT_FDCWD, dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, cgroupRefusal(kind, "the group's cgroup cannot be opened", err)
	}
	a := &axis{kind: kind, max: l.Of(kind), dir: fd, meter: v2Meter{}}
	err = a.set(settings(kind, l))
	if err == nil {
		err = a.readBack(settings(kind, l)[0].file, func(text []byte) (float64, error) {
			if kind == LimitCPU {
				return parseCPUMax(text)
			}
			return parseMax(text)
		})
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	a.effective = min(a.effective, smallestV2(dir, kind))
	return a, nil
}

// set writes the files.
func (a *axis) set(files []setting) error {
	for _, s := range files {
		err := writeAt(a.dir, s.file, s.text)
		if err != nil && !(s.optional && errors.Is(err, unix.ENOENT)) {
			return cgroupRefusal(a.kind, s.file+" cannot be set", err)
		}
	}
	return nil
}

// readBack reads what the kernel made of the cap. Memory is rounded down to pages.
func (a *axis) readBack(file string, parse func([]byte) (float64, error)) error {
	text, err := readAt(a.dir, file)
	if err != nil {
		return cgroupRefusal(a.kind, file+" cannot be read back", err)
	}
	got, err := parse(text)
	below, above := 0.0, 0.0
	switch a.kind {
	case LimitMemory:
		below = maxPage
	case LimitCPU:
		below, above = 1.0/cpuPeriod, 1.0/cpuPeriod // it was rounded by us
	}
	if err != nil || got > a.max+above || got < a.max-below {
		return &LimitError{
			Kind: a.kind, Reason: LimitReadback,
			Detail: fmt.Sprintf("%s holds %q after %v was set", file, strings.TrimSpace(string(text)), a.max),
		}
	}
	a.effective = got
	return nil
}

// maxPage is the largest page there is: 64 KiB, on some arm64 and ppc64.
const maxPage = 64 << 10

// smallestV2 is the smallest cap of one kind above the cgroup dir, as far as that is to be seen.
func smallestV2(dir string, kind LimitKind) float64 {
	file := settings(kind, Limits{})[0].file
	return smallestAbove(dir, func(above string) (float64, error) {
		text, err := readSmall(above + "/" + file)
		if err != nil {
			return 0, err
		}
		if kind == LimitCPU {
			return parseCPUMax(text)
		}
		return parseMax(text)
	})
}

// smallestAbove asks every directory above dir that is a cgroup too. What a cgroup does not say is no cap: the root has
// none of these files.
func smallestAbove(dir string, read func(above string) (float64, error)) float64 {
	smallest := unlimited
	for {
		i := strings.LastIndexByte(dir, '/')
		if i <= 0 {
			return smallest
		}
		dir = dir[:i]
		if unix.Access(dir+"/cgroup.procs", unix.F_OK) != nil {
			return smallest
		}
		if n, err := read(dir); err == nil {
			smallest = min(smallest, n)
		}
	}
}

// v2Meter reads the counters of cgroup v2.
type v2Meter struct{}

func (v2Meter) read(a *axis) (Tripped, *int64) {
	switch a.kind {
	case LimitMemory:
		ran, own, _, ok := a.v2Kills()
		if !ok {
			return TripUnknown, nil
		}
		return tripped(ran, own), &own
	case LimitProcesses:
		return a.forksRefused(a.firstCounts("pids.events.local", "pids.events"))
	default:
		text, _ := readAt(a.dir, "cpu.stat")
		n, ok := parseCount(text, "nr_throttled")
		if !ok {
			return TripUnknown, nil
		}
		return tripped(n, 0), &n
	}
}

// forksRefused reads a pids.events file. Older kernels, and v1, count there what a cap further up refused as well; if
// our own was never reached, that is what it was.
func (a *axis) forksRefused(text []byte) (Tripped, *int64) {
	n, ok := parseCount(text, "max")
	if !ok {
		return TripUnknown, nil
	}
	if n > 0 {
		if text, err := readAt(a.dir, "pids.peak"); err == nil {
			if peak, err := parseMax(text); err == nil && peak < a.max {
				n = 0
			}
		}
	}
	return tripped(n, 0), &n
}

// tripped reports whether any of the counters is above 0.
func tripped(counters ...int64) Tripped {
	for _, n := range counters {
		if n > 0 {
			return HasTripped
		}
	}
	return NotTripped
}

// v2Kills splits the kernel's kills in the group. The counter to go by is that of kills, and they are this cap's only if
// this cap ran out: one above, or the host, kills here too, and counts its running out there. The local file has the
// events of this very cap; the plain one has those of cgroups below as well, of which none has one.
func (a *axis) v2Kills() (ran, own, outside int64, ok bool) {
	events := a.firstCounts("memory.events.local", "memory.events")
	ran, ok1 := parseCount(events, "oom")
	killed, ok2 := parseCount(events, "oom_kill")
	if ran > 0 {
		own = killed
	} else {
		outside = killed
	}
	return ran, own, outside, ok1 && ok2
}

func (v2Meter) outside(a *axis) *int64 {
	if a.kind != LimitMemory {
		return nil
	}
	_, _, outside, ok := a.v2Kills()
	if !ok {
		return nil
	}
	return &outside
}

func (v2Meter) peak(a *axis) *int64 {
	switch a.kind {
	case LimitMemory:
		return a.number("memory.peak") // Linux 5.19
	case LimitProcesses:
		return a.number("pids.peak") // Linux 6.1 and some
	}
	return nil
}

// firstCounts is the first of the files that is there.
func (a *axis) firstCounts(files ...string) []byte {
	for _, file := range files {
		if text, err := readAt(a.dir, file); err == nil {
			return text
		}
	}
	return nil
}

// number is a file that holds one number, nil if it does not.
func (a *axis) number(file string) *int64 {
	text, err := readAt(a.dir, file)
	if err != nil {
		return nil
	}
	n, err := parseMax(text)
	if err != nil || n == unlimited {
		return nil
	}
	v := int64(n)
	return &v
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
		l.Tripped, l.Events = a.meter.read(a)
		e.Limits = append(e.Limits, l)
		if a.kind == LimitMemory {
			e.OutsideKills = a.meter.outside(a)
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
			s.PeakMemory = a.meter.peak(a)
		case LimitProcesses:
			s.PeakProcesses = a.meter.peak(a)
		}
	}
	return s
}

// close reads everything once more, closes the descriptors and removes what there is beside the group's own cgroup.
func (c *groupCaps) close(deadline time.Time) error {
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
			if _, n := a.meter.read(a); n != nil {
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
	for _, a := range c.axes {
		if a.kind == LimitProcesses {
			return &LimitHit{Kind: a.kind, Max: a.max, Err: unix.EAGAIN}
		}
	}
	return nil
}

func readAt(dir int, file string) ([]byte, error) {
	fd, err := openat(dir, file, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	return readFd(fd)
}

func writeAt(dir int, file, text string) error {
	fd, err := openat(dir, file, unix.O_WRONLY)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return writeFd(fd, text)
}

// add takes a cap on a v1 directory in.
func (c *groupCaps) add(a *axis, d *v1Dir) {
	if c.gate == nil {
		c.gate = &gate{pids: -1}
	}
	if a.kind == LimitProcesses {
		c.gate.pids, c.gate.max, c.gate.pidsDir = len(c.gate.dirs), int(a.max), a.dir
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
