package suite

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// procStat is what of /proc/PID/stat matters here.
type procStat struct {
	pid, parent int
	state       byte
	name        string
}

// readStat reads one process, false when it is gone.
func readStat(pid int) (procStat, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, false
	}
	// The name may hold spaces and parentheses: it ends at the last one.
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return procStat{}, false
	}
	rest := strings.Fields(string(b[end+1:]))
	if len(rest) < 2 {
		return procStat{}, false
	}
	parent, err := strconv.Atoi(rest[1])
	if err != nil {
		return procStat{}, false
	}
	return procStat{pid: pid, parent: parent, state: rest[0][0], name: string(b[open+1 : end])}, true
}

// Alive reports whether a process with that id runs. A zombie does not: it is dead and waits to be reaped.
func Alive(pid int) bool {
	s, ok := readStat(pid)
	return ok && s.state != 'Z' && s.state != 'X'
}

// descendants lists every process below pid, zombies included.
func descendants(pid int) []procStat {
	children := map[int][]procStat{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		n, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if s, ok := readStat(n); ok {
			children[s.parent] = append(children[s.parent], s)
		}
	}
	var all []procStat
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		for _, s := range children[next[0]] {
			all = append(all, s)
			next = append(next, s.pid)
		}
	}
	return all
}

// descriptors are our open descriptors and what they are.
func descriptors() map[string]string {
	fds := map[string]string{}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fds
	}
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil { // the descriptor of the listing itself
			continue
		}
		// The runtime's own, opened with the first use of its poller.
		if target == "anon_inode:[eventpoll]" || target == "anon_inode:[eventfd]" {
			continue
		}
		fds[e.Name()] = target
	}
	return fds
}

// cgroups lists boombox's cgroups under every cgroup mount, v1 and v2, whose names tell that this process made them.
func cgroups() []string {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	var found []string
	for line := range strings.Lines(string(mounts)) {
		before, after, ok := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if !ok || !strings.HasPrefix(after, "cgroup") || len(fields) < 5 {
			continue
		}
		walkCgroups(fields[4], &found)
	}
	return found
}

func walkCgroups(dir string, found *[]string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), "boombox-") && slices.Contains(strings.Split(e.Name(), "-"), strconv.Itoa(os.Getpid())) {
			*found = append(*found, path)
		}
		walkCgroups(path, found)
	}
}
