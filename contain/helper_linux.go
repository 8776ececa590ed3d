package contain

import (
	"errors"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The helper program is this very program, executed again under another name: whoever links this package has it. It has
// four roles: the warden, which kills a dead owner's cgroups; the keeper, below which trees are held; the relay, which
// makes a keeper in a user namespace; and the holder, without which a scope of systemd would be empty. (A stage is the
// same program in a role that does not last; see stage_linux.go.)
//
// Its descriptors are 0 to 2, the null device; 3, a socket to its owner; 4, a pidfd of its owner; and from 5 on what
// its role needs.
const (
	helperName   = "boombox-keeper"
	helperSocket = 3
	helperOwner  = 4
	helperFirst  = 5
)

// The roles. Each comes with its own arguments.
const (
	roleWarden = "warden"
	roleKeeper = "keeper"
	roleRelay  = "relay"
	roleHolder = "holder"
	// roleCounted is no role of a helper: it only tries out whether it is counted.
	roleCounted = "counted"
)

// init turns this process into a helper if it was started as one, and does not come back then. Two things must agree
// that it was, the name and the socket, so that no program is turned by its arguments alone.
func init() {
	if len(os.Args) < 3 || os.Args[0] != helperName || !isHelperSocket(helperSocket) {
		return
	}
	files, err := strconv.Atoi(os.Args[2])
	if err != nil || files < 0 {
		quit(2)
	}
	if os.Args[1] == roleStage {
		serveStage(files)
		quit(3)
	}
	h := helperProcess{link: link{fd: helperSocket}, args: os.Args[3:], files: files}
	h.settle()
	switch os.Args[1] {
	case roleWarden:
		h.serveWarden()
	case roleKeeper:
		h.serveKeeper(os.Getpid() == 1)
	case roleRelay:
		h.serveRelay()
	case roleHolder:
		h.serveHolder()
	case roleCounted:
		serveCounted()
	default:
		quit(2)
	}
	quit(0)
}

// quit ends a helper at once: [os.Exit] would do more, and nothing of that is for a helper.
func quit(code int) { syscall.Exit(code) }

func isHelperSocket(fd int) bool {
	domain, err1 := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	kind, err2 := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	return err1 == nil && err2 == nil && domain == unix.AF_UNIX && kind == unix.SOCK_SEQPACKET
}

// helperProcess is this process as a helper.
type helperProcess struct {
	link link
	args []string
	// files is how many descriptors its role was given, from helperFirst on.
	files int
	// childDied is readable when children have died since it was last read.
	childDied int
}

// settle makes itself at home. A helper shares nothing with its owner: it has a session of its own, it stands in no
// directory that could be unmounted, and it holds no descriptor but those it was given.
func (h *helperProcess) settle() {
	// A collection stops the world, and waits for a fork that blocks. A keeper collects between two trees.
	debug.SetGCPercent(-1)
	_ = unix.Chdir("/")
	setName(helperName)
	for fd := helperSocket; fd < helperFirst+h.files; fd++ {
		unix.CloseOnExec(fd)
	}
	_ = unix.CloseRange(uint(helperFirst+h.files), ^uint(0), 0)
	var err error
	if h.childDied, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		quit(3)
	}
	h.catch()
}

// catch makes the helper deaf to what would end it. A signal is caught and not ignored, because what is ignored stays
// so in every child; and what was ignored from the start stays so, as it would without a helper. Go dies of a SIGSEGV
// that somebody sends it, but not if it is told that the signal is wanted; of its own faults it dies all the same.
func (h *helperProcess) catch() {
	signals := make(chan os.Signal, 1)
	for _, sig := range []syscall.Signal{
		unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGILL, unix.SIGTRAP, unix.SIGABRT, unix.SIGBUS, unix.SIGFPE,
		unix.SIGUSR1, unix.SIGSEGV, unix.SIGUSR2, unix.SIGPIPE, unix.SIGALRM, unix.SIGTERM, unix.SIGCHLD, unix.SIGTSTP,
		unix.SIGTTIN, unix.SIGTTOU, unix.SIGXCPU, unix.SIGXFSZ, unix.SIGVTALRM, unix.SIGIO, unix.SIGPWR, unix.SIGSYS,
	} {
		if sig == unix.SIGCHLD || !signal.Ignored(sig) {
			signal.Notify(signals, sig)
		}
	}
	go func() {
		for range signals {
			h.wake()
		}
	}()
}

func (h *helperProcess) wake() { ring(h.childDied) }

// ring makes an eventfd readable.
func ring(eventfd int) { _, _ = unix.Write(eventfd, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }

// await waits until a message has come (true), a child has died, another of the descriptors is readable, or timeout
// milliseconds are over (-1: never). If the owner has died, or has let go of the socket, it returns errOrphaned.
func (h *helperProcess) await(timeout int, others ...int) (asked bool, err error) {
	set := []unix.PollFd{
		{Fd: helperOwner, Events: unix.POLLIN}, {Fd: helperSocket, Events: unix.POLLIN}, {Fd: int32(h.childDied), Events: unix.POLLIN},
	}
	for _, fd := range others {
		set = append(set, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	if _, err := unix.Poll(set, timeout); err != nil && !errors.Is(err, unix.EINTR) {
		return false, err
	}
	switch {
	case set[0].Revents != 0:
		return false, errOrphaned
	case set[1].Revents&unix.POLLIN != 0:
		return true, nil
	case set[1].Revents != 0:
		return false, errOrphaned
	case set[2].Revents != 0:
		var count [8]byte
		_, _ = unix.Read(h.childDied, count[:])
	}
	return false, nil
}

var errOrphaned = errors.New("the owner is gone")

// setName is what shows in listings of processes, in place of the name of the file that was executed.
func setName(name string) {
	if p, err := unix.BytePtrFromString(name); err == nil {
		_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(p)), 0, 0, 0)
	}
}
