package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/internal/plaintext"
	"github.com/boombox-go/boombox/internal/procfs"
	"github.com/boombox-go/boombox/runner"
)

// markKey is the variable whose value is the nonce.
const markKey = "BOOMBOX_DEMO"

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
	e.cmd.Env = runner.InheritEnv().Set(markKey, e.nonce)
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
	found    []contain.Member
}

// String says what was found.
func (s sighting) String() string {
	if !s.possible {
		return "not looked: " + runtime.GOOS + " has no /proc"
	}
	return fmt.Sprintf("%d processes of the tool found in /proc", len(s.found))
}

// look finds every process of the tool that lives.
func (e *escape) look() sighting {
	found, err := procfs.Carrying(e.mark())
	return sighting{possible: err == nil, found: found}
}

func (e *escape) mark() string { return markKey + "=" + e.nonce }

// end kills whatever look finds until it finds nothing, bounded.
func (e *escape) end() sighting {
	deadline := time.After(2 * time.Second)
	pace := time.NewTicker(10 * time.Millisecond)
	defer pace.Stop()
	for {
		left := e.look()
		if len(left.found) == 0 {
			return left
		}
		for _, m := range left.found {
			_ = procfs.End(m, e.mark())
		}
		select {
		case <-pace.C:
		case <-deadline:
			return e.look()
		}
	}
}

// judge says what the look after the deadline means, and ends what was left.
func (d *demo) judge(tool *escape, held runner.Teardown, after sighting) error {
	switch {
	case !after.possible:
		return nil
	case len(after.found) == 0:
		return nil
	case held.Guarantees.Has(contain.KillTree):
		left := tool.end()
		return refused("%d processes outlived a kill that was guaranteed; %d are left", len(after.found), len(left.found))
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
	if len(left.found) > 0 {
		return refused("%d processes of the demo cannot be ended", len(left.found))
	}
	return nil
}
