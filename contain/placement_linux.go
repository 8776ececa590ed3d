package contain

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Where caps are placed on cgroup v2. A group's cgroup can be capped when the controllers are enabled for the children of
// every cgroup above it, and the kernel enables them in none that holds processes itself, but for the root of all. So
// there must be a cgroup whose children get the controllers, and that is ours to make children in: a strategy finds one.

// site is what the strategies look at.
type site struct {
	fs cgroupFS
	// own is our own cgroup's directory.
	own string
	// before is where an earlier group found its place, "" if there was none.
	before string
	// parent is [Options.Parent].
	parent string
	// migrate is [Options.Migrate].
	migrate bool
	// keeper is [Options.Keeper].
	keeper string
	// life is how long a scope may live.
	life time.Duration
	// units makes scopes of a service manager, nil if there is none.
	units units
	// strategies are those that are tried, in this order.
	strategies []strategy
	// scoped is set when the place is to be a scope that units makes.
	scoped bool
}

// strategy is one way to find a place. It answers "" with nil when it is not for this site.
type strategy struct {
	name string
	find func(s *site, controllers []string, apply bool) (dir string, refused *LimitError)
}

// strategies are tried in this order: what changes nothing for others first.
var strategies = []strategy{
	{"where an earlier group is", (*site).again},
	{"real root", (*site).realRoot},
	{"controllers already enabled", (*site).alreadyEnabled},
	{"delegated parent", (*site).delegatedParent},
	{"leaf migration", (*site).leafMigration},
	{"scope of systemd", (*site).systemdScope},
}

// controllerOf names the controller of each kind, in both versions.
var controllerOf = map[LimitKind]string{LimitMemory: "memory", LimitProcesses: "pids", LimitCPU: "cpu"}

func kindOf(controller string) LimitKind {
	for kind, c := range controllerOf {
		if c == controller {
			return kind
		}
	}
	return ""
}

// place finds a directory whose children have the controllers. With apply it enables them, and without it changes
// nothing and predicts.
func (s *site) place(controllers []string, apply bool) (string, *LimitError) {
	if s.parent != "" {
		return s.explicitParent(controllers, apply)
	}
	var refused *LimitError
	for _, st := range s.strategies {
		dir, err := st.find(s, controllers, apply)
		if err == nil && dir != "" {
			return dir, nil
		}
		if err != nil {
			refused = err // the last one knows best: it is the one that could have done it
		}
	}
	return "", refused
}

func (s *site) explicitParent(controllers []string, apply bool) (string, *LimitError) {
	if !s.fs.IsCgroup2(s.parent) {
		return "", &LimitError{
			Kind: kindOf(controllers[0]), Reason: LimitNoCgroup2, Detail: "the parent given is not a directory of a cgroup v2 file system",
		}
	}
	if err := s.enable(s.parent, controllers, apply); err != nil {
		return "", err
	}
	return s.parent, nil
}

func (s *site) again(controllers []string, apply bool) (string, *LimitError) {
	if s.before == "" || !s.fs.IsCgroup2(s.before) || s.enable(s.before, controllers, apply) != nil {
		return "", nil
	}
	return s.before, nil
}

// realRoot: the root of all cgroups may hold processes and pass controllers on. It is the one without a type.
func (s *site) realRoot(controllers []string, apply bool) (string, *LimitError) {
	if !s.isRoot() {
		return "", nil
	}
	if err := s.enable(s.own, controllers, apply); err != nil {
		return "", err
	}
	return s.own, nil
}

func (s *site) isRoot() bool {
	_, err := s.fs.Read(filepath.Join(s.own, "cgroup.type"))
	return err == syscall.ENOENT
}

func (s *site) alreadyEnabled(controllers []string, _ bool) (string, *LimitError) {
	if missing(s.enabled(s.own), controllers) != "" {
		return "", nil
	}
	return s.own, nil
}

