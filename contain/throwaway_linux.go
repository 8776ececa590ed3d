package contain

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

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

// isUser reports whether a /proc/PID/status is of one who is that user, and alive.
func isUser(status string, id uint32) bool {
	name := strconv.FormatUint(uint64(id), 10)
	is := false
	for line := range strings.Lines(status) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "State:":
			if fields[1] == "Z" || fields[1] == "X" {
				return false
			}
		case "Uid:":
			for _, field := range fields[1:] {
				is = is || field == name
			}
		}
	}
	return is
}

// executionBound is how long the executioner may take, which executes a Go program.
const executionBound = 2 * time.Second

// kill kills whoever is the user. It cannot be done from here: who is him, for one moment, is in reach of his own.
func (u *user) kill() error { return killUser(u.id) }

func killUser(id uint32) error {
	ours, theirs, err := helperSockets(false)
	if err != nil {
		return err
	}
	defer func() { _, _ = ours.file.Close(), theirs.Close() }()
	pidfd := -1
	spec := Spec{
		Path: ourselves, Argv: Seal(helperName, roleExecutioner, "0", strconv.FormatUint(uint64(id), 10)),
		Env: Seal("GOMAXPROCS=1", "GOTRACEBACK=none"), Files: []*os.File{theirs},
	}
	pid, err := fork(context.Background(), spec, &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd})
	if err != nil {
		return err
	}
	l := newLeader(pid, -1)
	defer func() { _ = unix.Close(pidfd) }()
	if !readable(uintptr(pidfd), int(executionBound/time.Millisecond)) {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	if err := l.reap(time.Now().Add(executionBound)); err != nil {
		return err
	}
	switch status, _ := l.poll(); {
	case !status.Exited():
		return errors.New("who was to kill them was killed")
	case status.Code != 0:
		return syscall.Errno(status.Code)
	}
	return nil
}

// serveExecutioner becomes the user and kills all who are him, but itself. Its exit code is an error number, 0 for none.
// Nothing of root may be left before it kills: root's kill would reach everybody.
func serveExecutioner(args []string) {
	if len(args) != 1 {
		quit(int(unix.EINVAL))
	}
	id64, err := strconv.ParseUint(args[0], 10, 32)
	id := uintptr(id64)
	if err != nil || id == 0 || int(id) == os.Geteuid() || int(id) == os.Getuid() {
		quit(int(unix.EINVAL))
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none, left [2]unix.CapUserData
	// The system calls of this thread alone, and nothing between them: from here on his own can kill us.
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, id, id, id); errno != 0 {
		quit(int(errno))
	}
	if err := unix.Capset(&header, &none[0]); err != nil {
		quit(int(unix.EPERM))
	}
	if err := unix.Capget(&header, &left[0]); err != nil || left != none {
		quit(int(unix.EPERM))
	}
	if r, e, s := unix.Getresuid(); r != int(id) || e != int(id) || s != int(id) {
		quit(int(unix.EPERM))
	}
	if err := unix.Kill(-1, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		quit(int(bare(err).(syscall.Errno)))
	}
	quit(0)
}
