package procfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

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
	var list []contain.Member
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile(dir + "/environ")
		if err != nil || !holds(env, entry) {
			continue
		}
		if m, err := look(pid); err == nil && m.Alive() {
			list = append(list, m)
		}
	}
	return list, nil
}

func end(m contain.Member, entry string) error {
	p, err := os.FindProcess(m.PID) // a pidfd, where the kernel has them
	if err != nil {
		return err
	}
	defer func() { _ = p.Release() }()
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", m.PID))
	if err != nil || !holds(env, entry) {
		return os.ErrProcessDone
	}
	return p.Kill()
}
