package contain

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// gate lets a spawning thread into a group's cgroup v1 directories, so that what it starts is born there: a child
// inherits the v1 cgroups of the thread that forks it, and the kernel charges them before there is a child. To move the
// child afterwards would be too late, for its own children and for a full group.
//
// The thread itself counts as one of the group's processes while it is in. So the cap on processes is raised by one
// after it has come in, and lowered before it goes: members never exceed the cap, not for a moment. For the microseconds
// between, a member's fork may be refused one too early; a start that this hits is tried again.
type gate struct {
	dirs []*v1Dir

	mu sync.Mutex
	// pids is the index in dirs of the cap on processes, -1 if there is none; max is the cap.
	pids, max int
	axis      *axis
	// inside counts the threads that are in, and moves how often that has changed.
	inside int
	moves  uint64
}

// gateRetries bounds how often a start is tried again that another start may have got in the way of.
const gateRetries = 16

// through takes the thread that calls it into the group, calls f there, and takes it home. f reports an error of the
// start. The thread must be locked, and not the first one. home is false if the thread could not go back: then it must
// end.
func (g *gate) through(f func() error) (home bool, err error) {
	in := 0
	defer func() {
		// Backwards: out of the processor's cap first, which may make the thread wait.
		for home = true; in > 0; in-- {
			home = g.leave(in-1) == nil && home
		}
	}()
	for ; in < len(g.dirs); in++ {
		if err := g.enter(in); err != nil {
			return home, &StartError{Step: StepTree, Err: bare(err)}
		}
	}
	for range gateRetries {
		before := g.count()
		if err = f(); !errors.Is(err, syscall.EAGAIN) || g.count() == before {
			break
		}
	}
	return home, err
}

func (g *gate) count() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.moves
}

func (g *gate) enter(i int) error {
	if i != g.pids {
		return writeFd(g.dirs[i].tasks, "0")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := writeFd(g.dirs[i].tasks, "0"); err != nil {
		return err
	}
	g.inside++
	g.moves++
	err := g.adjust()
	if err != nil {
		g.inside--
		_ = writeFd(g.dirs[i].back, "0")
	}
	return err
}

func (g *gate) leave(i int) error {
	if i != g.pids {
		return writeFd(g.dirs[i].back, "0")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	g.moves++
	err := g.adjust()
	if homeErr := writeFd(g.dirs[i].back, "0"); err == nil {
		err = homeErr
	}
	return err
}

// adjust sets the cap to what it is for those who are in. The caller holds mu.
func (g *gate) adjust() error {
	return writeAt(g.axis.dir, "pids.max", strconv.Itoa(g.max+g.inside))
}

// resize changes the cap on processes while threads may be in, and says what it comes to.
func (g *gate) resize(most int) (effective float64, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := g.max
	g.max = most
	if err := g.adjust(); err != nil {
		g.max = was
		return 0, g.axis.refusal("pids.max", err)
	}
	effective, err = g.axis.readBack(float64(most + g.inside))
	if err != nil {
		g.max = was
		return 0, also(err, g.adjust())
	}
	return min(effective, float64(most)), nil
}

// remove removes the directories. Nobody is in them any more.
func (g *gate) remove(deadline time.Time) error {
	var errs []error
	for _, d := range g.dirs {
		d.close()
		errs = append(errs, removeCgroup(unix.AT_FDCWD, d.path, deadline))
	}
	return errors.Join(errs...)
}

// onThread runs f on a thread that runs nothing else meanwhile, and waits for it. f may change what belongs to the
// thread, as long as it undoes that; if it returns false, the thread ends and takes what it has become with it. Threads
// that Go's runtime starts meanwhile do not inherit from a locked one.
//
// It is never the first thread, whose v1 cgroup of memory is that of the whole process, and which cannot end.
func onThread(f func() (clean bool)) {
	done := make(chan struct{})
	var run func()
	run = func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			// While this goroutine holds the first thread, another gets another.
			go run()
			<-done
			runtime.UnlockOSThread()
			return
		}
		clean := f()
		close(done)
		if clean {
			runtime.UnlockOSThread()
		}
	}
	go run()
	<-done
}
