package contain

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Where systemd owns the cgroup that we are in, and has not delegated it, the place for caps is a transient scope: a
// cgroup that systemd makes for us, with a limit of its own for each cap, and leaves to us then. Each group has one.
//
//	boombox-PIDNS-PID-START-RANDOM.scope/   delegated to us
//	  holder/                               the helper without which there could be no scope
//	  boombox-PIDNS-PID-START-RANDOM/       the base, with the group and its leaves
type scope struct {
	systemd systemd
	name    string
	dir     string
	holder  *helper
	limits  Limits // those of the scope
}

// units is what makes scopes. In specs it may be a made-up one.
type units interface {
	// predict says why no scope can be had, nil if it can.
	predict(s *site, controllers []string) *LimitError
	// scope makes a scope with the caps, and with a directory whose children have the controllers.
	scope(s *site, controllers []string, l Limits) (*scope, *LimitError)
}

// systemdScope finds out whether systemd would make a place. It is made afterwards, for one group and without a lock.
func (s *site) systemdScope(controllers []string, _ bool) (string, *LimitError) {
	if s.units == nil {
		return "", nil
	}
	if refused := s.units.predict(s, controllers); refused != nil {
		return "", refused
	}
	s.scoped = true
	return s.own, nil
}

// systemdUnits makes scopes by systemd.
type systemdUnits struct {
	systemd
	// group is where the service manager keeps its units. It is asked once.
	group func() (string, error)
	// find finds the directory of a cgroup.
	find func(path string) (dir string, ok bool)
}

func (u systemdUnits) predict(s *site, controllers []string) *LimitError {
	kind := kindOf(controllers[0])
	path, err := u.group()
	if err != nil {
		return systemdRefusal(kind, err)
	}
	dir, ok := u.find("/" + strings.TrimPrefix(path, "/"))
	if !ok {
		return &LimitError{Kind: kind, Reason: LimitNotMounted, Detail: "the cgroups of systemd are not to be seen from here"}
	}
	if name := missing(words(s.fs, filepath.Join(dir, "cgroup.controllers")), controllers); name != "" {
		return s.noController(dir, name)
	}
	// A process is cloned from our cgroup into another by who may write the procs of the one above both.
	if os.Geteuid() != 0 && !strings.HasPrefix(s.own+"/", strings.TrimSuffix(dir, "/")+"/") {
		return &LimitError{
			Kind: kind, Reason: LimitNotDelegated, Detail: "our own cgroup is not among those of the user's systemd, which could make one for it",
			Hint: "run it by systemd-run --user --scope",
		}
	}
	return nil
}

// What the scope may have beyond the group's caps: the holder lives in it too, and the group's own cap, which counts and
// is exact, is to be the first that is hit.
const (
	scopeMemory    = 64 << 20
	scopeProcesses = 64
	scopeCPU       = 1.1
)

// scopeLife is how long systemd lets a scope live at most if [Options.Lifetime] does not say: the last resort against
// what nobody is left to end, neither its owner, nor the owner's helpers.
const scopeLife = 7 * 24 * time.Hour

// scopeProperties are the caps as systemd spells them.
func scopeProperties(l Limits) []property {
	var list []property
	if l.Memory > 0 {
		list = append(list, set("MemoryMax", uint64(l.Memory+scopeMemory)), set("MemorySwapMax", uint64(0)))
	}
	if l.Processes > 0 {
		list = append(list, set("TasksMax", uint64(l.Processes+scopeProcesses)))
	}
	if l.CPU > 0 {
		list = append(list, set("CPUQuotaPerSecUSec", uint64(l.CPU*scopeCPU*1e6)))
	}
	return list
}

func (u systemdUnits) scope(s *site, controllers []string, l Limits) (_ *scope, refused *LimitError) {
	kind := kindOf(controllers[0])
	holder, err := startHelper(s.keeper, roleHolder, nil, 0)
	if err != nil {
		refused := cgroupRefusal(kind, "no process can be started for a scope of systemd", err)
		refused.Err = err // whole, because the program may be at fault
		return nil, refused
	}
	sc := &scope{systemd: u.systemd, name: baseName() + ".scope", holder: holder, limits: l}
	defer func() {
		if refused != nil {
			_ = sc.close(time.Now().Add(removeBound))
		}
	}()
	properties := []property{
		set("Description", "boombox: a group of processes of pid "+strconv.Itoa(os.Getpid())),
		set("Delegate", true), set("DefaultDependencies", false), set("CollectMode", "inactive-or-failed"),
		// At the end of its life nobody is asked: the holder would not hear it, and systemd waits a minute and a half.
		set("RuntimeMaxUSec", uint64(s.life/time.Microsecond)), set("KillSignal", int32(syscall.SIGKILL)),
		set("MemoryAccounting", l.Memory > 0), set("TasksAccounting", l.Processes > 0), set("CPUAccounting", l.CPU > 0),
	}
	if err := u.startScope(sc.name, holder.process.pid, append(properties, scopeProperties(l)...)); err != nil {
		return nil, systemdRefusal(kind, err)
	}
	text, err := readSmall("/proc/" + strconv.Itoa(holder.process.pid) + "/cgroup")
	path := ""
	if err == nil {
		path, err = parseSelfCgroup(text)
	}
	ok := err == nil && filepath.Base(path) == sc.name
	if ok {
		sc.dir, ok = u.find(path)
	}
	if !ok {
		sc.dir = ""
		return nil, &LimitError{Kind: kind, Reason: LimitNotMounted, Detail: "the scope that systemd has made is not to be seen from here"}
	}
	// What holds processes passes no controllers on.
	home := filepath.Join(sc.dir, "holder")
	if err := s.fs.Mkdir(home); err != nil {
		return nil, cgroupRefusal(kind, "no cgroup can be made in the scope of systemd", err)
	}
	if err := s.fs.Write(filepath.Join(home, "cgroup.procs"), strconv.Itoa(holder.process.pid)); err != nil {
		return nil, cgroupRefusal(kind, "no process can be moved within the scope of systemd", err)
	}
	if refused := s.enable(sc.dir, controllers, true); refused != nil {
		return nil, refused
	}
	return sc, nil
}

// update widens the scope's own limits to those of a group whose caps are going to be changed. They are not narrowed
// again: the group's own caps are what holds it.
func (sc *scope) update(l Limits) error {
	wide := Limits{max(sc.limits.Memory, l.Memory), max(sc.limits.Processes, l.Processes), max(sc.limits.CPU, l.CPU)}
	if wide == sc.limits {
		return nil
	}
	if err := sc.systemd.setProperties(sc.name, scopeProperties(wide)); err != nil {
		return systemdRefusal(l.kinds()[0], err)
	}
	sc.limits = wide
	return nil
}

// close ends the holder, and with it the scope, in which nobody else is left. It can be called again.
func (sc *scope) close(deadline time.Time) error {
	sc.holder.end()
	if err := sc.holder.awaitReaped(deadline); err != nil {
		return err
	}
	// systemd hears that the scope is empty, and removes it.
	for pace := drainPaceMin; sc.dir != "" && unix.Access(sc.dir, unix.F_OK) == nil; pace = min(2*pace, drainPaceMax) {
		if !time.Now().Before(deadline) {
			return &DrainError{Err: errScopeLeft}
		}
		time.Sleep(pace)
	}
	return nil
}

var errScopeLeft = errors.New("systemd has not removed the group's scope")

// serveHolder is the holder's side: it is there, as long as its owner is.
func (h *helperProcess) serveHolder() {
	_ = h.ready(nil, -1)
	for {
		if asked, err := h.await(-1); asked || err != nil {
			return
		}
	}
}
