// Package procfs looks processes up from outside of whatever holds them, in /proc. Where there is none, every question
// is [errors.ErrUnsupported].
package procfs

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/boombox-go/boombox/contain"
)

// Look is one process as it is now, a zombie included. A process that is gone is [os.ErrProcessDone].
func Look(pid int) (contain.Member, error) { return look(pid) }

// Carrying lists the living processes, other than our own, whose environment holds entry, a KEY=VALUE. Processes of
// other users, which cannot be read, are not listed; nor is one that cleared or overwrote its environment.
func Carrying(entry string) ([]contain.Member, error) { return carrying(entry) }

// End kills the process m if it still carries entry. Its identity is taken first and the environment read then, so that
// no stranger is hit that got the id.
func End(m contain.Member, entry string) error { return end(m, entry) }

var errStat = errors.New("procfs: cannot read the process's stat line")

// parseStat reads a line of /proc/PID/stat. The name may hold spaces and parentheses: it ends at the last one.
func parseStat(line []byte) (contain.Member, error) {
	open, closing := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 1 || closing < open {
		return contain.Member{}, errStat
	}
	rest := strings.Fields(string(line[closing+1:]))
	if len(rest) < 20 || len(rest[0]) != 1 {
		return contain.Member{}, errStat
	}
	pid, err1 := strconv.Atoi(strings.TrimSpace(string(line[:open])))
	parent, err2 := strconv.Atoi(rest[1])
	start, err3 := strconv.ParseUint(rest[19], 10, 64)
	if errors.Join(err1, err2, err3) != nil || pid < 0 || parent < 0 {
		return contain.Member{}, errStat
	}
	name := strconv.Quote(string(line[open+1 : closing]))
	return contain.Member{PID: pid, Parent: parent, Start: start, State: rest[0][0], Name: name[1 : len(name)-1]}, nil
}

// holds reports whether the environment block env has entry.
func holds(env []byte, entry string) bool {
	return entry != "" && bytes.Contains(append(append([]byte{0}, env...), 0), []byte("\x00"+entry+"\x00"))
}

// gone reports whether err says that there is no such process.
func gone(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrProcessDone)
}
