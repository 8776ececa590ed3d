package contain

import (
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// plan is how a group gets its caps: some by its own cgroup v2, in a directory whose children have the controllers, and
// some by directories in cgroup v1 hierarchies.
type plan struct {
	limits Limits
	dir    string
	v2     []LimitKind
	v1     []hierarchy
	// site is set when dir is in a scope that is still to be made, and scope when it is.
	site  *site
	scope *scope
}

// migrateVariable allows what [Options.Migrate] allows.
const migrateVariable = "BOOMBOX_MIGRATE"

func (m *cgroup2) site(own string, opts Options) *site {
	s := &site{
		fs: kernelFS{}, own: own, before: m.placed, parent: opts.Parent,
		migrate: opts.Migrate || os.Getenv(migrateVariable) == "1", strategies: m.strategies, keeper: opts.Keeper,
		life: opts.Lifetime,
	}
	if s.life <= 0 {
		s.life = scopeLife
	}
	if manager := newSystemd(); manager.socket != "" {
		s.units = systemdUnits{systemd: manager, group: sync.OnceValues(manager.controlGroup), find: m.find}
	}
	return s
}

// plan finds a place for the caps, or says why there is none. The caller holds mu.
func (m *cgroup2) plan(own string, opts Options) (*plan, error) {
	p := &plan{limits: opts.Limits, dir: own}
	if opts.Parent != "" {
		p.dir = opts.Parent
	}
	kinds := opts.Limits.kinds()
	if len(kinds) == 0 {
		return p, nil
	}
	v1, err := m.hierarchies()
	if err != nil {
		return nil, cgroupRefusal(kinds[0], "the controllers are not to be found", err)
	}
	var controllers []string
	for _, kind := range kinds {
		if h, ok := v1[controllerOf[kind]]; ok {
			p.v1 = append(p.v1, h)
		} else {
			p.v2 = append(p.v2, kind)
			controllers = append(controllers, controllerOf[kind])
		}
	}
	if len(controllers) == 0 {
		return p, nil
	}
	s := m.site(own, opts)
	dir, refused := s.place(controllers, true)
	if refused != nil {
		return nil, refused
	}
	if s.scoped {
		p.site = s
		return p, nil
	}
	if opts.Parent == "" && dir != m.placed {
		m.placed = dir
		m.probed = nil // we may have moved
	}
	p.dir = dir
	return p, nil
}

// makeScope makes the scope that the plan is for, if it is for one. It starts a process, so no lock is held.
func (p *plan) makeScope() error {
	if p.site == nil {
		return nil
	}
	var l Limits
	var controllers []string
	for _, kind := range p.v2 {
		controllers = append(controllers, controllerOf[kind])
		switch kind {
		case LimitMemory:
			l.Memory = p.limits.Memory
		case LimitProcesses:
			l.Processes = p.limits.Processes
		case LimitCPU:
			l.CPU = p.limits.CPU
		}
	}
	scope, refused := p.site.units.scope(p.site, controllers, l)
	if refused != nil {
		return refused
	}
	p.scope, p.dir = scope, scope.dir
	return nil
}

// refusedCaps predicts which caps cannot be had, and why. The caller holds mu.
func (m *cgroup2) refusedCaps(own string) (refused []*LimitError) {
	v1, err := m.hierarchies()
	s := m.site(own, Options{})
	for _, kind := range limitKinds {
		e := cgroupRefusal(kind, "the controllers are not to be found", err)
		if err == nil {
			if h, ok := v1[controllerOf[kind]]; ok {
				e = h.refuse(kernelFS{})
			} else {
				_, e = s.place([]string{controllerOf[kind]}, false)
			}
		}
		if e != nil {
			refused = append(refused, e)
		}
	}
	return refused
}

// impose sets the caps on a group's cgroup, nil when there are none. What it made is removed after an error.
func (p *plan) impose(base, group string) (c *groupCaps, err error) {
	if p.limits.IsZero() {
		return nil, nil
	}
	c = &groupCaps{}
	defer func() {
		if err != nil {
			err = also(err, c.close(time.Now().Add(removeBound)))
			c = nil
		}
	}()
	for _, kind := range p.v2 {
		err := writeAt(unix.AT_FDCWD, base+"/cgroup.subtree_control", "+"+controllerOf[kind])
		if err != nil {
			return c, cgroupRefusal(kind, "the "+controllerOf[kind]+" controller cannot be enabled for new cgroups", err)
		}
		a, err := capV2(group, kind, p.limits)
		if err != nil {
			return c, err
		}
		c.axes = append(c.axes, a)
	}
	for _, h := range p.v1 {
		a, d, err := h.capV1(p.limits)
		if err != nil {
			return c, err
		}
		c.add(a, d)
	}
	c.sort()
	return c, nil
}

// refuseOthers refuses caps that sit on cgroup v1 on behalf of a mechanism whose spawning thread is not ours, and so
// cannot be taken through the group's v1 directories.
func (m *cgroup2) refuseOthers(l Limits) error {
	v1, err := m.hierarchies()
	if err != nil {
		return nil // plan says so
	}
	for _, kind := range l.kinds() {
		if _, ok := v1[controllerOf[kind]]; ok {
			return othersOnV1(kind)
		}
	}
	return nil
}

func othersOnV1(kind LimitKind) *LimitError {
	return &LimitError{
		Kind: kind, Reason: LimitUnenforceable,
		Detail: "the " + controllerOf[kind] + " controller sits on cgroup v1, which a keeper does not go through",
		Hint:   "do without resist-same-uid, or boot with systemd.unified_cgroup_hierarchy=1",
	}
}

// capsForOthers are the caps that such a mechanism can have, and why not the others.
func (m *cgroup2) capsForOthers() (g Guarantee, refused []*LimitError) {
	v1, _ := m.hierarchies()
	rung := m.probe()
	refused = slices.Clone(rung.Refused)
	for _, kind := range limitKinds {
		_, onV1 := v1[controllerOf[kind]]
		switch has := rung.Guarantees.Has(kind.guarantee()); {
		case has && onV1:
			refused = append(refused, othersOnV1(kind))
		case has:
			g |= kind.guarantee()
		}
	}
	return g, refused
}
