package contain

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

// followedTree is a process and its descendants, found by parentage from one look to the next: whoever was seen once is
// remembered, so that its death does not hide its children.
type followedTree struct {
	leader *keptLeader

	mu   sync.Mutex // held for one look
	seen map[int]process
}

func follow(pid int, start uint64) (tree, error) {
	who, l, err := candidate(pid, start)
	if err != nil {
		return nil, err
	}
	t := &followedTree{leader: l, seen: map[int]process{who.pid: who}}
	if _, err := t.look(); err != nil {
		l.close()
		return nil, &AdoptError{PID: pid, Reason: AdoptRefused, Err: bare(err)}
	}
	return t, nil
}

func (t *followedTree) first() firstProcess { return t.leader }

// look finds who is alive.
func (t *followedTree) look() (live []process, err error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	children := map[int][]process{}
	t.mu.Lock()
	defer t.mu.Unlock()
	var next []process
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
		if was, ok := t.seen[p.pid]; ok && was.start == p.start {
			next = append(next, p)
		}
	}
	t.seen = map[int]process{} // who is gone has no children any more
	for ; len(next) > 0; next = next[1:] {
		p := next[0]
		if _, again := t.seen[p.pid]; again {
			continue
		}
		t.seen[p.pid] = p
		next = append(next, children[p.pid]...)
		if p.member().Alive() {
			live = append(live, p)
		}
	}
	return live, nil
}

func (t *followedTree) strike() error {
	sum, err := t.signal(syscall.SIGKILL)
	if err = sum.verdict(syscall.SIGKILL, err); errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

func (t *followedTree) empty() (bool, error) {
	live, err := t.look()
	return err == nil && len(live) == 0, err
}

func (t *followedTree) members() (members []Member, err error) {
	live, err := t.look()
	for _, p := range live {
		members = append(members, p.member())
	}
	return members, err
}

func (t *followedTree) signal(sig syscall.Signal) (sum tally, err error) {
	live, err := t.look()
	for _, p := range live {
		sum.count(p.member(), p.signal(sig))
	}
	return sum, err
}

func (t *followedTree) end(deadline time.Time) error {
	if err := drain(t, deadline); err != nil {
		return err
	}
	t.leader.close()
	return nil
}
