package contain

import (
	"bytes"
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

// What the kernel kills first when memory is short goes by a score, and a process inherits from its parent how that is
// adjusted. A program that is spared (a service with OOMScoreAdjust=, say) would have its children spared too: in a group
// with a cap on memory the kernel then finds nobody to kill (-1000), and outside of one it kills others in their place.
// So the members of a capped group start without such favours. To be killed sooner needs no privilege, and stays.

// spared reports whether the kernel is to spare this program. One that tells nobody has nothing to inherit.
func spared() bool {
	own, err := adjustment(unix.AT_FDCWD, "/proc/self/oom_score_adj")
	return err == nil && own < 0
}

// unsparedRounds bounds how often members who were born while others were looked at are looked at as well: only who is
// spared bears such, and there are none left after a few.
const unsparedRounds = 20

// unspare sees to it that nobody in the tree is spared more than floor.
func unspare(t *cgroup2Tree, floor int) error {
	for range unsparedRounds {
		pids, err := t.pids()
		if err != nil {
			return &StartError{Step: StepConfine, Err: bare(err)}
		}
		all := true
		for _, pid := range pids {
			was, err := t.raise(pid, floor)
			if err != nil {
				return &StartError{Step: StepConfine, Err: err}
			}
			all = all && was >= floor
		}
		if all {
			return nil
		}
	}
	return &StartError{Step: StepConfine, Err: errors.New("members are born faster than they are made to be killed first")}
}

// raise raises the adjustment of one member to floor at least. It goes by a directory of /proc, which is that of one
// process and of no other that comes to its number.
func (t *cgroup2Tree) raise(pid, floor int) (was int, err error) {
	dir, err := openat(unix.AT_FDCWD, "/proc/"+strconv.Itoa(pid), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return floor, nil // it is gone, or not to be seen from here
	}
	defer func() { _ = unix.Close(dir) }()
	const file = "oom_score_adj"
	was, err = adjustment(dir, file)
	if err != nil || was >= floor || !t.holds(pid) {
		return floor, nil
	}
	err = writeAt(dir, file, strconv.Itoa(floor))
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENOENT) {
		return floor, nil
	}
	return was, err
}

func adjustment(dir int, path string) (int, error) {
	text, err := readAt(dir, path)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(bytes.TrimSpace(text)))
}
