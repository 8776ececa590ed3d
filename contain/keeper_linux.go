package contain

import (
	"errors"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// What an owner says to a keeper, and what the keeper answers under the same kind. Orders go to the spawner, which has a
// socket of its own for them, so that a start need not pass through two threads; all else goes to the main thread, which
// hears it while the spawner is busy, or blocked. All answers come through the one socket of every helper.
//
// The two may be heard in another order than they were said in. Nothing is asked while an order is not answered, and
// nothing ordered while a question is not; and a strike, which is not answered, says which tree it means.
const (
	// messageStart is an order: path, argv, environment, directory, whether it leads a session, whether there is a leaf, the
	// cap on processes, the number of the tree, and whom it runs as; with the descriptors of the working directory, of the
	// leaf if there is one, and of the streams and files. Answer: a step and an error number, or 0 and a pidfd.
	messageStart = 's'
	// messageRenew is an order: what messageRelease says, of a tree of which the owner knows that nobody is left. No answer:
	// whoever has come in from elsewhere since is killed.
	messageRenew = 'n'
	// messageStrike: kill all of the tree with this number. One that is still to be ordered will not start. No answer.
	messageStrike = 'k'
	// messageEmpty. Answer: 1 if nobody is alive, 0 otherwise.
	messageEmpty = 'e'
	// messageRelease: reap the first process. Answer: unreleased if nothing was done because somebody is alive; otherwise nobody is left, dead
	// or alive, and the keeper can serve the next tree, or cannot.
	messageRelease = 'r'
	// messageExit is not asked for: how the first process ended, and 1 if nobody else was alive, in which case nobody will be, and the keeper
	// can serve the next tree.
	messageExit = 'x'
)

// keeperOrders is the spawner's socket.
const keeperOrders = helperFirst

// The answers to messageRelease.
const (
	unreleased = iota
	released
	releasedSpoilt
)

// keeperProcess is this process as a keeper: the parent of one tree at a time, to which all its orphans come. It is the
// first process of a pid namespace, or a subreaper.
//
// The first process of the tree must not be reaped before its tree is dead, and all others must be, at any time. The
// kernel knows whose child a process is down to the thread: the first process is forked by the spawner, a thread of its
// own, and orphans come to the main thread, which waits for its own children alone. (Whoever is cloned as a sibling of
// the first process, with CLONE_PARENT, is the spawner's child too, and is reaped with it.)
type keeperProcess struct {
	*helperProcess
	namespaced bool
	pid        int // as /proc shows it
	// siblings lists the children of the spawner, and orphans those of the main thread; -1 if this kernel does not.
	siblings, orphans int
	pace              *unix.SchedAttr
	rlimit            [resources]unix.Rlimit
	ear               ear
	// broken is set when the spawner takes no orders any more.
	broken atomic.Bool
	// cleared tells the spawner that the main thread has ended the intruders.
	cleared chan struct{}

	// mu is held by the thread that acts on the tree: it is not released while it is struck. It is not held while the
	// spawner forks, which may block.
	mu       sync.Mutex
	tree     uint64 // the number of the latest
	user     uint32 // whom it runs as, 0 for us
	doomed   uint64 // that of one to come that is not to start
	starting bool
	leader   *leader // nil when there is none
	told     bool    // the owner knows how the leader ended
	served   int     // trees until now
	intruded bool    // somebody is left of a tree of which nobody was
}

// serveKeeper is the keeper's side. The caller is the main thread: it is, as long as the program initialises.
func (h *helperProcess) serveKeeper(namespaced bool) {
	k := &keeperProcess{helperProcess: h, namespaced: namespaced, cleared: make(chan struct{}, 1)}
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	k.pace = ownPace()
	k.rlimit = rlimits()
	pid, err := ownPID()
	if err == nil && !namespaced {
		err = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	}
	if err == nil && !isHelperSocket(keeperOrders) {
		err = unix.EBADF
	}
	self, pidfdErr := unix.PidfdOpen(os.Getpid(), 0)
	if err = errors.Join(err, pidfdErr); err != nil {
		h.ready(bare(err), -1)
		quit(1)
	}
	k.pid = pid
	k.orphans = openChildren()
	ready := make(chan struct{})
	go k.spawner(ready)
	<-ready
	if h.ready(nil, self) != nil {
		quit(1)
	}
	_ = unix.Close(self)

	for {
		asked, err := k.await(-1)
		if err != nil || k.broken.Load() || k.act(asked) != nil {
			break
		}
	}
	k.destroy()
}

// act is what the main thread does whenever it has woken.
func (k *keeperProcess) act(asked bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if asked {
		if err := k.answer(); err != nil {
			return err
		}
	}
	_ = k.reapOrphans()
	if k.intruded {
		if err := k.evict(); err != nil {
			return err
		}
		k.intruded = false
		k.cleared <- struct{}{}
	}
	_, err := k.tell(k.quiet)
	return err
}

// ready tells the owner that the helper can be used, or why not.
func (h *helperProcess) ready(err error, pidfd int) error {
	m := message{kind: messageReady}
	errno := syscall.Errno(0)
	if err != nil && !errors.As(err, &errno) {
		errno = unix.EINVAL
	}
	(*packed)(&m.body).number(uint64(errno))
	(*packed)(&m.body).number(wireVersion)
	if pidfd >= 0 {
		m.files = []int{pidfd}
	}
	return h.link.send(m)
}

func (k *keeperProcess) answer() error {
	m, err := k.link.receive()
	if err != nil {
		return err
	}
	closeAll(m.files)
	switch m.kind {
	case messageStrike:
		switch number := (&unpacker{rest: m.body}).number(); {
		case number > k.tree:
			k.doomed = number
		case number == k.tree:
			k.strike()
		}
		return nil
	case messageEmpty:
		return k.reply(m.kind, truth(k.quiet()))
	case messageRelease:
		switch {
		case !k.release():
			return k.reply(m.kind, unreleased)
		case k.spoilt():
			return k.reply(m.kind, releasedSpoilt)
		}
		return k.reply(m.kind, released)
	}
	return errMalformed
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func (k *keeperProcess) reply(kind byte, numbers ...uint64) error {
	return k.link.send(numbered(kind, numbers...))
}

// tell tells the owner how the first process ended, once, and reports whether nobody else is left, which quiet finds out.
func (k *keeperProcess) tell(quiet func() bool) (alone bool, err error) {
	if k.leader == nil || k.told {
		return false, nil
	}
	status, over := k.leader.poll()
	if !over {
		return false, nil
	}
	k.told = true
	alone = quiet()
	return alone, k.reply(messageExit, uint64(status.Code), uint64(status.Signal), truth(status.Core), truth(status.Lost),
		uint64(status.CPU), truth(alone && !k.spoilt()))
}

// quiet reports whether nobody is alive. In this order it cannot miss anybody: when the first process and its siblings
// are dead, all the others have the main thread for a parent or an ancestor, and nobody can get another one. The main
// thread asks.
func (k *keeperProcess) quiet() bool {
	if k.starting {
		return false
	}
	if k.leader != nil {
		if _, over := k.leader.poll(); !over {
			return false
		}
	}
	return !k.siblingsAlive() && k.reapOrphans()
}

func (k *keeperProcess) siblingsAlive() bool {
	if k.siblings < 0 {
		list, err := descendantsByParent(k.pid)
		for _, p := range list {
			if p.parent == k.pid && p.member().Alive() {
				return true
			}
		}
		return err != nil
	}
	text, err := reread(k.siblings)
	pids := appendPIDs(nil, text)
	if len(pids) <= 1 {
		return err != nil
	}
	for _, pid := range pids {
		if p, err := readProcess(pid); err == nil && p.member().Alive() {
			return true
		}
	}
	return false
}

// solitary is quiet for the spawner, which cannot wait for the children of the main thread, and takes nobody for dead.
// A list that is empty where it begins has been empty at that moment.
func (k *keeperProcess) solitary() bool {
	if k.orphans < 0 || k.siblingsAlive() {
		return false
	}
	text, err := reread(k.orphans)
	return err == nil && len(text) == 0
}

// openChildren opens the list of the calling thread's children, -1 if this kernel has none.
func openChildren() int {
	fd, err := openat(unix.AT_FDCWD, "/proc/thread-self/children", unix.O_RDONLY)
	if err != nil {
		return -1
	}
	return fd
}

// reread reads a file of the kernel's from its beginning.
func reread(fd int) ([]byte, error) {
	if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
		return nil, err
	}
	return readFd(fd)
}

// reapOrphans reaps the dead children of this thread, and reports whether it has no other.
func (k *keeperProcess) reapOrphans() (none bool) { return reapChildren(unix.WNOTHREAD) }

func reapChildren(options int) (none bool) {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG|unix.WALL|options, nil)
		switch {
		case err == nil && pid > 0 || errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ECHILD):
			return true
		default:
			return false
		}
	}
}

