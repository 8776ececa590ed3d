package suite

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/onsi/gomega/gleak"
	"github.com/onsi/gomega/gleak/goroutine"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/procfs"
)

// patience is how long what a suite started may take to end after the last spec.
const patience = 5 * time.Second

// snapshot is what there was before a suite ran.
type snapshot struct {
	nonce      nonce
	fds        map[string]string
	children   []contain.Member
	cgroups    []string
	goroutines []gleak.Goroutine
}

func take(n nonce) snapshot {
	return snapshot{
		nonce: n, fds: descriptors(), children: descendants(os.Getpid()), cgroups: cgroups(),
		goroutines: gleak.Goroutines(),
	}
}

// leaks lists what there is now and was not before, once patience is over.
func (s snapshot) leaks() []string {
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if left := s.look(); len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}

func (s snapshot) look() []string {
	var left []string
	for fd, target := range descriptors() {
		if was, ok := s.fds[fd]; !ok || was != target {
			left = append(left, fmt.Sprintf("descriptor %s (%s)", fd, target))
		}
	}
	known := map[int]bool{}
	for _, c := range s.children {
		known[c.PID] = true
	}
	for _, c := range descendants(os.Getpid()) {
		if !known[c.PID] {
			left = append(left, "descendant "+c.String())
			known[c.PID] = true
		}
	}
	for _, m := range s.nonce.find() {
		if !known[m.PID] {
			left = append(left, fmt.Sprintf("escaped process %s, found by the nonce in its environment", described(m.PID)))
		}
	}
	for _, dir := range cgroups() {
		if !slices.Contains(s.cgroups, dir) {
			left = append(left, "cgroup "+dir)
		}
	}
	left = append(left, s.lookGoroutines()...)
	slices.Sort(left)
	return left
}

// described says which process has the id, with its program's name where it can still be asked.
func described(pid int) string {
	if m, err := procfs.Look(pid); err == nil {
		return m.String()
	}
	return strconv.Itoa(pid)
}

func (s snapshot) lookGoroutines() []string {
	now := gleak.Goroutines()
	if ok, err := gleak.HaveLeaked(s.goroutines).Match(now); err != nil || !ok {
		return nil
	}
	// The matcher says only whether, so ask about each.
	var left []string
	for _, g := range now {
		if ok, _ := gleak.HaveLeaked(s.goroutines).Match([]goroutine.Goroutine{g}); ok {
			left = append(left, fmt.Sprintf("goroutine %d [%s] in %s, created by %s at %s", g.ID, g.State, g.TopFunction, g.CreatorFunction, g.BornAt))
		}
	}
	return left
}
