package contain

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cgroupMount is a mounted cgroup2 file system, or a subtree of one.
type cgroupMount struct {
	// root is the cgroup that is seen at point: "/" for all of it. Inside a cgroup namespace it counts from the
	// namespace's root, and what is above that reads "/..".
	root, point string
}

// parseMountinfo finds the cgroup2 mounts in a /proc/PID/mountinfo. Lines that it cannot read are not cgroup2 mounts.
func parseMountinfo(text []byte) []cgroupMount {
	return parseMounts(text, func(kind, _ string) bool { return kind == "cgroup2" })
}

// parseMounts finds the mounts in a /proc/PID/mountinfo whose file system type and super block options are wanted.
func parseMounts(text []byte, wanted func(kind, options string) bool) []cgroupMount {
	var mounts []cgroupMount
	for line := range bytes.Lines(text) {
		// 41 31 0:38 ROOT POINT rw,relatime [optional fields] - cgroup2 SOURCE rw
		head, tail, ok := bytes.Cut(line, []byte(" - "))
		if !ok {
			continue
		}
		fields, fs := bytes.Fields(head), bytes.Fields(tail)
		if len(fields) < 6 || len(fs) < 1 || !wanted(string(fs[0]), string(fs[len(fs)-1])) {
			continue
		}
		m := cgroupMount{root: unescapeMount(fields[3]), point: unescapeMount(fields[4])}
		if strings.HasPrefix(m.root, "/") && strings.HasPrefix(m.point, "/") {
			mounts = append(mounts, m)
		}
	}
	return mounts
}

