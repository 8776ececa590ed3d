package contain

import (
	"errors"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// What an owner says to a keeper, and what the keeper answers under the same kind.
const (
	// messageStart: path, argv, environment, directory, whether it leads a session, and whether there is a leaf; with the descriptors of the working
	// directory, of the leaf if there is one, and of the streams and files. Answer: a step and an error number, or 0 and a
	// pidfd. The spawner gives it.
	messageStart = 's'
	// messageStrike: kill them all. No answer.
	messageStrike = 'k'
	// messageEmpty. Answer: 1 if nobody is alive, 0 otherwise.
	messageEmpty = 'e'
	// messageRelease: reap the first process. Answer: unreleased if nothing was done because somebody is alive; otherwise nobody is left, dead
	// or alive, and the keeper can serve the next tree, or cannot.
	messageRelease = 'r'
	// messageRenew: what messageRelease says, of a tree of which the owner knows that nobody is left. No answer: whoever has come in
	// from elsewhere since is killed.
	messageRenew = 'n'
	// messageExit is not asked for: how the first process ended, and 1 if nobody else was alive, in which case nobody will be, and the keeper
	// can serve the next tree.
	messageExit = 'x'
)

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

	// starts has the order for the spawner, and orders, an eventfd, is what it waits at: a thread that the kernel wakes is there sooner
	// than one that the scheduler looks for.
	starts   chan startOrder
	orders   int
	started  chan startOutcome
	starting bool
	// siblings lists the children of the spawner, and orphans those of the main thread; -1 if this kernel does not.
	siblings, orphans int

	leader *leader // nil when there is none
	pidfd  int     // the leader's
	told   bool    // the owner knows how the leader ended
	served int     // trees until now
	pace   *unix.SchedAttr
	rlimit [resources]unix.Rlimit
}

// serveKeeper is the keeper's side. The caller is the main thread: it is, as long as the program initialises.
func (h *helperProcess) serveKeeper(namespaced bool) {
	k := &keeperProcess{
		helperProcess: h, namespaced: namespaced, starts: make(chan startOrder, 1), started: make(chan startOutcome, 1),
		pidfd: -1,
	}
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	k.pace = ownPace()
	k.rlimit = rlimits()
	pid, err := ownPID()
	if err == nil && !namespaced {
		err = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	}
	self, pidfdErr := unix.PidfdOpen(os.Getpid(), 0)
	orders, eventErr := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err = errors.Join(err, pidfdErr, eventErr); err != nil {
		h.ready(bare(err), -1)
		quit(1)
	}
	k.pid, k.orders = pid, orders
	k.orphans = openChildren()
	ready := make(chan struct{})
	go k.spawner(ready)
	<-ready
	if h.ready(nil, self) != nil {
		quit(1)
	}
	_ = unix.Close(self)

	for {
		asked, err := k.await(-1, k.watched()...)
		if asked {
			err = k.answer()
		}
		if err != nil {
			break
		}
		_ = k.reapOrphans()
		if k.collect() != nil || k.tell() != nil {
			break
		}
	}
	k.destroy()
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

// watched is the first process's pidfd, as long as it is to be heard of.
func (k *keeperProcess) watched() []int {
	if k.leader == nil || k.told {
		return nil
	}
	return []int{k.pidfd}
}

func (k *keeperProcess) answer() error {
	m, err := k.link.receive()
	if err != nil {
		return err
	}
	if err := k.collect(); err != nil {
		return err
	}
	body := unpacker{rest: m.body}
	if m.kind == messageStart {
		return k.begin(&body, m.files)
	}
	closeAll(m.files)
	switch m.kind {
	case messageStrike:
		k.strike()
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
	case messageRenew:
		return k.renew()
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
	var body packed
	for _, n := range numbers {
		body.number(n)
	}
	return k.link.send(message{kind: kind, body: body})
}

// begin hands a start to the spawner. It may block there, and the keeper still hears what it is told.
func (k *keeperProcess) begin(body *unpacker, files []int) error {
	order, ok := unpackOrder(body, files)
	if !ok || k.starting || k.leader != nil {
		closeAll(files)
		return errMalformed
	}
	k.starting = true
	k.starts <- order
	ring(k.orders)
	return nil
}

// collect takes over what the spawner has started, and told the owner.
func (k *keeperProcess) collect() error {
	select {
	case out := <-k.started:
		k.starting = false
		if out.err == nil {
			// Our own child, which nobody else waits for, needs no pidfd but to be watched.
			k.leader, k.pidfd, k.told = newLeader(out.pid, -1), out.pidfd, false
		}
		return out.unheard
	default:
		return nil
	}
}

// tell tells the owner how the first process ended, once.
func (k *keeperProcess) tell() error {
	if k.leader == nil || k.told {
		return nil
	}
	status, over := k.leader.poll()
	if !over {
		return nil
	}
	k.told = true
	return k.reply(messageExit, uint64(status.Code), uint64(status.Signal), truth(status.Core), truth(status.Lost),
		uint64(status.CPU), truth(k.quiet() && !k.spoilt()))
}

// quiet reports whether nobody is alive. In this order it cannot miss anybody: when the first process and its siblings
// are dead, all the others have the main thread for a parent or an ancestor, and nobody can get another one.
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
	if k.leader != nil {
		if k.tell() != nil || k.leader.reap(time.Now().Add(removeBound)) != nil {
			return false
		}
		_ = unix.Close(k.pidfd)
		k.leader, k.pidfd = nil, -1
	}
	if !reapChildren(0) {
		return false
	}
	// Somebody may have entered the namespace from outside, as nobody's orphan.
	if k.namespaced && !errors.Is(unix.Kill(-1, 0), unix.ESRCH) {
		return false
	}
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

// renew releases a tree of which nobody is left.
func (k *keeperProcess) renew() error {
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
		select {
		case out := <-k.started:
			k.starting = false
			if out.err == nil {
				k.leader = newLeader(out.pid, -1)
			}
		default:
		}
		k.strike()
		if k.quiet() {
			return
		}
		time.Sleep(drainPaceMin)
	}
}

// ownPID is our process id as /proc shows it: in a pid namespace of our own it is not what the kernel tells us.
func ownPID() (int, error) {
	link, err := os.Readlink("/proc/self")
	if err != nil {
		return 0, bare(err)
	}
	return strconv.Atoi(link)
}
