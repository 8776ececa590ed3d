package contain

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Between the fork and the exec of a child Go lets nobody act, and some of what a child can be given is to be set there:
// resource limits belong to a whole process, and a parent that lowers its own for a moment lowers them for all that it
// does, and may be unable to raise them again; after the exec the program is at work already, and a child that has become
// somebody else is out of our reach. So such a child is born as a stage: this very program, executed under another name,
// which sets what is to be set for itself and then executes the program that is meant. It needs no cooperation from the
// mechanism that holds the tree: a leaf, a keeper and a process group hold a stage as they hold any program. It costs
// about 10 ms, a dozen threads at most and 10 MiB for the moment, in the tree's own account, and only those starts that
// ask for it.
//
// Its descriptors are 0 to 2, the null device, so that nothing of its own shows in the program's streams; 3, a socket to
// its owner; and from 4 on those that the program is to have.
const (
	roleStage  = "stage"
	stageFirst = 4
)

// stageProcess is this process as a stage.
type stageProcess struct {
	socket int
	report [headSize + stepBody]byte
}

// serveStage becomes what the owner says, and does not come back. The caller is the main thread, to which priorities and
// processors belong: exec keeps those of the thread that calls it.
func serveStage(files int) {
	debug.SetGCPercent(-1)
	s := stageProcess{}
	s.report[0] = messageStep
	binary.LittleEndian.PutUint32(s.report[1:], stepBody)
	// Out of the way of the program's descriptors.
	var err error
	if s.socket, err = unix.FcntlInt(helperSocket, unix.F_DUPFD_CLOEXEC, stageFirst+files); err != nil {
		quit(3)
	}
	m, err := link{fd: s.socket}.receive()
	if err != nil || m.kind != messageOrder {
		quit(3)
	}
	spec, shielded, ok := unpackStage(m.body)
	if !ok {
		quit(3)
	}
	s.arrange(files)
	if spec.Terminal {
		s.attempt(StepConfine, unix.IoctlSetInt(0, unix.TIOCSCTTY, 0))
	}
	image, err := imageOf(spec)
	s.attempt(StepExec, err)
	spec.apply(s.attempt, shielded)
	// From here on nothing is allocated: there may be no more memory to be had.
	if l := spec.Rlimits.Data; l != nil && !raises(l) {
		s.attempt(StepRlimits, unix.Prlimit(0, unix.RLIMIT_DATA, &unix.Rlimit{Cur: l.Soft, Max: l.Hard}, nil))
	}
	s.say(0, 0)
	s.attempt(StepExec, image.exec())
}

// arrange gives the program its descriptors, in ascending order: each is taken from where it stands before that is
// given away.
func (s *stageProcess) arrange(files int) {
	for fd := range files {
		s.attempt(StepStage, unix.Dup3(stageFirst+fd, fd, 0))
	}
	if unix.CloseRange(uint(files), ^uint(0), unix.CLOSE_RANGE_CLOEXEC) != nil {
		for fd := files; fd < stageFirst+files; fd++ {
			unix.CloseOnExec(fd) // Go has opened all others close-on-exec
		}
	}
}

// attempt ends the stage if a step failed.
func (s *stageProcess) attempt(step StartStep, err error) {
	if err == nil {
		return
	}
	errno := syscall.EINVAL
	_ = errors.As(err, &errno)
	for i, name := range stageSteps {
		if name == step {
			s.say(byte(i), errno)
		}
	}
	quit(3)
}

// say tells the owner, and allocates nothing.
func (s *stageProcess) say(step byte, errno syscall.Errno) {
	s.report[headSize] = step
	binary.LittleEndian.PutUint32(s.report[headSize+1:], uint32(errno))
	_, _ = unix.Write(s.socket, s.report[:])
}

// apply makes us what spec says, in the one order that works: what takes privileges first, the user last, and only then
// the directory, which that user must be able to enter.
func (s Spec) apply(attempt func(StartStep, error), shielded bool) {
	if s.OOMScoreAdj != nil {
		attempt(StepOOMScore, os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(*s.OOMScoreAdj)), 0))
	}
	if s.Nice != nil {
		attempt(StepNice, unix.Setpriority(unix.PRIO_PROCESS, 0, *s.Nice))
	}
	if p := s.IOPriority; p != nil {
		_, _, errno := unix.Syscall(unix.SYS_IOPRIO_SET, 1, 0, uintptr(p.Class)<<13|uintptr(p.Level))
		attempt(StepIOPriority, failed(errno))
	}
	if s.CPUAffinity != nil {
		var set unix.CPUSet
		for _, cpu := range s.CPUAffinity {
			set.Set(cpu)
		}
		attempt(StepAffinity, unix.SchedSetaffinity(0, &set))
	}
	if s.Umask != nil {
		unix.Umask(int(*s.Umask & maskBits))
	}
	// Go raises its soft limit of descriptors when it begins, and gives it back only in an exec of its own. One of nothing
	// does.
	_ = syscall.Exec("/", nil, nil)
	for _, l := range s.Rlimits.list() {
		// A limit of data that takes no privilege is for later, since we need memory ourselves.
		if l.limit != nil && (l.resource != unix.RLIMIT_DATA || raises(l.limit)) {
			attempt(StepRlimits, unix.Prlimit(0, l.resource, &unix.Rlimit{Cur: l.limit.Soft, Max: l.limit.Hard}, nil))
		}
	}
	if s.NoCoreDumps {
		attempt(StepConfine, unix.Prlimit(0, unix.RLIMIT_CORE, &unix.Rlimit{}, nil))
	}
	if s.NoNewPrivileges {
		attempt(StepConfine, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		if shielded {
			shield()
		}
	}
	if c := s.Credential; c != nil {
		groups := make([]int, len(c.Groups))
		for i, g := range c.Groups {
			groups[i] = int(g)
		}
		attempt(StepGroups, syscall.Setgroups(groups))
		attempt(StepGroup, syscall.Setresgid(int(c.GID), int(c.GID), int(c.GID)))
		attempt(StepUser, syscall.Setresuid(int(c.UID), int(c.UID), int(c.UID)))
	}
	if s.Dir != "" {
		attempt(StepDir, unix.Chdir(s.Dir))
	}
}

