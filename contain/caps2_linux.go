package contain

import (
	"fmt"
	"math"
	"strconv"

	"golang.org/x/sys/unix"
)

// capV2 sets one cap on the cgroup path, whose parents have the controller enabled.
func capV2(path string, kind LimitKind, l Limits) (*axis, error) {
	fd, err := openat(unix.AT_FDCWD, path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, cgroupRefusal(kind, "the group's cgroup cannot be opened", err)
	}
	a := &axis{kind: kind, path: path, dir: fd, capVersion: capsV2{}}
	effective, err := a.impose(l)
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	a.inForce(l.Of(kind), effective)
	return a, nil
}

// capsV2 are the caps of cgroup v2.
type capsV2 struct{}

func (capsV2) settings(kind LimitKind, l Limits) []setting {
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

func (v capsV2) cap(kind LimitKind, read func(file string) ([]byte, error)) (float64, error) {
	text, err := read(v.settings(kind, Limits{})[0].file)
	if err != nil {
		return 0, err
	}
	if kind == LimitCPU {
		return parseCPUMax(text)
	}
	return parseMax(text)
}

func (v capsV2) read(a *axis) (Tripped, *int64) {
	switch a.kind {
	case LimitMemory:
		ran, own, _, ok := v.kills(a)
		if !ok {
			return TripUnknown, nil
		}
		return tripped(ran, own), &own
	case LimitProcesses:
		return a.forksRefused(a.firstCounts("pids.events.local", "pids.events"))
	default:
		return a.periodsThrottled()
	}
}

// kills splits the kernel's kills in the group. The counter to go by is that of kills, and they are this cap's only if
// this cap ran out: one above, or the host, kills here too, and counts its running out there. The local file has the
// events of this very cap; the plain one has those of cgroups below as well, of which none has one.
func (capsV2) kills(a *axis) (ran, own, outside int64, ok bool) {
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

func (v capsV2) outside(a *axis) *int64 {
	if a.kind != LimitMemory {
		return nil
	}
	_, _, outside, ok := v.kills(a)
	if !ok {
		return nil
	}
	return &outside
}

func (capsV2) peak(a *axis) *int64 {
	switch a.kind {
	case LimitMemory:
		return a.number("memory.peak") // Linux 5.19
	case LimitProcesses:
		return a.number("pids.peak") // Linux 6.1 and some
	}
	return nil
}