// release reaps the first process and makes the keeper fit for the next tree, unless somebody is alive.
func (k *keeperProcess) release() bool {
	if !k.quiet() {
		return false
	}
	if _, err := k.tell(k.quiet); err != nil {
		return false
	}
	return k.clear()
}

// clear is release for whoever knows that nobody of the tree is alive, and the owner how it ended.
func (k *keeperProcess) clear() bool {
	if k.leader != nil {
		if k.leader.reap(time.Now().Add(removeBound)) != nil {
			return false
		}
		k.leader = nil
	}
	if !reapChildren(0) {
		return false
	}
	// Somebody may have entered the namespace from outside, as nobody's orphan.
	if k.namespaced && !errors.Is(unix.Kill(-1, 0), unix.ESRCH) {
		return false
	}
	k.user = 0
	if k.served++; k.served%garbageTrees == 0 {
		k.collectGarbage()
	}
	return true
}

// resources is how many resources Linux limits.
const resources = unix.RLIMIT_RTTIME + 1

func rlimits() (all [resources]unix.Rlimit) {
	for i := range all {
		_ = unix.Prlimit(0, i, nil, &all[i])
	}
	return all
}

// spoilt reports whether somebody has changed our limits, which a child of our own user can: the next tree is not to suffer from it.
func (k *keeperProcess) spoilt() bool { return rlimits() != k.rlimit }

