package contain

import (
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Caps on hosts whose controllers sit on cgroup v1 hierarchies (hybrid hosts). Each group then has, beside its cgroup v2,
// by which it is killed, a directory below our own cgroup in each hierarchy that a cap needs.

// hierarchy is our own cgroup in the cgroup v1 hierarchy of one controller.
type hierarchy struct {
	controller string
	dir        string
}

// hierarchies finds those controllers that sit on v1 here. Of one whose own cgroup is not to be seen, dir is "".
func (m *cgroup2) hierarchies() (map[string]hierarchy, error) {
	membership, err := readSmall(m.membership)
	if err != nil {
		return nil, bare(err)
	}
	mountinfo, err := readSmall(m.mountinfo)
	if err != nil {
		return nil, bare(err)
	}
	found := map[string]hierarchy{}
	own := parseV1Cgroups(membership)
	for _, controller := range controllerOf {
		path, ok := own[controller]
		if !ok {
			continue
		}
		h := hierarchy{controller: controller}
		mounts := parseV1Mounts(mountinfo, controller)
		for i := len(mounts) - 1; i >= 0 && h.dir == ""; i-- {
			h.dir, _ = mounts[i].under(path)
		}
		found[controller] = h
	}
	return found, nil
}

// v1Dirs are our own cgroups in the hierarchies that hold controllers of caps.
func (m *cgroup2) v1Dirs() (dirs []string) {
	found, _ := m.hierarchies() // without them there are no caps on v1
	for _, h := range found {
		if h.dir != "" {
			dirs = append(dirs, h.dir)
		}
	}
	return dirs
}

// refuse says why no group can be capped in the hierarchy, nil if it can. It makes a directory and removes it.
func (h hierarchy) refuse(fs cgroupFS) *LimitError {
	kind := kindOf(h.controller)
	if h.dir == "" {
		return &LimitError{
			Kind: kind, Reason: LimitNotMounted,
			Detail: "the " + h.controller + " controller sits on a cgroup v1 hierarchy in which our own cgroup is not to be seen",
			Hint:   "mount the hierarchy, or boot with systemd.unified_cgroup_hierarchy=1",
		}
	}
	if err := fs.Writable(filepath.Join(h.dir, "tasks")); err != nil {
		return cgroupRefusal(kind, "no process can be put into the "+h.controller+" hierarchy", err)
	}
	dir := filepath.Join(h.dir, baseName())
	if err := fs.Mkdir(dir); err != nil {
		return cgroupRefusal(kind, "no cgroup can be made in the "+h.controller+" hierarchy", err)
	}
	defer func() { _ = fs.Rmdir(dir) }()
	for _, s := range (capsV1{}).settings(kind, Limits{}) {
		if err := fs.Writable(filepath.Join(dir, s.file)); err != nil && !s.optional {
			return cgroupRefusal(kind, s.file+" cannot be set", err)
		}
	}
	return nil
}

// capV1 makes a group's directory in the hierarchy, and sets the cap on it.
func (h hierarchy) capV1(l Limits) (a *axis, d *v1Dir, err error) {
	kind := kindOf(h.controller)
	if h.dir == "" {
		return nil, nil, h.refuse(kernelFS{})
	}
	path := filepath.Join(h.dir, baseName())
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, nil, cgroupRefusal(kind, "no cgroup can be made in the "+h.controller+" hierarchy", err)
	}
	a = &axis{kind: kind, path: path, dir: -1, capVersion: capsV1{}}
	d = &v1Dir{kind: kind, path: path, home: h.dir, tasks: -1, back: -1}
	defer func() {
		if err != nil {
			d.close()
			_ = unix.Close(a.dir)
			_ = removeCgroup(unix.AT_FDCWD, path, time.Now().Add(removeBound))
		}
	}()
	if a.dir, err = openat(unix.AT_FDCWD, path, unix.O_RDONLY|unix.O_DIRECTORY); err == nil {
		if d.tasks, err = openat(a.dir, "tasks", unix.O_WRONLY); err == nil {
			d.back, err = openat(unix.AT_FDCWD, filepath.Join(h.dir, "tasks"), unix.O_WRONLY)
		}
	}
	if err != nil {
		return nil, nil, cgroupRefusal(kind, "no process can be put into the "+h.controller+" hierarchy", err)
	}
	effective, err := a.impose(l)
	if err != nil {
		return nil, nil, err
	}
	a.inForce(l.Of(kind), effective)
	return a, d, nil
}