func failed(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// resourceLimit is a limit with the number of its resource.
type resourceLimit struct {
	resource int
	limit    *Rlimit
}

func (l Rlimits) list() []resourceLimit {
	return []resourceLimit{
		{unix.RLIMIT_CORE, l.Core},
		{unix.RLIMIT_FSIZE, l.FSize},
		{unix.RLIMIT_STACK, l.Stack},
		{unix.RLIMIT_CPU, l.CPU},
		{unix.RLIMIT_NOFILE, l.NoFile},
		{unix.RLIMIT_DATA, l.Data},
	}
}

// raises reports whether l, of data, is beyond what our hard limit allows.
func raises(l *Rlimit) bool {
	var now unix.Rlimit
	return unix.Prlimit(0, unix.RLIMIT_DATA, nil, &now) == nil && l.Hard > now.Max
}

// image is a program with its arguments and environment as the kernel takes them.
type image struct {
	path      *byte
	argv, env []*byte
}

func imageOf(s Spec) (i image, err error) {
	var errs [3]error
	i.path, errs[0] = syscall.BytePtrFromString(s.Path)
	i.argv, errs[1] = syscall.SlicePtrFromStrings(s.Argv.Reveal())
	i.env, errs[2] = syscall.SlicePtrFromStrings(s.Env.Reveal())
	return i, errors.Join(errs[:]...)
}

// exec executes the program, and returns why it could not. It retries a busy program file, as [fork] does. It is not
// [syscall.Exec], which allocates.
func (i image) exec() error {
	for began := time.Now(); ; time.Sleep(busyPace) {
		_, _, errno := syscall.RawSyscall(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(i.path)),
			uintptr(unsafe.Pointer(&i.argv[0])), uintptr(unsafe.Pointer(&i.env[0])))
		if errno != syscall.ETXTBSY || time.Since(began) > busyBound {
			return errno
		}
	}
}

// packStage writes what a stage is to become; unpackStage reads it.
func packStage(s Spec, shielded bool) (body packed) {
	body = packOrder(s, false)
	body.number(truth(shielded))
	body.number(truth(s.NoNewPrivileges))
	body.number(truth(s.NoCoreDumps))
	if body.has(s.Umask != nil) {
		body.number(uint64(*s.Umask & maskBits))
	}
	for _, l := range s.Rlimits.list() {
		if body.has(l.limit != nil) {
			body.number(l.limit.Soft)
			body.number(l.limit.Hard)
		}
	}
	if body.has(s.Nice != nil) {
		body.number(uint64(*s.Nice))
	}
	if body.has(s.IOPriority != nil) {
		body.number(uint64(s.IOPriority.Class))
		body.number(uint64(s.IOPriority.Level))
	}
	if body.has(s.CPUAffinity != nil) {
		body.number(uint64(len(s.CPUAffinity)))
		for _, cpu := range s.CPUAffinity {
			body.number(uint64(cpu))
		}
	}
	if body.has(s.OOMScoreAdj != nil) {
		body.number(uint64(*s.OOMScoreAdj))
	}
	if body.has(s.Credential != nil) {
		body.number(uint64(s.Credential.UID))
		body.number(uint64(s.Credential.GID))
		body.number(uint64(len(s.Credential.Groups)))
		for _, g := range s.Credential.Groups {
			body.number(uint64(g))
		}
	}
	return body
}

func (p *packed) has(there bool) bool {
	p.number(truth(there))
	return there
}

func unpackStage(text []byte) (s Spec, shielded, ok bool) {
	body := &unpacker{rest: text}
	s, _, _ = unpackSpec(body)
	shielded = body.has()
	s.NoNewPrivileges, s.NoCoreDumps = body.has(), body.has()
	if body.has() {
		s.Umask = new(os.FileMode(body.number()))
	}
	for _, l := range []**Rlimit{
		&s.Rlimits.Core, &s.Rlimits.FSize, &s.Rlimits.Stack, &s.Rlimits.CPU, &s.Rlimits.NoFile, &s.Rlimits.Data,
	} {
		if body.has() {
			*l = &Rlimit{Soft: body.number(), Hard: body.number()}
		}
	}
	if body.has() {
		s.Nice = new(int(body.number()))
	}
	if body.has() {
		s.IOPriority = &IOPriority{Class: IOClass(body.number()), Level: int(body.number())}
	}
	if body.has() {
		s.CPUAffinity = []int{}
		for range body.count() {
			s.CPUAffinity = append(s.CPUAffinity, int(body.number()))
		}
	}
	if body.has() {
		s.OOMScoreAdj = new(int(body.number()))
	}
	if body.has() {
		s.Credential = &Credential{UID: uint32(body.number()), GID: uint32(body.number())}
		for range body.count() {
			s.Credential.Groups = append(s.Credential.Groups, uint32(body.number()))
		}
	}
	return s, shielded, !body.bad && len(body.rest) == 0
}

func (u *unpacker) has() bool { return u.number() != 0 }

// count is how many numbers follow.
func (u *unpacker) count() uint64 {
	n := u.number()
	if n > uint64(len(u.rest)) { // each takes a byte at least
		u.rest, u.bad = nil, true
		return 0
	}
	return n
}
