package contain

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"syscall"
)

// homePrefix begins the name of the cgroup that we move ourselves into. It is not the name of a base: when we are dead,
// what is left in it is not ours to kill.
const homePrefix = "boombox-home-"

// migrateRounds bounds how often processes that are born while others are moved are moved as well.
const migrateRounds = 100

// leafMigration moves the processes of our own cgroup, all of them ours, into a child of it, so that the cgroup itself
// is empty and passes controllers on. It changes where whoever looks for us finds us, so it is done only when asked for.
func (s *site) leafMigration(controllers []string, apply bool) (string, *LimitError) {
	if s.isRoot() {
		return "", nil // there it is not the processes that stand in the way
	}
	if name := missing(words(s.fs, filepath.Join(s.own, "cgroup.controllers")), controllers); name != "" {
		return "", s.noController(s.own, name)
	}
	kind := kindOf(controllers[0])
	const what = "the controllers cannot be enabled for new cgroups"
	for _, file := range []string{".", "cgroup.procs", "cgroup.subtree_control"} {
		if err := s.fs.Writable(filepath.Join(s.own, file)); err != nil {
			return "", cgroupRefusal(kind, what, err)
		}
	}
	if err := s.wouldRefuse(s.own); err == syscall.EOPNOTSUPP || !s.migrate {
		if err == nil {
			err = syscall.EBUSY // or alreadyEnabled would have done
		}
		return "", cgroupRefusal(kind, what, err)
	}
	for _, pid := range inhabitants(s.fs, s.own) {
		if pid == 0 || !s.fs.Ours(pid) {
			return "", &LimitError{
				Kind: kind, Reason: LimitStrangers, Detail: "our own cgroup holds processes that are not ours to move",
				Hint: "start this program in a cgroup of its own (systemd-run --scope -p Delegate=yes)",
			}
		}
	}
	if !apply {
		return s.own, nil
	}
	home := filepath.Join(s.own, homePrefix+baseName())
	if err := s.fs.Mkdir(home); err != nil {
		return "", cgroupRefusal(kind, "no cgroup can be made below our own", err)
	}
	refused := cgroupRefusal(kind, "our own processes cannot be moved into a cgroup of their own", s.empty(s.own, home))
	if refused == nil {
		refused = s.enable(s.own, controllers, true)
	}
	if refused != nil {
		// Who was moved goes back. Who cannot stays at home.
		if s.empty(home, s.own) == nil {
			_ = s.fs.Rmdir(home)
		}
		return "", refused
	}
	return s.own, nil
}

// empty moves all processes from one cgroup into another.
func (s *site) empty(from, to string) error {
	var last error
	for range migrateRounds {
		pids := inhabitants(s.fs, from)
		if len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			switch err := s.fs.Write(filepath.Join(to, "cgroup.procs"), strconv.Itoa(pid)); {
			case err == nil, errors.Is(err, syscall.ESRCH): // it ended
			case errors.Is(err, syscall.EINVAL): // it is being born
				last = err
			default:
				return err
			}
		}
	}
	return fmt.Errorf("processes are born faster than they are moved: %w", errors.Join(last, syscall.EBUSY))
}