// capsV1 are the caps of cgroup v1.
type capsV1 struct{}

func (capsV1) settings(kind LimitKind, l Limits) []setting {
	switch kind {
	case LimitMemory:
		bytes := strconv.FormatInt(l.Memory, 10)
		return []setting{
			{file: "memory.limit_in_bytes", text: bytes},
			// Memory and swap together: so nothing is gained by swapping. Not there if the kernel does not account for swap.
			{file: "memory.memsw.limit_in_bytes", text: bytes, optional: true},
			{file: "memory.swappiness", text: "0", optional: true},
		}
	case LimitProcesses:
		return []setting{{file: "pids.max", text: strconv.Itoa(l.Processes)}}
	default:
		return []setting{
			{file: "cpu.cfs_quota_us", text: strconv.FormatInt(quota(l.CPU), 10)},
			{file: "cpu.cfs_period_us", text: strconv.Itoa(cpuPeriod)},
		}
	}
}

func (v capsV1) cap(kind LimitKind, read func(file string) ([]byte, error)) (float64, error) {
	files := v.settings(kind, Limits{})
	text, err := read(files[0].file)
	if err != nil {
		return 0, err
	}
	if kind != LimitCPU {
		return parseMax(text)
	}
	period, err := read(files[1].file)
	if err != nil {
		return 0, err
	}
	return cores(text, period)
}

func (v capsV1) read(a *axis) (Tripped, *int64) {
	switch a.kind {
	case LimitMemory:
		own, _, ok := v.kills(a)
		if !ok {
			return TripUnknown, nil
		}
		return tripped(own), &own
	case LimitProcesses:
		return a.forksRefused(a.firstCounts("pids.events"))
	default:
		return a.periodsThrottled()
	}
}

// kills splits the kernel's kills in the group: v1 counts kills (Linux 4.13), whoever ran out. A kill in a group that
// never filled its own cap was for somebody else's want. That the cap was filled is told by the highest use; the counters
// of failures stay 0 on Linux 6.18.
func (capsV1) kills(a *axis) (own, outside int64, ok bool) {
	killed, ok := parseCount(a.firstCounts("memory.oom_control"), "oom_kill")
	if !ok {
		return 0, 0, false
	}
	for _, file := range []string{"memory.max_usage_in_bytes", "memory.memsw.max_usage_in_bytes"} {
		if most := a.number(file); most != nil && float64(*most)+chargeBatch >= a.lowest {
			return killed, 0, true
		}
	}
	return 0, killed, true
}

// chargeBatch is how much the kernel takes from a cap at once, 64 pages of 4 KiB: so much may be missing to the cap when
// there is no more.
const chargeBatch = 64 * 4096

func (v capsV1) outside(a *axis) *int64 {
	if a.kind != LimitMemory {
		return nil
	}
	_, outside, ok := v.kills(a)
	if !ok {
		return nil
	}
	return &outside
}

// peak: of processes there is none, because the count has our own thread in it whenever that starts something.
func (capsV1) peak(a *axis) *int64 {
	if a.kind == LimitMemory {
		return a.number("memory.max_usage_in_bytes")
	}
	return nil
}

// v1Dir is a group's directory in one hierarchy.
type v1Dir struct {
	kind LimitKind
	path string
	// home is our own cgroup there.
	home string
	// tasks and back are the files by which a thread enters the group and goes home; -1 when closed.
	tasks, back int
}

func (d *v1Dir) close() {
	for _, fd := range []*int{&d.tasks, &d.back} {
		if *fd >= 0 {
			_ = unix.Close(*fd)
			*fd = -1
		}
	}
}

// sweepV1 removes what has been left in a hierarchy by those owners whom condemned names, and reports whether nothing of
// theirs is left. Their processes were killed with their cgroup v2.
func sweepV1(dir string, condemned func(owner) bool) (clean bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return isGone(err)
	}
	clean = true
	for _, e := range entries {
		if o, ok := parseBase(e.Name()); ok && e.IsDir() && condemned(o) {
			clean = removeCgroup(unix.AT_FDCWD, filepath.Join(dir, e.Name()), time.Now().Add(removeBound)) == nil && clean
		}
	}
	return clean
}
