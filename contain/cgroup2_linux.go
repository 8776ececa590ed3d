package contain

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cgroup2 holds each tree in a cgroup v2 leaf of its own. It needs no controller, only a directory that we may write.
//
//	our own cgroup/                     or, for caps, one that can have them: see strategies
//	  boombox-PIDNS-PID-START-RANDOM/   one for this process while it has groups (the base)
//	    group-1/                        one for each group
//	      leaf-1/                       one for each start, never used again
//
// A leaf is used once because a cgroup that was killed kills whatever is cloned into it afterwards, while the start
// reports success: the kernel compares how often the spawner's own cgroup was killed with how often the target was.
// Hence level, too.
type cgroup2 struct {
	mountinfo, membership string // the files to read, and in specs others
	strategies            []strategy

	mu      sync.Mutex
	probed  *cgroup2Probe
	bases   map[string]*base // by the directory that they are in
	serial  int              // of the last group
	swept   map[string]bool  // directories
	placed  string           // where a group with caps found its place, "" while none has
	wardens map[watched]*wardens
}

// base is the cgroup of this process in one directory, while it has groups there. It is in our own cgroup, unless a
// group has caps that can only be had elsewhere.
type base struct {
	dir, path string
	groups    int
}

func newCgroup2(mountinfo, membership string) *cgroup2 {
	return &cgroup2{mountinfo: mountinfo, membership: membership, strategies: strategies, bases: map[string]*base{}, swept: map[string]bool{},
		wardens: map[watched]*wardens{}}
}

func (m *cgroup2) probe() Rung {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.look().rung
}

// look probes, once; but a refusal for want of resources is not remembered. The caller holds mu, under which the probe
// forks: it executes nothing, so it cannot block.
func (m *cgroup2) look() *cgroup2Probe {
	if m.probed != nil {
		return m.probed
	}
	p := m.search()
	p.rung.Mechanism = Cgroup2
	p.rung.Guarantees = KillTree | KillForkBomb | KillOnOwnerDeath | caps
	p.rung.Available = p.rung.Reason == ""
	if p.rung.Available {
		p.rung.Refused = m.refusedCaps(p.dir)
	}
	for _, refused := range p.rung.Refused {
		p.rung.Guarantees &^= refused.Kind.guarantee()
	}
	if !exhausted(p.rung.Err) {
		m.probed = p
	}
	return p
}

// exhausted reports whether err says that something has run out for the moment.
func exhausted(err error) bool {
	switch bare(err) {
	case syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.ENOSPC:
		return true
	}
	return false
}

// forgetProbe makes the next look probe anew.
func (m *cgroup2) forgetProbe() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.probed = nil
}

// open makes a group, with the caps asked for. A warden comes with the first group in a directory: it is waited for if
// the group is to die with us, or brings a program of its own for it, and starts in the background otherwise.
func (m *cgroup2) open(opts Options) (place, error) {
	p, err := m.newPlace(opts)
	if err != nil {
		return nil, err
	}
	p.warden = p.wardens.watch(p.base.dir, m.v1Dirs)
	if opts.Require.Has(KillOnOwnerDeath) || opts.Keeper != "" {
		if err := p.warden.await(); err != nil {
			err = fmt.Errorf("no warden can watch over it: %w", err)
			return nil, also(err, p.remove(time.Now().Add(removeBound)))
		}
	}
	return p, nil
}

func (m *cgroup2) newPlace(opts Options) (*cgroup2Place, error) {
	plan, err := m.choose(opts)
	if err != nil {
		return nil, err
	}
	if err := plan.makeScope(); err != nil {
		return nil, err
	}
	p, err := m.build(plan, opts.Keeper)
	if err != nil && plan.scope != nil {
		m.abandon(plan.dir)
		err = also(err, plan.scope.close(time.Now().Add(removeBound)))
	}
	return p, err
}

// build makes the group's cgroup with its caps. What it made is removed after an error.
func (m *cgroup2) build(plan *plan, program string) (*cgroup2Place, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, err := m.newGroup(plan.dir)
	if err != nil {
		return nil, err
	}
	p.scope, p.wardens = plan.scope, m.wardensOf(watched{plan.dir, program})
	if p.caps, err = plan.impose(p.base.path, p.path); err == nil {
		p.dir, err = openat(unix.AT_FDCWD, p.path, unix.O_RDONLY|unix.O_DIRECTORY)
	}
	if err != nil {
		return nil, also(err, p.discard(time.Now().Add(removeBound)))
	}
	return p, nil
}

// choose finds out where a group can be.
func (m *cgroup2) choose(opts Options) (*plan, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.look()
	if !p.rung.Available {
		return nil, errors.New(p.rung.Reason)
	}
	return m.plan(p.dir, opts)
}

// newGroup makes the cgroup of a group, and the base for the first one. The caller holds mu.
func (m *cgroup2) newGroup(dir string) (*cgroup2Place, error) {
	if !m.swept[dir] {
		m.swept[dir] = true
		sweep(dir, owner.dead)
		for _, v1 := range m.v1Dirs() {
			sweepV1(v1, owner.dead)
		}
	}
	m.serial++
	name := "group-" + strconv.Itoa(m.serial)
	for again := true; ; again = false {
		b, err := m.makeGroup(dir, name)
		if err == nil {
			b.groups++
			return &cgroup2Place{
				mechanism: m, base: b, path: filepath.Join(b.path, name), dir: -1,
			}, nil
		}
		// ENOENT: somebody has removed the base from under us.
		if !again || b != nil && b.groups > 0 || !isGone(err) {
			m.probed = nil
			return nil, bare(err)
		}
		delete(m.bases, dir)
	}
}

func (m *cgroup2) makeGroup(dir, name string) (*base, error) {
	b := m.bases[dir]
	if b == nil {
		b = &base{dir: dir, path: filepath.Join(dir, baseName())}
		if err := os.Mkdir(b.path, 0o755); err != nil {
			return nil, err
		}
		m.bases[dir] = b
	}
	return b, os.Mkdir(filepath.Join(b.path, name), 0o755)
}

// watched is what wardens are kept by: the directory that they watch, and the program that they execute.
type watched struct{ dir, program string }

// wardensOf is where the warden of a directory is kept. The caller holds mu.
func (m *cgroup2) wardensOf(of watched) *wardens {
	ws := m.wardens[of]
	if ws == nil {
		ws = &wardens{program: of.program}
		m.wardens[of] = ws
	}
	return ws
}

// release removes a base with its last group. After an error the group is still counted.
func (m *cgroup2) release(b *base, deadline time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.releaseLocked(b, deadline)
}

func (m *cgroup2) releaseLocked(b *base, deadline time.Time) error {
	if b.groups == 1 {
		if err := removeCgroup(unix.AT_FDCWD, b.path, deadline); err != nil {
			return err
		}
		delete(m.bases, b.dir)
		for of, ws := range m.wardens {
			if of.dir == b.dir {
				ws.unused()
			}
		}
	}
	b.groups--
	return nil
}

// abandon forgets a directory that goes with its only group, and dismisses its warden.
func (m *cgroup2) abandon(dir string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for of, ws := range m.wardens {
		if of.dir == dir {
			ws.dismiss()
			delete(m.wardens, of)
		}
	}
	delete(m.swept, dir)
}

// baseName names a base after its owner, so that another process can tell whether it still lives.
func baseName() string {
	var salt [4]byte
	_, _ = rand.Read(salt[:])
	return self().String() + "-" + hex.EncodeToString(salt[:])
}