// evict ends whoever has come in.
func (k *keeperProcess) evict() error {
	for end := time.Now().Add(wardenBound); !k.release(); {
		if time.Now().After(end) {
			return errOccupied
		}
		k.strike()
	}
	return nil
}

var errOccupied = errors.New("somebody has come in who does not die")

// How much a keeper lets lie about, in bytes, and after how many trees it looks. (A tree leaves tens of kilobytes, or twice its arguments
// and environment.)
const (
	garbageBound = 16 << 20
	garbageTrees = 16
)

// collectGarbage asks for what lies about in a way that does not stop the world, as [runtime.ReadMemStats] does.
func (k *keeperProcess) collectGarbage() {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	if metrics.Read(heap); heap[0].Value.Uint64() > garbageBound {
		runtime.GC()
	}
}

// destroy ends the tree when the owner is gone. In a namespace the kernel does, when its first process ends.
func (k *keeperProcess) destroy() {
	if k.namespaced {
		return
	}
	for end := time.Now().Add(wardenBound); time.Now().Before(end); {
		if k.destroyed() {
			return
		}
		time.Sleep(drainPaceMin)
	}
}

func (k *keeperProcess) destroyed() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.strike()
	return k.quiet()
}

// ownPID is our process id as /proc shows it: in a pid namespace of our own it is not what the kernel tells us.
func ownPID() (int, error) {
	link, err := os.Readlink("/proc/self")
	if err != nil {
		return 0, bare(err)
	}
	return strconv.Atoi(link)
}
