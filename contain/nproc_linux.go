package contain

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A cap on processes without a cgroup. The kernel holds a user to RLIMIT_NPROC by counting the user's tasks, and since
// Linux 5.14 it counts them for each user namespace by itself: in a fresh one the limit is a cap on a tree. Nobody in it
// can raise it (that takes CAP_SYS_RESOURCE outside of all user namespaces), nor get around it by another user (there is
// one), by another user namespace (what is in that is counted here too) or by privileges (it has none: the child is not
// its root). Only the user 0 of the host is not counted, whatever namespace it is in.
//
// The namespace counts one tree, and a group may have several. So the first tree gets the whole cap, and as long as it is
// there, no other can start.

// taskBudget is the cap of one group.
type taskBudget struct {
	most int

	mu   sync.Mutex
	held bool
	// seen is set when a start was refused: nobody else tells.
	seen bool
}

// take takes the whole budget for one tree, or refuses as the kernel would.
func (b *taskBudget) take() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held {
		b.seen = true
		return &StartError{Step: StepTree, Err: &LimitHit{Kind: LimitProcesses, Max: float64(b.most), Err: unix.EAGAIN}}
	}
	b.held = true
	return nil
}

func (b *taskBudget) give() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = false
}

// evidence: the kernel does not count what it refuses here.
func (b *taskBudget) evidence() Evidence {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := LimitEvidence{Kind: LimitProcesses, Max: float64(b.most), Effective: float64(b.most)}
	var own unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &own) == nil && own.Cur < uint64(b.most) {
		l.Effective = float64(own.Cur)
	}
	if b.seen {
		l.Tripped = HasTripped
	}
	return Evidence{Limits: []LimitEvidence{l}}
}

// update: each process has its own copy of the limit.
func (b *taskBudget) update(l Limits) error {
	if err := l.fixed(Limits{Processes: b.most}); err != nil {
		return err
	}
	if l.Processes == b.most {
		return nil
	}
	return &LimitError{
		Kind: LimitProcesses, Reason: LimitFixed, Detail: "it is a limit that every process has for itself, which cannot be changed in all at once",
		Hint: "make another group",
	}
}

// countTree makes a child that is stopped before its first instruction the only user of its user namespace, and sets the
// limit. It runs on the thread that started the child. /proc may not be that of our pid namespace, so it knows the child by
// another number.
func countTree(pid, pidfd, most int) error {
	if err := awaitExec(pid); err != nil {
		return err
	}
	number, err := pidOf(pidfd)
	if err == nil && number <= 0 {
		err = os.ErrProcessDone
	}
	if err != nil {
		return err
	}
	dir, err := openat(unix.AT_FDCWD, "/proc/"+strconv.Itoa(number), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(dir) }()
	uid, gid := strconv.Itoa(os.Geteuid()), strconv.Itoa(os.Getegid())
	for _, w := range [][2]string{{"setgroups", "deny"}, {"uid_map", uid + " " + uid + " 1"}, {"gid_map", gid + " " + gid + " 1"}} {
		if err := writeAt(dir, w[0], w[1]); err != nil {
			return err
		}
	}
	limit := &unix.Rlimit{Cur: uint64(most), Max: uint64(most)}
	if err := unix.Prlimit(pid, unix.RLIMIT_NPROC, limit, nil); err != nil {
		return err
	}
	return unix.PtraceDetach(pid)
}

// awaitExec waits until a traced child stops because it has executed its program.
func awaitExec(pid int) error {
	var status unix.WaitStatus
	err := ignoringEINTR(func() error {
		_, err := unix.Wait4(pid, &status, unix.WALL, nil)
		return err
	})
	if err == nil && !status.Stopped() {
		return errBornDead
	}
	return err
}

// discardTraced ends a child that could not be capped.
func discardTraced(pid, pidfd int) {
	_ = unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0)
	_ = unix.Close(pidfd)
	_ = ignoringEINTR(func() error {
		_, err := unix.Wait4(pid, nil, unix.WALL, nil)
		return err
	})
}

// The proof that the kernel counts by user namespace: a program that forks more often than it may. The dead count too,
// as long as nobody has waited for them.
const (
	proofTasks = 32
	proofForks = 64
	// proofRefused is what it exits with when a fork was refused.
	proofRefused = 71
)

// serveCounted forks until it is refused, or has done so often enough.
func serveCounted() {
	for range proofForks {
		if forkNothing() == unix.EAGAIN {
			quit(proofRefused)
		}
	}
	quit(0)
}

// forkNothing forks a child that ends at once. It has no Go runtime around it.
//
//go:nosplit
//go:norace
func forkNothing() syscall.Errno {
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	for errno == 0 && pid == 0 {
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
	}
	return errno
}

var errUncounted = errors.New("the kernel does not count processes by user namespace (Linux 5.14)")

// proveCount sees the kernel refuse a task in a counted tree.
func (p *keptPlace) proveCount() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	_ = unix.Close(pair[1])
	socket := os.NewFile(uintptr(pair[0]), helperName) // by which it knows that it is ours
	defer func() { _ = socket.Close() }()
	t, err := p.start(context.Background(), Spec{
		Path: "/proc/self/exe", Argv: Seal(helperName, roleCounted, "0"), Env: Seal("GOTRACEBACK=none"), Files: []*os.File{socket},
	})
	if err != nil {
		return err
	}
	timer := time.NewTimer(readyBound)
	defer timer.Stop()
	select {
	case <-t.first().done():
	case <-timer.C:
	}
	status, over := t.first().poll()
	if err := t.end(time.Now().Add(KillBound)); err != nil {
		return err
	}
	if !over || !status.Exited() || status.Code != proofRefused {
		return errUncounted
	}
	return nil
}
