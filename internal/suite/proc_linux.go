package suite

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/procfs"
)

// descendants lists every process below pid, zombies included.
func descendants(pid int) []contain.Member {
	children := map[int][]contain.Member{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		n, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if m, err := procfs.Look(n); err == nil {
			children[m.Parent] = append(children[m.Parent], m)
		}
	}
	var all []contain.Member
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		for _, m := range children[next[0]] {
			all = append(all, m)
			next = append(next, m.PID)
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
		// A file that is removed is the same file: the runtime holds the cpu.max of our own cgroup open, and whoever takes the
		// controller back removes it.
		fds[e.Name()] = strings.TrimSuffix(target, " (deleted)")
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
