package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/internal/plaintext"
	"github.com/boombox-go/boombox/runner"
)

// escape is the tool of the demo's first step, and how its processes are found whoever holds them: by a nonce in the
// environment that they inherit.
type escape struct {
	cmd   *runner.Cmd
	nonce string
	ready chan struct{}
}

func newEscape() *escape {
	e := &escape{nonce: rand.Text(), ready: make(chan struct{})}
	argv := fixtures.Argv("escapees")
	e.cmd = runner.Command(argv[0], argv[1:]...)
	e.cmd.Env = runner.InheritEnv().Set("BOOMBOX_DEMO", e.nonce)
	e.cmd.Timeout = time.Second
	e.cmd.Output.Stdout.Tee = &firstLine{closed: e.ready}
	return e
}

// firstLine closes its channel at the first line end.
type firstLine struct {
	once   sync.Once
	closed chan struct{}
}

// Write implements [io.Writer].
func (f *firstLine) Write(p []byte) (int, error) {
	if bytes.IndexByte(p, '\n') >= 0 {
		f.once.Do(func() { close(f.closed) })
	}
	return len(p), nil
}

// awaitReady waits until the tool says that its escapees are out, or is over.
func (e *escape) awaitReady(process *runner.Process) {
	select {
	case <-e.ready:
	case <-process.Settled():
	}
}

// sighting is what a look at the process table found.
type sighting struct {
	possible bool
	pids     []int
}

// String says what was found.
func (s sighting) String() string {
	if !s.possible {
		return "not looked: " + runtime.GOOS + " has no /proc"
	}
	return fmt.Sprintf("%d processes of the tool found in /proc", len(s.pids))
}

// look reads /proc/PID/environ of every process. One that belongs to somebody else, or is gone, cannot be read and is
// not the tool's; that of a zombie is empty.
func (e *escape) look() sighting {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	s := sighting{possible: len(files) > 0}
	for _, file := range files {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && e.owns(pid) {
			s.pids = append(s.pids, pid)
		}
	}
	return s
}

func (e *escape) owns(pid int) bool {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && bytes.Contains(append([]byte{0}, environ...), []byte("\x00BOOMBOX_DEMO="+e.nonce+"\x00"))
}

// end kills whatever look finds until it finds nothing, bounded.
func (e *escape) end() sighting {
	deadline := time.After(2 * time.Second)
	pace := time.NewTicker(10 * time.Millisecond)
	defer pace.Stop()
	for {
		left := e.look()
		if len(left.pids) == 0 {
			return left
		}
		for _, pid := range left.pids {
			e.kill(pid)
		}
		select {
		case <-pace.C:
		case <-deadline:
			return e.look()
		}
	}
}

// kill kills by identity. FindProcess takes hold of the process with that id now (a pidfd, on Linux), and only then is
// it asked whose it is: no other process can come between.
func (e *escape) kill(pid int) {
	process, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	defer func() { _ = process.Release() }()
	if e.owns(pid) {
		_ = process.Kill()
	}
}

// judge says what the look after the deadline means, and ends what was left.
func (d *demo) judge(tool *escape, held runner.Teardown, after sighting) error {
	switch {
	case !after.possible:
		return nil
	case len(after.pids) == 0:
		return nil
	case held.Guarantees.Has(contain.KillTree):
		left := tool.end()
		return refused("%d processes outlived a kill that was guaranteed; %d are left", len(after.pids), len(left.pids))
	}
	d.say("                        A %s loses whoever leaves it, which is why it does not guarantee kill-tree.\n",
		held.Mechanism)
	for _, rung := range contain.Host().Rungs {
		if rung.Guarantees.Has(contain.KillTree) && !rung.Available {
			d.say("                        This host has no %s: %s\n", rung.Mechanism, plaintext.Line(rung.Reason))
		}
	}
	left := tool.end()
	d.say("                        The demo ended them itself: %s\n", left)
	if len(left.pids) > 0 {
		return refused("%d processes of the demo cannot be ended", len(left.pids))
	}
	return nil
}
