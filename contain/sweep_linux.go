package contain

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// owner is the process that a base belongs to.
type owner struct {
	// namespace is the inode of the pid namespace that pid is to be read in, 0 if we cannot tell our own.
	namespace uint64
	pid       int
	start     uint64
}

func (o owner) String() string { return fmt.Sprintf("boombox-%d-%d-%d", o.namespace, o.pid, o.start) }

// self is this process.
var self = sync.OnceValue(func() owner {
	o := owner{pid: os.Getpid()}
	// A /proc of another pid namespace than ours would give ids that mean nothing to us.
	if link, err := os.Readlink("/proc/self"); err != nil || link != strconv.Itoa(o.pid) {
		return o
	}
	p, err := readProcess(o.pid)
	if err != nil {
		return o
	}
	o.start = p.start
	if link, err := os.Readlink("/proc/self/ns/pid"); err == nil {
		inode := strings.TrimSuffix(strings.TrimPrefix(link, "pid:["), "]")
		o.namespace, _ = strconv.ParseUint(inode, 10, 64)
	}
	return o
})

var basePattern = regexp.MustCompile(`^boombox-([0-9]{1,20})-([0-9]{1,10})-([0-9]{1,20})-[0-9a-f]{8}$`)

// parseBase reads the owner out of the name of a base.
func parseBase(name string) (owner, bool) {
	m := basePattern.FindStringSubmatch(name)
	if m == nil {
		return owner{}, false
	}
	namespace, err1 := strconv.ParseUint(m[1], 10, 64)
	pid, err2 := strconv.Atoi(m[2])
	start, err3 := strconv.ParseUint(m[3], 10, 64)
	return owner{namespace, pid, start}, errors.Join(err1, err2, err3) == nil
}

// dead reports whether the owner has certainly ended. Of another pid namespace's processes nothing is certain.
func (o owner) dead() bool {
	if o.namespace == 0 || o.namespace != self().namespace {
		return false
	}
	p, err := readProcess(o.pid)
	if err != nil {
		return errors.Is(err, os.ErrProcessDone)
	}
	return p.start != o.start || !p.member().Alive()
}

// sweepBound is how long a sweep waits at most for the members of dead owners to go.
const sweepBound = 2 * time.Second

// sweep kills, drains and removes what has been left in a cgroup's directory by those owners whom condemned names. It
// reports whether nothing of theirs is left; what resists is left to the next process.
func sweep(dir string, condemned func(owner) bool) (clean bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return isGone(err)
	}
	clean = true
	deadline := time.Now().Add(sweepBound)
	for _, e := range entries {
		if o, ok := parseBase(e.Name()); ok && e.IsDir() && condemned(o) {
			clean = sweepBase(filepath.Join(dir, e.Name()), deadline) && clean
		}
	}
	return clean
}

func sweepBase(path string, deadline time.Time) (clean bool) {
	fd, err := openCgroup(unix.AT_FDCWD, path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return isGone(err)
	}
	left := &cgroup2Tree{path: path, dir: fd}
	defer left.release()
	drainErr := drain(left, deadline)
	return left.remove(deadline) == nil && drainErr == nil
}
