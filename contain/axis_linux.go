package contain

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// axis is one cap, set on one directory. The counters are read through the directory's descriptor, opened when it was
// made: no name is looked up again that somebody could have put something else at.
type axis struct {
	kind LimitKind
	path string
	dir  int // the directory's descriptor
	capVersion

	// max is the cap in force, effective the smallest up to the root, and lowest the smallest that max ever was: what is
	// counted may have been refused by that one.
	max, effective, lowest float64
}

// capVersion is what the two versions of cgroups spell differently. What cannot be read is nil and [TripUnknown].
type capVersion interface {
	// settings are the files for one cap, in the order in which they are written to lower it.
	settings(kind LimitKind, l Limits) []setting
	// cap is the cap in force in a directory, through a function that reads its files.
	cap(kind LimitKind, read func(file string) ([]byte, error)) (float64, error)
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

// impose sets the cap to what l has, and reads it back: effective is the smallest up to the root.
func (a *axis) impose(l Limits) (effective float64, err error) {
	files := a.settings(a.kind, l)
	want := l.Of(a.kind)
	if now, err := a.now(); err == nil && want > now {
		slices.Reverse(files) // one file may not be above another
	}
	for _, s := range files {
		err := writeAt(a.dir, s.file, s.text)
		if err != nil && !(s.optional && errors.Is(err, unix.ENOENT)) {
			return 0, a.refusal(s.file, err)
		}
	}
	return a.readBack(want)
}

func (a *axis) refusal(file string, err error) *LimitError {
	if a.kind == LimitMemory && errors.Is(err, unix.EBUSY) {
		return &LimitError{
			Kind: a.kind, Reason: LimitInUse, Detail: "the group holds more, and the kernel cannot take it back", Err: bare(err),
		}
	}
	return cgroupRefusal(a.kind, file+" cannot be set", err)
}

// now is the cap as the kernel has it.
func (a *axis) now() (float64, error) {
	return a.cap(a.kind, func(file string) ([]byte, error) { return readAt(a.dir, file) })
}

// readBack reads what the kernel made of the cap. Memory is rounded down to pages.
func (a *axis) readBack(want float64) (effective float64, err error) {
	got, err := a.now()
	if err != nil && !errors.Is(err, errCapFile) {
		return 0, cgroupRefusal(a.kind, "the cap cannot be read back", err)
	}
	below, above := 0.0, 0.0
	switch a.kind {
	case LimitMemory:
		below = maxPage
	case LimitCPU:
		below, above = 1.0/cpuPeriod, 1.0/cpuPeriod // it was rounded by us
	}
	if err != nil || got > want+above || got < want-below {
		return 0, &LimitError{
			Kind: a.kind, Reason: LimitReadback, Detail: fmt.Sprintf("the kernel has %v after %v was set", got, want), Err: err,
		}
	}
	return min(got, a.smallestAbove()), nil
}

// maxPage is the largest page there is: 64 KiB, on some arm64 and ppc64.
const maxPage = 64 << 10

// smallestAbove is the smallest such cap of the cgroups above, as far as these are to be seen. What a cgroup does not say
// is no cap: the root has none of these files.
func (a *axis) smallestAbove() float64 {
	smallest := unlimited
	for dir := a.path; ; {
		i := strings.LastIndexByte(dir, '/')
		if i <= 0 {
			return smallest
		}
		dir = dir[:i]
		if unix.Access(dir+"/cgroup.procs", unix.F_OK) != nil {
			return smallest
		}
		if n, err := a.cap(a.kind, func(file string) ([]byte, error) { return readSmall(dir + "/" + file) }); err == nil {
			smallest = min(smallest, n)
		}
	}
}

// inForce notes what the cap is now.
func (a *axis) inForce(most, effective float64) {
	if a.lowest == 0 || most < a.lowest {
		a.lowest = most
	}
	a.max, a.effective = most, effective
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
			if peak, err := parseMax(text); err == nil && peak < a.lowest {
				n = 0
			}
		}
	}
	return tripped(n, 0), &n
}

// periodsThrottled reads a cpu.stat file.
func (a *axis) periodsThrottled() (Tripped, *int64) {
	text, _ := readAt(a.dir, "cpu.stat")
	n, ok := parseCount(text, "nr_throttled")
	if !ok {
		return TripUnknown, nil
	}
	return tripped(n), &n
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

func readAt(dir int, file string) ([]byte, error) {
	fd, err := openCgroup(dir, file, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	return readFd(fd)
}

func writeAt(dir int, file, text string) error {
	fd, err := openCgroup(dir, file, unix.O_WRONLY)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return writeFd(fd, text)
}