// delegatedParent: a unit of systemd with Delegate= and DelegateSubgroup= starts us in a child of what it delegates. So
// does a slice of the user's own, which systemd does not call delegated; it leaves there what we enable.
func (s *site) delegatedParent(controllers []string, apply bool) (string, *LimitError) {
	parent := filepath.Dir(s.own)
	if !s.fs.IsCgroup2(parent) || !s.fs.Delegated(parent) || len(inhabitants(s.fs, parent)) > 0 {
		return "", nil
	}
	for _, path := range []string{parent, filepath.Join(parent, "cgroup.procs")} {
		// A process is cloned from one cgroup into another by who may write the procs of the one above both.
		if s.fs.Writable(path) != nil {
			return "", nil
		}
	}
	if err := s.enable(parent, controllers, apply); err != nil {
		return "", err
	}
	return parent, nil
}

// enable sees to it that the children of dir have the controllers.
func (s *site) enable(dir string, controllers []string, apply bool) *LimitError {
	if name := missing(words(s.fs, filepath.Join(dir, "cgroup.controllers")), controllers); name != "" {
		return s.noController(dir, name)
	}
	const file = "cgroup.subtree_control"
	for _, name := range controllers {
		if slices.Contains(s.enabled(dir), name) {
			continue
		}
		var err error
		if apply {
			err = s.fs.Write(filepath.Join(dir, file), "+"+name)
		} else if err = s.fs.Writable(filepath.Join(dir, file)); err == nil {
			err = s.wouldRefuse(dir)
		}
		if err != nil {
			return cgroupRefusal(kindOf(name), "the "+name+" controller cannot be enabled for new cgroups", err)
		}
	}
	return nil
}

// wouldRefuse predicts what the kernel says of enabling a controller in dir.
func (s *site) wouldRefuse(dir string) error {
	kind, err := s.fs.Read(filepath.Join(dir, "cgroup.type"))
	switch {
	case err == syscall.ENOENT: // the root
		return nil
	case strings.TrimSpace(string(kind)) != "domain":
		return syscall.EOPNOTSUPP
	case len(inhabitants(s.fs, dir)) > 0:
		return syscall.EBUSY
	}
	return nil
}

func (s *site) enabled(dir string) []string {
	return words(s.fs, filepath.Join(dir, "cgroup.subtree_control"))
}

func (s *site) noController(dir, name string) *LimitError {
	have := strings.Join(words(s.fs, filepath.Join(dir, "cgroup.controllers")), " ")
	if have == "" {
		have = "none"
	}
	return &LimitError{
		Kind: kindOf(name), Reason: LimitNoController,
		Detail: fmt.Sprintf("the %s controller is not passed down to our cgroup, which has: %s", name, have),
		Hint:   "enable it in every cgroup above (systemd: Delegate=" + name + " on the unit and those above it)",
	}
}

// missing is the first name of want that have lacks.
func missing(have, want []string) string {
	for _, name := range want {
		if !slices.Contains(have, name) {
			return name
		}
	}
	return ""
}

// cgroupRefusal sorts the system's refusals; nil is none.
func cgroupRefusal(kind LimitKind, what string, err error) *LimitError {
	if err == nil {
		return nil
	}
	e := &LimitError{Kind: kind, Reason: LimitFailed, Detail: what + ": " + bare(err).Error(), Err: bare(err)}
	switch bare(err) {
	case syscall.EROFS:
		e.Reason, e.Hint = LimitReadOnly, "mount /sys/fs/cgroup writable in the container"
	case syscall.EACCES, syscall.EPERM:
		e.Reason, e.Hint = LimitNotDelegated, "delegate a cgroup to this user (systemd: Delegate=yes with DelegateSubgroup=, or "+
			"systemd-run --user --scope -p Delegate=yes)"
	case syscall.EBUSY:
		e.Reason = LimitInternalProcesses
		e.Detail = what + ": the cgroup they would be below holds processes itself"
		e.Hint = "let boombox move this program into a cgroup below (BOOMBOX_MIGRATE=1), or start it in one " +
			"(systemd: Delegate=yes with DelegateSubgroup=)"
	case syscall.EOPNOTSUPP:
		e.Reason, e.Hint = LimitThreaded, "start this process in a cgroup that is not threaded"
	case syscall.ENOSYS:
		e.Reason, e.Hint = LimitKernelTooOld, "allow clone3 in the seccomp profile (Linux 5.7)"
	case syscall.ENOENT:
		e.Reason = LimitKernelTooOld
	}
	return e
}
