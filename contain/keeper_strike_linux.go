package contain

import (
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// How long a keeper stays with those whom it has killed, which spares its owner to ask, and to strike, again and again
// while they die; and how often it looks. Meanwhile it hears nothing.
const (
	strikeBound   = 50 * time.Millisecond
	strikePaceMax = time.Millisecond
	strikeLooks   = 4
)

// strike kills whoever is there, and waits a moment for them to be gone. In a namespace one system call kills them all,
// and no fork can slip through it.
func (k *keeperProcess) strike() {
	hurry(0)
	defer k.calm()
	k.ear.close(striking)
	defer k.ear.open(striking)
	if k.namespaced {
		_ = unix.Kill(-1, unix.SIGKILL)
	}
	if k.user != 0 {
		_ = killUser(k.user)
	}
	struck := map[int]bool{}
	pace, looks := drainPaceMin, 0
	for end := time.Now().Add(strikeBound); time.Now().Before(end); pace = min(2*pace, strikePaceMax) {
		// To list hundreds who are struck and about to die takes its time: who finds nobody else looks for them less often.
		if looks++; !k.namespaced && (looks <= strikeLooks || looks%strikeLooks == 0) && k.hunt(struck) {
			pace, looks = drainPaceMin, 0
		}
		if k.quiet() {
			return
		}
		if k.starting || k.siblings < 0 {
			break
		}
		left := unix.NsecToTimespec(int64(pace))
		_ = ignoringEINTR(func() error { return unix.Nanosleep(&left, &left) })
	}
	if !k.namespaced {
		_, _ = signalDescendants(k.pid, unix.SIGKILL)
	}
}

// hurry lets a thread run before all others, where the system allows it, 0 for the calling one: who kills must not have to wait for a
// processor among hundreds who fork, or die. What the thread forks does not hurry.
func hurry(thread int) {
	_ = unix.SchedSetAttr(thread, &unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}, 0)
}

// ownPace is how the calling thread is scheduled.
func ownPace() *unix.SchedAttr {
	pace, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return &unix.SchedAttr{}
	}
	if pace.Policy != unix.SCHED_DEADLINE {
		pace.Runtime, pace.Deadline, pace.Period = 0, 0, 0 // they tell what the kernel has chosen; to set them is another thing
	}
	return pace
}

// calm makes the calling thread what it was when the keeper began. Its owner may have made it hurry before it was told to strike.
func (k *keeperProcess) calm() {
	if unix.SchedSetAttr(0, k.pace, 0) != nil {
		// We are not what our owner is, and may not take back what it has said of forks, of which this thread makes none.
		pace := *k.pace
		pace.Flags |= unix.SCHED_FLAG_RESET_ON_FORK
		_ = unix.SchedSetAttr(0, &pace, 0)
	}
}

// ear hears SIGCHLD, of which each death is one, unless there is a reason not to: to be told of hundreds one by one, in a
// handler, takes longer than they take to die, and to be told of one as long as a short program takes. The kernel then
// drops it, as a signal that is ignored by default. (A default is not SIG_IGN, with which there would be no zombies.)
type ear struct {
	mu      sync.Mutex
	closed  reason // all that there are
	handler sigaction
}

// reason is a set of reasons for not hearing SIGCHLD.
type reason uint8

const (
	striking reason = 1 << iota
	young
)

func (e *ear) close(why reason) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed == 0 {
		var byDefault sigaction
		change(unix.SIGCHLD, &byDefault, &e.handler)
	}
	e.closed |= why
}

func (e *ear) open(why reason) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed == why {
		var byDefault sigaction
		change(unix.SIGCHLD, &e.handler, &byDefault)
	}
	e.closed &^= why
}

// sigaction is larger than the kernel's on any architecture: what is in it is not looked at.
type sigaction [64]byte

func change(sig syscall.Signal, now, old *sigaction) {
	const mask = 8 // bytes of a set of signals; where it is another number, nothing is changed
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(now)), uintptr(unsafe.Pointer(old)), mask, 0, 0)
}

// hunt kills our children, but for those struck before, and reports whether there were any. Who dies leaves their
// children to us: so it comes to everybody below a subreaper, from the top down, unless somebody does not die. And of
// our children a number is enough, where it takes a pidfd and more for others: it is theirs until we wait for them.
func (k *keeperProcess) hunt(struck map[int]bool) (more bool) {
	for _, fd := range [...]int{k.orphans, k.siblings} {
		text, _ := reread(fd)
		for _, pid := range appendPIDs(nil, text) {
			if struck[pid] {
				continue
			}
			struck[pid] = true
			var info unix.Siginfo
			err := ignoringEINTR(func() error {
				return unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
			})
			if err == nil && childOf(&info).pid == 0 { // a child of ours, and alive
				_ = unix.Kill(pid, unix.SIGKILL)
				more = true
			}
		}
	}
	return more
}