// unescapeMount undoes the kernel's octal escapes of white space and backslashes.
func unescapeMount(field []byte) string {
	var b strings.Builder
	for i := 0; i < len(field); i++ {
		if field[i] == '\\' && i+3 < len(field) {
			if c, err := strconv.ParseUint(string(field[i+1:i+4]), 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(field[i])
	}
	return b.String()
}

var errNoCgroup2 = errors.New("no cgroup v2 membership")

// parseSelfCgroup finds the path of the cgroup2 membership in a /proc/PID/cgroup: its "0::" line.
func parseSelfCgroup(text []byte) (string, error) {
	for line := range bytes.Lines(text) {
		path, ok := bytes.CutPrefix(bytes.TrimSuffix(line, []byte("\n")), []byte("0::"))
		if !ok {
			continue
		}
		if len(path) == 0 || path[0] != '/' {
			return "", fmt.Errorf("malformed cgroup path")
		}
		if bytes.HasSuffix(path, []byte(" (deleted)")) {
			return "", errors.New("our own cgroup has been removed")
		}
		return string(path), nil
	}
	return "", errNoCgroup2
}

// under is the directory of the cgroup path within the mount, or false if it is not to be seen there. ".." are names
// like others here: what is above a namespace's root has no name that we could resolve.
func (m cgroupMount) under(path string) (string, bool) {
	root := strings.TrimSuffix(m.root, "/")
	rest, ok := strings.CutPrefix(path, root)
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	for name := range strings.SplitSeq(rest, "/") {
		if name == ".." {
			return "", false
		}
	}
	return filepath.Join(m.point, rest), true
}

// parseEvents reads a flag, populated or frozen, out of a cgroup.events file.
func parseEvents(text []byte, flag string) (set bool, err error) {
	for line := range bytes.Lines(text) {
		switch name, value, _ := strings.Cut(string(bytes.TrimSpace(line)), " "); {
		case name != flag:
		case value == "0":
			return false, nil
		case value == "1":
			return true, nil
		}
	}
	return false, errors.New("malformed cgroup.events")
}

// cgroupPopulated reports whether a process that is not a zombie is in the cgroup or below it. A cgroup that is gone is
// empty.
func cgroupPopulated(dir int) (bool, error) { return cgroupEvent(dir, "populated") }

// cgroupEvent reads a flag of a cgroup, false of one that is gone.
func cgroupEvent(dir int, flag string) (bool, error) {
	text, err := readAt(dir, "cgroup.events")
	if isGone(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return parseEvents(text, flag)
}

// cgroupKill kills every process in the cgroup and below it.
func cgroupKill(dir int) error { return writeAt(dir, "cgroup.kill", "1") }

// isGone reports whether err says that a cgroup was removed.
func isGone(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) }

// openCgroup opens the cgroup path in dir, or a file of it. A member under our own user may have taken every permission
// from it, and from those of our making above it: they are ours, and get them back.
func openCgroup(dir int, path string, flags int) (fd int, err error) {
	if fd, err = openat(dir, path, flags); errors.Is(err, unix.EACCES) {
		regain(dir, path)
		fd, err = openat(dir, path, flags)
	}
	return fd, err
}

// regain gives back the permissions of all in path that is of our making, and of dir if there is one.
func regain(dir int, path string) {
	ours := dir >= 0
	if ours {
		_ = unix.Fchmodat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(dir), 0o755, 0)
	}
	for at := 0; at < len(path); at++ {
		name, _, _ := strings.Cut(path[at:], "/")
		if at += len(name); strings.HasPrefix(name, "boombox-") {
			ours = true
		}
		if ours {
			_ = unix.Fchmodat(dir, path[:at], 0o755, 0)
		}
	}
}

// subgroups lists the names of the cgroups directly below dir.
func subgroups(dir int) ([]string, error) {
	fd, err := openCgroup(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "cgroup")
	defer func() { _ = f.Close() }()
	entries, err := f.ReadDir(-1)
	if err != nil && !isGone(err) {
		return nil, bare(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// How long removing an empty cgroup is tried again, and how often: for a moment after its last process is gone the
// kernel may still hold it.
const (
	removeBound = time.Second
	removePace  = 500 * time.Microsecond
)

// removeCgroup removes the cgroup name in dir, with all that is below it. One that is gone is removed.
func removeCgroup(dir int, name string, deadline time.Time) error {
	if limit := time.Now().Add(removeBound); deadline.After(limit) {
		deadline = limit
	}
	for {
		err := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
		if err == nil || isGone(err) {
			return nil
		}
		if errors.Is(err, unix.EACCES) {
			regain(dir, name)
		}
		if errors.Is(err, unix.EBUSY) || errors.Is(err, unix.ENOTEMPTY) {
			removeBelow(dir, name)
			err = unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
			if err == nil || isGone(err) {
				return nil
			}
		}
		if !time.Now().Before(deadline) {
			return fmt.Errorf("contain: removing an empty cgroup: %w", err)
		}
		time.Sleep(removePace)
	}
}

// removeBelow removes what it can below the cgroup name in dir. It walks with two descriptors, however deep a member
// has nested its cgroups.
func removeBelow(dir int, name string) {
	cur, err := openCgroup(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(cur) }()
	step := func(to string) bool {
		next, err := openCgroup(cur, to, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
		if err != nil {
			return false
		}
		_ = unix.Close(cur)
		cur = next
		return true
	}
	var path []string // from name down to cur
	for {
		names, err := subgroups(cur)
		if err != nil {
			return
		}
		deeper := ""
		for _, name := range names {
			if err := unix.Unlinkat(cur, name, unix.AT_REMOVEDIR); err != nil && !isGone(err) {
				deeper = name
			}
		}
		switch {
		case deeper != "":
			if !step(deeper) {
				return
			}
			path = append(path, deeper)
		case len(path) > 0:
			if !step("..") {
				return
			}
			if err := unix.Unlinkat(cur, path[len(path)-1], unix.AT_REMOVEDIR); err != nil && !isGone(err) {
				return
			}
			path = path[:len(path)-1]
		default:
			return
		}
	}
}

// cgroupPIDs appends the processes in the cgroup and below it. Zombies are not listed, and a process that is not to be
// seen from our pid namespace is listed as 0.
func cgroupPIDs(dir int, pids []int, depth int) ([]int, error) {
	fd, err := openCgroup(dir, "cgroup.procs", unix.O_RDONLY)
	if err != nil {
		if isGone(err) {
			return pids, nil
		}
		return pids, err
	}
	text, err := readFd(fd)
	_ = unix.Close(fd)
	// EOPNOTSUPP: a threaded cgroup, whose processes are listed by the domain above it.
	if err != nil && !isGone(err) && !errors.Is(err, unix.EOPNOTSUPP) {
		return pids, err
	}
	pids = appendPIDs(pids, text)
	if depth == 0 {
		return pids, nil
	}
	names, err := subgroups(dir)
	if err != nil {
		return pids, err
	}
	for _, name := range names {
		sub, err := openCgroup(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
		if err != nil {
			if isGone(err) {
				continue
			}
			return pids, err
		}
		pids, err = cgroupPIDs(sub, pids, depth-1)
		_ = unix.Close(sub)
		if err != nil {
			return pids, err
		}
	}
	return pids, nil
}
