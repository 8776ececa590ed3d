package contain

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// process is what /proc/PID/stat tells of a process.
type process struct {
	pid, parent, group int
	name               string
	state              byte
	flags              uint64
	start              uint64
}

// forkedNoExec is the kernel's PF_FORKNOEXEC: forked, but did not exec.
const forkedNoExec = 0x40

func (p process) member() Member {
	return Member{PID: p.pid, Parent: p.parent, Start: p.start, State: p.state, Name: escapeName(p.name)}
}

var errStat = errors.New("malformed stat line of a process")

// parseStat reads a /proc/PID/stat line. The name stands in parentheses and may itself hold parentheses, white space
// and line breaks, so it ends at the last closing one.
func parseStat(line []byte) (process, error) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return process{}, errStat
	}
	p := process{name: string(line[open+1 : end])}
	fields := strings.Fields(string(line[end+1:])) // the third field of the line is fields[0]
	if len(fields) < 20 || len(fields[0]) != 1 {
		return process{}, errStat
	}
	p.state = fields[0][0]
	var errs [5]error
	p.pid, errs[0] = strconv.Atoi(strings.TrimSpace(string(line[:open])))
	p.parent, errs[1] = strconv.Atoi(fields[1])
	p.group, errs[2] = strconv.Atoi(fields[2])
	p.flags, errs[3] = strconv.ParseUint(fields[6], 10, 64)
	p.start, errs[4] = strconv.ParseUint(fields[19], 10, 64)
	if errors.Join(errs[:]...) != nil || p.pid < 0 || p.parent < 0 {
		return process{}, errStat
	}
	return p, nil
}

// lookMember looks a member up: one that is gone is dead, and one that cannot be looked up has an id alone.
func lookMember(pid int) Member {
	p, err := readProcess(pid)
	switch {
	case err == nil:
		return p.member()
	case errors.Is(err, os.ErrProcessDone):
		return Member{PID: pid, State: 'X'}
	}
	return Member{PID: pid}
}

// waitChannel is the kernel's function that a member sleeps in, "" if it is not to be known: the kernel says 0 to who may
// not trace the member, as it says of a member that runs.
func waitChannel(m Member) string {
	text, err := readSmall("/proc/" + strconv.Itoa(m.PID) + "/wchan")
	if err != nil || string(text) == "0" || lookMember(m.PID).Start != m.Start {
		return ""
	}
	return escapeName(string(text))
}

// readProcess looks one process up. A process that is gone is [os.ErrProcessDone].
func readProcess(pid int) (process, error) {
	line, err := readSmall("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
			return process{}, os.ErrProcessDone
		}
		return process{}, err
	}
	return parseStat(line)
}

// readSmall reads a file of the kernel's in one piece, bounded, without the poller and the regrowing of [os.ReadFile].
func readSmall(path string) ([]byte, error) { return readAt(unix.AT_FDCWD, path) }

// mostRead is the most that a file of the kernel's may hold: every process id that Linux can have, 7 digits each and a
// line break. What is longer than that is not what it is taken for.
const mostRead = 8 * maxProcesses

// readFd reads what is left of a file. One that holds more than [mostRead] is EFBIG.
func readFd(fd int) ([]byte, error) {
	buf := make([]byte, 0, 1024)
	for {
		n := 0
		err := ignoringEINTR(func() (err error) {
			n, err = unix.Read(fd, buf[len(buf):cap(buf)])
			return err
		})
		if err != nil || n == 0 {
			return buf, err
		}
		if buf = buf[:len(buf)+n]; len(buf) > mostRead {
			return nil, unix.EFBIG
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
	}
}

func openat(dir int, path string, flags int) (fd int, err error) {
	err = ignoringEINTR(func() (err error) {
		fd, err = unix.Openat(dir, path, flags|unix.O_CLOEXEC, 0)
		return err
	})
	return fd, err
}

// groupMembers lists the members of a process group, zombies included. It walks the whole process table.
func groupMembers(pgid int) ([]Member, error) {
	all, err := processes()
	var members []Member
	for _, p := range all {
		if p.group == pgid {
			members = append(members, p.member())
		}
	}
	return members, err
}
