package contain

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// newThrowawayUser holds each tree below a keeper that is a subreaper, and under a user of its own whom nobody else is.
// Whoever is that user can kill all that are him with one system call, through which no fork can slip, and which reaches
// nobody else: so it is even where there is neither a cgroup nor a namespace to be had. It takes root. The program runs
// as a stranger to whom next to nothing belongs, which shows, so that this is for those who ask for it.
func newThrowawayUser() *kept {
	m := newSubreaper()
	m.users = true
	m.look = func() Rung {
		r := helperRung()
		if r.Reason == "" {
			r = lookForUsers()
		}
		r.Mechanism, r.Guarantees, r.OnRequest = ThrowawayUser, KillTree|KillForkBomb|KillOnOwnerDeath|ResistSameUID, true
		return r
	}
	return m
}

// lookForUsers kills whoever is a user who nobody is.
func lookForUsers() Rung {
	if !mayBecomeOthers() {
		return Rung{
			Reason: "making a process somebody else takes CAP_SETUID and CAP_SETGID, which root has", Err: unix.EPERM,
			Remedy: "run the program as root",
		}
	}
	u, err := takeUser()
	if err == nil {
		defer u.give()
		err = u.kill()
	}
	if err != nil {
		return Rung{Reason: "no user of its own can be had for a tree: " + err.Error(), Err: bare(err)}
	}
	return Rung{}
}

// user is one whom nobody else is as long as he is taken.
type user struct {
	id   uint32
	lock int
}

// Where users are looked for: among numbers that nobody gives to anybody, or, where few are mapped in our user namespace,
// in the upper half of those.
const (
	userFirst  = 2_000_000_000
	userCount  = 1 << 24
	userLeast  = 1 << 12
	userTries  = 64
	userPrefix = "@boombox-user-"
)

var errNoUser = errors.New("too few user and group ids are mapped in this user namespace")

// takeUser takes one at random. A socket of the kernel's, which goes with its owner, keeps other programs like this one
// from taking him too, as far as they share our network namespace; who is him already is found in /proc.
func takeUser() (*user, error) {
	first, count, ok := userRange()
	if !ok {
		return nil, errNoUser
	}
	for range userTries {
		u := &user{id: first + rand.Uint32N(count)}
		var err error
		if u.lock, err = unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
			return nil, err
		}
		err = unix.Bind(u.lock, &unix.SockaddrUnix{Name: userPrefix + strconv.FormatUint(uint64(u.id), 10)})
		var there bool
		if err == nil {
			there, err = u.exists()
		}
		if err == nil && !there {
			return u, nil
		}
		u.give()
		if err != nil && !errors.Is(err, unix.EADDRINUSE) {
			return nil, err
		}
	}
	return nil, errors.New("all of the users that were tried are somebody")
}

// number is 0 for none.
func (u *user) number() uint32 {
	if u == nil {
		return 0
	}
	return u.id
}

func (u *user) give() { _ = unix.Close(u.lock) }

// userRange is where ids are mapped for both users and groups.
func userRange() (first, count uint32, ok bool) {
	users, err1 := os.ReadFile("/proc/self/uid_map")
	groups, err2 := os.ReadFile("/proc/self/gid_map")
	if err1 != nil || err2 != nil {
		return 0, 0, false
	}
	return parseUserRange(string(users), string(groups))
}

func parseUserRange(users, groups string) (first, count uint32, ok bool) {
	ours := mapped(users)
	if theirs := mapped(groups); theirs.first > ours.first {
		ours.first = theirs.first
	}
	if theirs := mapped(groups); theirs.end < ours.end {
		ours.end = theirs.end
	}
	switch {
	case ours.first <= userFirst && ours.end >= userFirst+userCount:
		return userFirst, userCount, true
	case ours.end < ours.first+2*userLeast || ours.end < 2*userLeast:
		return 0, 0, false
	}
	middle := ours.first + (ours.end-ours.first)/2
	return uint32(middle), uint32((ours.end - middle) * 7 / 8), true // the last ones are nobody's by name
}

type idRange struct{ first, end uint64 }

// mapped is the largest range in a uid_map or a gid_map, as it is numbered here.
func mapped(text string) (r idRange) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		first, err1 := strconv.ParseUint(fields[0], 10, 32)
		count, err2 := strconv.ParseUint(fields[2], 10, 32)
		if err1 == nil && err2 == nil && count > r.end-r.first {
			r = idRange{first, first + count}
		}
	}
	return r
}

