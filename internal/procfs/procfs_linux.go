package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/boombox-go/boombox/contain"
)

func look(pid int) (contain.Member, error) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	switch {
	case err == nil:
		return parseStat(line)
	case gone(err), errors.Is(err, syscall.ESRCH):
		return contain.Member{}, os.ErrProcessDone
	default:
		return contain.Member{}, err
	}
}

func carrying(entry string) ([]contain.Member, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	if len(dirs) == 0 {
		return nil, errors.ErrUnsupported // it is not mounted
	}
	var list []contain.Member
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := environ(pid)
		if err != nil || !holds(env, entry) {
			continue
		}
		if m, err := look(pid); err == nil && m.Alive() {
			list = append(list, m)
		}
	}
	return list, nil
}

// environ is the environment block of a process. A program that has just been started has none for an instant: its start
// has returned, its memory is there, and what belongs into it is not. That instant is waited for.
func environ(pid int) ([]byte, error) {
	path := fmt.Sprintf("/proc/%d/environ", pid)
	env, err := os.ReadFile(path)
	if err != nil || len(env) > 0 {
		return env, err
	}
	for tries := 0; tries < 1000 && arriving(pid); tries++ {
		time.Sleep(time.Millisecond)
	}
	return os.ReadFile(path) // it may have arrived between the two looks
}

// arriving reports whether the process has a program, and no place for an environment yet, not even for an empty one. So
// does one that is about to end. A thread of the kernel never has one.
func arriving(pid int) bool {
	const (
		stateField, flagsField, envEndField = 3, 9, 51 // as proc(5) counts them
		kernelThread                        = 0x00200000
	)
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	rest := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:])
	if len(rest) <= envEndField-stateField {
		return false
	}
	flags, err := strconv.ParseUint(string(rest[flagsField-stateField]), 10, 64)
	return err == nil && flags&kernelThread == 0 && string(rest[0]) != "Z" && string(rest[0]) != "X" &&
		string(rest[envEndField-stateField]) == "0"
}

func end(m contain.Member, entry string) error {
	p, err := os.FindProcess(m.PID) // a pidfd, where the kernel has them
	if err != nil {
		return err
	}
	defer func() { _ = p.Release() }()
	env, err := environ(m.PID)
	if err != nil || !holds(env, entry) {
		return os.ErrProcessDone
	}
	return p.Kill()
}
