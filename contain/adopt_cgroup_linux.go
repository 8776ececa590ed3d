package contain

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// adoptedTree is a leaf that processes were moved into. Its first process is not our child.
type adoptedTree struct {
	*cgroup2Tree
	leader *keptLeader
}

func (p *cgroup2Place) adopts() (Guarantee, string) { return 0, "" }

func (p *cgroup2Place) adopt(pid int, start uint64) (tree, error) {
	who, l, err := candidate(pid, start)
	if err != nil {
		return nil, err
	}
	leaf, err := p.leaf()
	if err != nil {
		l.close()
		return nil, &AdoptError{PID: pid, Reason: AdoptRefused, Err: bare(err)}
	}
	move := &removal{place: p, leaf: leaf, homes: map[int][]string{}}
	if err = move.all(who); err == nil {
		err = p.unspare(leaf)
	}
	if err != nil {
		move.undo()
		l.close()
		err = &AdoptError{PID: pid, Reason: AdoptRefused, Err: bare(err)}
		return nil, also(err, leaf.remove(time.Now().Add(removeBound)))
	}
	return &adoptedTree{cgroup2Tree: leaf, leader: l}, nil
}

func (t *adoptedTree) first() firstProcess { return t.leader }

func (t *adoptedTree) end(deadline time.Time) error {
	if err := drain(t, deadline); err != nil {
		return err
	}
	t.leader.close()
	return t.remove(deadline)
}

// removal is how a process and its descendants move into a leaf, and into the group's cgroup v1 directories.
//
// The kernel lets nobody move a process by pidfd. A process is looked at, by id and start, immediately before it is moved
// by its id: to hit a stranger, all ids would have to be given out once in between.
type removal struct {
	place *cgroup2Place
	leaf  *cgroup2Tree
	// homes are the files that a process is to be written to in order to move back.
	homes map[int][]string
}

// all moves root, and then everybody below it, until a look finds nobody who has not moved: whoever is forked by one that
// has moved is born in the leaf.
func (r *removal) all(root process) error {
	next := []process{root}
	for range migrateRounds {
		for _, p := range next {
			if err := r.one(p); err != nil {
				return err
			}
		}
		below, err := descendants(root.pid)
		if err != nil {
			return err
		}
		next = next[:0]
		for _, p := range below {
			if p.member().Alive() && !r.leaf.holds(p.pid) {
				next = append(next, p)
			}
		}
		if len(next) == 0 {
			return nil
		}
	}
	return syscall.EBUSY // they are born faster than they are moved
}

func (r *removal) one(p process) error {
	homes := r.place.mechanism.homes(p.pid)
	if now, err := readProcess(p.pid); err != nil || now.start != p.start {
		return nil // it has ended
	}
	r.homes[p.pid] = homes
	err := r.leaf.withDir(func(dir int) error { return writeAt(dir, "cgroup.procs", strconv.Itoa(p.pid)) })
	if r.place.caps != nil && r.place.caps.gate != nil {
		for _, d := range r.place.caps.gate.dirs {
			if err == nil {
				err = writeAt(unix.AT_FDCWD, filepath.Join(d.path, "cgroup.procs"), strconv.Itoa(p.pid))
			}
		}
	}
	if errors.Is(err, unix.ESRCH) {
		return nil // it has ended
	}
	return err
}

// undo moves everybody back, and those who were born meanwhile to where the first one was.
func (r *removal) undo() {
	for range migrateRounds {
		pids, err := r.leaf.pids()
		if len(pids) == 0 || err != nil {
			return
		}
		for _, pid := range pids {
			homes, ok := r.homes[pid]
			if !ok {
				homes = slices.Collect(maps.Values(r.homes))[0]
			}
			for _, file := range homes {
				_ = writeAt(unix.AT_FDCWD, file, strconv.Itoa(pid))
			}
		}
	}
}

// homes are the files that a process is to be written to in order to come back to where it is now, in the cgroup v2 and in
// the hierarchies that hold caps.
func (m *cgroup2) homes(pid int) (files []string) {
	membership, err := readSmall("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return nil
	}
	mountinfo, err := readSmall(m.mountinfo)
	if err != nil {
		return nil
	}
	find := func(mounts []cgroupMount, path string) {
		for i := len(mounts) - 1; i >= 0; i-- {
			if dir, ok := mounts[i].under(path); ok {
				files = append(files, filepath.Join(dir, "cgroup.procs"))
				return
			}
		}
	}
	if path, err := parseSelfCgroup(membership); err == nil {
		find(parseMountinfo(mountinfo), path)
	}
	for controller, path := range parseV1Cgroups(membership) {
		find(parseV1Mounts(mountinfo, controller), path)
	}
	return files
}
