package contain

import (
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// warden is the helper that outlives its owner for a moment: when the owner dies, by whatever means, it kills the
// owner's cgroups in one directory, drains and removes them, and ends; what the owner has in cgroup v1 hierarchies, it
// removes as well. There is one for a process and a directory, not one for each group.
type warden struct {
	dir string
	// ready is closed when helper and err are set.
	ready  chan struct{}
	helper *helper
	err    error
}

// wardenIdle is how long a warden stays when the last group is closed, in case that another is made. It is short enough
// for those who count their children and descriptors when they are done.
const wardenIdle = time.Second

// startWarden starts a warden for dir, in the background.
func startWarden(program, dir string, v1 []string) *warden {
	w := &warden{dir: dir, ready: make(chan struct{})}
	go func() {
		defer close(w.ready)
		w.helper, w.err = spawnWarden(program, dir, v1)
	}()
	return w
}

func spawnWarden(program, dir string, v1 []string) (*helper, error) {
	if self().namespace == 0 {
		return nil, errors.New("this process cannot tell its own identity from /proc")
	}
	var dirs []*os.File
	defer func() {
		for _, f := range dirs {
			_ = f.Close()
		}
	}()
	for _, path := range append([]string{dir}, v1...) {
		fd, err := openat(unix.AT_FDCWD, path, unix.O_RDONLY|unix.O_DIRECTORY)
		if err == nil {
			dirs = append(dirs, os.NewFile(uintptr(fd), "cgroup"))
		} else if path == dir {
			return nil, bare(err)
		}
	}
	return startHelper(program, roleWarden, []string{self().String()}, 0, dirs...)
}

// await waits until the warden is there.
func (w *warden) await() error {
	<-w.ready
	if w.err == nil && !w.helper.alive() {
		return errors.New("it was killed")
	}
	return w.err
}

// watches reports whether the warden is there. It does not wait for one that is being started.
func (w *warden) watches() bool {
	select {
	case <-w.ready:
		return w.err == nil && w.helper.alive()
	default:
		return false
	}
}

// rest dismisses the warden: its owner's cgroups in the directory are gone.
func (w *warden) rest() {
	go func() {
		<-w.ready
		if w.err == nil {
			w.helper.end()
		}
	}()
}

// serveWarden is the warden's side.
func (h *helperProcess) serveWarden() {
	if len(h.args) != 1 || h.files < 1 {
		quit(2)
	}
	_ = h.ready(nil, -1) // if the owner is dead already, it is heard of in a moment
	for {
		// Nothing is ever asked of a warden: what can be read is the end.
		if asked, err := h.await(-1); asked || err != nil {
			break
		}
	}
	// The owner is dead, or has become another program: its descriptors are closed by that too.
	condemned := func(o owner) bool { return o.String() == h.args[0] }
	for end := time.Now().Add(wardenBound); time.Now().Before(end); {
		clean := unix.Fchdir(helperFirst) == nil && sweep(".", condemned)
		for fd := helperFirst + 1; fd < helperFirst+h.files && clean; fd++ {
			clean = unix.Fchdir(fd) == nil && sweepV1(".", condemned)
		}
		if clean {
			return
		}
	}
}

// wardenBound is how long a warden tries to remove what its owner has left. A member in uninterruptible sleep is left to
// the next program that makes a group there.
const wardenBound = time.Minute

// wardens keeps the warden of a mechanism.
type wardens struct {
	program string // as in [Options.Keeper]

	mu   sync.Mutex
	now  *warden
	idle *time.Timer
}

// watch sees to it that a warden is there, or coming, for dir, and for the directories of cgroup v1 hierarchies that v1
// finds, which is asked when there is none.
func (ws *wardens) watch(dir string, v1 func() []string) *warden {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.idle != nil {
		ws.idle.Stop()
		ws.idle = nil
	}
	if w := ws.now; w != nil {
		select {
		case <-w.ready:
			if w.dir == dir && w.watches() {
				return w
			}
			w.rest() // it is dead, or watches a directory in which nothing of ours is left
		default:
			if w.dir == dir {
				return w
			}
			w.rest()
		}
	}
	ws.now = startWarden(ws.program, dir, v1())
	return ws.now
}

// dismiss dismisses the warden at once.
func (ws *wardens) dismiss() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.idle != nil {
		ws.idle.Stop()
	}
	if ws.now != nil {
		ws.now.rest()
	}
	ws.now, ws.idle = nil, nil
}

// unused dismisses the warden after a while, unless watch is called before.
func (ws *wardens) unused() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w := ws.now
	if w == nil || ws.idle != nil {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(wardenIdle, func() {
		ws.mu.Lock()
		defer ws.mu.Unlock()
		if ws.idle == timer && ws.now == w {
			ws.now, ws.idle = nil, nil
			w.rest()
		}
	})
	ws.idle = timer
}