// exists reports whether somebody who is alive is this user, by any of his four names.
func (u *user) exists() (bool, error) {
	files, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		return false, err
	}
	seen := false
	for _, file := range files {
		text, err := readSmall(file)
		if err != nil {
			continue // gone meanwhile
		}
		seen = true
		if isUser(string(text), u.id) {
			return true, nil
		}
	}
	if !seen {
		return false, errors.New("/proc shows nobody")
	}
	return false, nil
}

// isUser reports whether a /proc/PID/status is of one who is that user, and alive. Whose first thread alone is dead, is.
func isUser(status string, id uint32) bool {
	name := strconv.FormatUint(uint64(id), 10)
	is, dead, threads := false, false, ""
	for line := range strings.Lines(status) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "State:":
			dead = fields[1] == "Z" || fields[1] == "X"
		case "Threads:":
			threads = fields[1]
		case "Uid:":
			for _, field := range fields[1:] {
				is = is || field == name
			}
		}
	}
	return is && (!dead || threads != "1")
}

// executionBound is how long a kill may wait for its turn on a processor, of which it takes next to nothing.
const executionBound = 2 * time.Second

// kill kills whoever is the user.
func (u *user) kill() error { return killUser(u.id) }

// killUser kills whoever is that user, by a child that is him for a moment. It cannot be done from here: who is him is in
// reach of his own. And no program is executed for it, which would have to wait for a processor among thousands who fork.
func killUser(id uint32) error {
	if id == 0 || int(id) == os.Geteuid() || int(id) == os.Getuid() {
		return unix.EINVAL
	}
	x := execution{user: uintptr(id), every: ^uint64(0), header: unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}}
	pid, errno := x.fork()
	if errno != 0 {
		return errno
	}
	l := newLeader(int(pid), -1)
	if pidfd, err := unix.PidfdOpen(l.pid, 0); err == nil {
		if !readable(uintptr(pidfd), int(executionBound/time.Millisecond)) {
			_ = unix.Kill(l.pid, unix.SIGKILL)
		}
		_ = unix.Close(pidfd)
	}
	if err := l.reap(time.Now().Add(executionBound)); err != nil {
		return err
	}
	switch status, _ := l.poll(); {
	case status.Lost:
		return nil // somebody else has waited for it: whether somebody is left, is seen all the same
	case !status.Exited():
		return errors.New("who was to kill them was killed")
	case status.Code != 0:
		return syscall.Errno(status.Code)
	}
	return nil
}

// execution is all that the child needs, in place before it is forked.
type execution struct {
	user       uintptr
	every, old uint64 // sets of signals
	header     unix.CapUserHeader
	none, left [2]unix.CapUserData
	real       uint32
	effective  uint32
	saved      uint32
}

// fork forks a child that becomes the user and kills all who are him, but itself. Its exit code is an error number, 0 for
// none. There is no Go runtime around it: it makes system calls and nothing else. Nothing of root may be left before it
// kills: root's kill would reach everybody.
//
//go:nosplit
//go:norace
func (x *execution) fork() (pid uintptr, errno syscall.Errno) {
	const setSize = 8 // bytes of a set of signals
	// What this thread is signalled for is not the child's.
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&x.every)), uintptr(unsafe.Pointer(&x.old)), setSize, 0, 0)
	pid, _, errno = syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&x.old)), 0, setSize, 0, 0)
		return pid, errno
	}
	code := uintptr(syscall.EPERM)
	_, _, e := syscall.RawSyscall(syscall.SYS_SETRESUID, x.user, x.user, x.user)
	if e == 0 {
		_, _, e = syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&x.header)), uintptr(unsafe.Pointer(&x.none)), 0)
	}
	if e == 0 {
		_, _, e = syscall.RawSyscall(syscall.SYS_CAPGET, uintptr(unsafe.Pointer(&x.header)), uintptr(unsafe.Pointer(&x.left)), 0)
	}
	if e == 0 {
		_, _, e = syscall.RawSyscall(syscall.SYS_GETRESUID, uintptr(unsafe.Pointer(&x.real)), uintptr(unsafe.Pointer(&x.effective)), uintptr(unsafe.Pointer(&x.saved)))
	}
	capable := x.left[0].Effective | x.left[0].Permitted | x.left[1].Effective | x.left[1].Permitted
	switch {
	case e != 0:
		code = uintptr(e)
	case capable == 0 && uintptr(x.real) == x.user && uintptr(x.effective) == x.user && uintptr(x.saved) == x.user:
		code = 0
		if _, _, e = syscall.RawSyscall(syscall.SYS_KILL, ^uintptr(0), uintptr(syscall.SIGKILL), 0); e != 0 && e != syscall.ESRCH {
			code = uintptr(e)
		}
	}
	for {
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, code, 0, 0)
	}
}
