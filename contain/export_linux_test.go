package contain

import (
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Ladder is a host of its own, for specs.
type Ladder struct{ ladder *ladder }

// LadderAt is this host as it would be if it were described by other files than those of /proc.
func LadderAt(mountinfo, membership string) Ladder {
	return Ladder{&ladder{[]mechanism{newCgroup2(mountinfo, membership), processGroup{}}}}
}

// WholeLadderAt is the same with every mechanism.
func WholeLadderAt(mountinfo, membership string) Ladder {
	return Ladder{&ladder{mechanismsAt(mountinfo, membership)}}
}

func (l Ladder) Host() HostReport                 { return l.ladder.report() }
func (l Ladder) New(opts Options) (*Group, error) { return l.ladder.group(opts) }

// The parsers.
var (
	ParseStat       = parseStat
	ParseSelfCgroup = parseSelfCgroup
	ParseEvents     = func(text []byte) (populated bool, err error) { return parseEvents(text, "populated") }
	ParseBase       = func(name string) (owner any, ok bool) { return parseBase(name) }
	EscapeName      = escapeName
	WriteFd         = writeFd
)

// ParseMountinfo returns the root and the mount point of each cgroup2 mount.
func ParseMountinfo(text []byte) (mounts [][2]string) {
	for _, m := range parseMountinfo(text) {
		mounts = append(mounts, [2]string{m.root, m.point})
	}
	return mounts
}

// Under resolves a cgroup path in a mount.
func Under(root, point, path string) (string, bool) { return cgroupMount{root, point}.under(path) }

// StatFields returns what [ParseStat] found.
func StatFields(p process) (pid, parent, group int, state byte, name string, start uint64) {
	return p.pid, p.parent, p.group, p.state, p.name, p.start
}

// CloneInto starts nothing in a cgroup and says whether the clone works.
func CloneInto(dir string) error {
	fd, err := openat(unix.AT_FDCWD, dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return tryClone(fd)
}

// ErrBornDead is what [CloneInto] says of a cgroup that kills whatever is cloned into it.
var ErrBornDead = errBornDead

// Leader is the first process of a tree.
type Leader struct{ leader *leader }

// WatchByPID watches a child as on a kernel without pidfds.
func WatchByPID(pid int) Leader { return Leader{watchLeader(pid, -1)} }

func (l Leader) Ended() <-chan struct{}          { return l.leader.ended }
func (l Leader) Poll() (ExitStatus, bool)        { return l.leader.poll() }
func (l Leader) Signal(sig syscall.Signal) error { return l.leader.signal(sig) }
func (l Leader) Reap(deadline time.Time) error   { return l.leader.reap(deadline) }

// Site is where caps are to be placed.
type Site struct {
	FS                  cgroupFS
	Own, Before, Parent string
	Migrate             bool
}

func (s Site) Place(controllers []string, apply bool) (string, *LimitError) {
	in := &site{fs: s.FS, own: s.Own, before: s.Before, parent: s.Parent, migrate: s.Migrate, strategies: strategies}
	return in.place(controllers, apply)
}

// RefuseV1 says why a controller cannot be used in a cgroup v1 directory.
func RefuseV1(fs cgroupFS, controller, dir string) *LimitError {
	return hierarchy{controller: controller, dir: dir}.refuse(fs)
}

// Caps are caps on a made-up cgroup of version 2: a directory with the files.
type Caps struct{ caps *groupCaps }

func CapsAt(dir string, l Limits) (Caps, error) {
	c := &groupCaps{}
	for _, kind := range l.kinds() {
		a, err := capV2(dir, kind, l)
		if err != nil {
			return Caps{}, err
		}
		c.axes = append(c.axes, a)
	}
	return Caps{c}, nil
}

// CapV1At is a cap on a made-up cgroup of version 1.
func CapV1At(dir string, kind LimitKind, l Limits) (Caps, error) {
	fd, err := openat(unix.AT_FDCWD, dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return Caps{}, err
	}
	a := &axis{kind: kind, path: dir, dir: fd, capVersion: capsV1{}}
	effective, err := a.impose(l)
	if err == nil {
		a.inForce(l.Of(kind), effective)
	}
	return Caps{&groupCaps{axes: []*axis{a}}}, err
}

func (c Caps) Stats() Stats          { return c.caps.peaks() }
func (c Caps) Update(l Limits) error { return c.caps.update(l, nil) }
func (c Caps) Evidence() Evidence    { return c.caps.evidence() }
func (c Caps) Close() error          { return c.caps.close(time.Now()) }

// Unspare makes nobody in a child's cgroup be spared more than floor.
func Unspare(c *Child, floor int) error { return unspare(c.tree.(*cgroup2Tree), floor) }

// Systemd is a service manager behind a socket, for a program whose own cgroup is Own.
type Systemd struct {
	Socket string
	Bound  time.Duration
	FS     cgroupFS
	Own    string
	Life   time.Duration
	Find   func(path string) (string, bool)
}

func (s Systemd) units() (systemdUnits, *site) {
	manager := systemd{socket: s.Socket, bound: s.Bound}
	u := systemdUnits{systemd: manager, group: manager.controlGroup, find: s.Find}
	in := newCgroup2("", "").site(s.Own, Options{Lifetime: s.Life})
	in.fs, in.units = s.FS, u
	return u, in
}

// Predict is what the search for a place says of it.
func (s Systemd) Predict(controllers ...string) (scoped bool, refused *LimitError) {
	_, site := s.units()
	_, refused = site.systemdScope(controllers, true)
	return site.scoped, refused
}

// Scope makes one.
func (s Systemd) Scope(l Limits, controllers ...string) (update func(Limits) error, end func() error, refused *LimitError) {
	u, site := s.units()
	sc, refused := u.scope(site, controllers, l)
	if refused != nil {
		return nil, nil, refused
	}
	return sc.update, func() error { return sc.close(time.Now().Add(KillBound)) }, nil
}

// ScopedHost is this host, if a scope of systemd is the only place for caps.
func ScopedHost() Ladder {
	m := newCgroup2("/proc/self/mountinfo", "/proc/self/cgroup")
	m.strategies = []strategy{{"scope of systemd", (*site).systemdScope}}
	return Ladder{&ladder{[]mechanism{m}}}
}

// PlainName is what is shown of a name from the bus.
var PlainName = plainName

// Unavailable is how a cap is refused by a mechanism that is not to be had for a reason of the system's.
func Unavailable(err error) *LimitError {
	return Limits{Memory: 1}.unavailable(Rung{Mechanism: Cgroup2, Reason: "it is not", Err: err, Remedy: "money"})
}

// More parsers.
var (
	ParseV1Cgroups = parseV1Cgroups
	ParseMax       = parseMax
	ParseCPUMax    = parseCPUMax
	ParseCount     = parseCount
	ParsePidfd     = parsePidfd
	ReadSmall      = readSmall
)

// ParsePIDs reads a list of process ids.
func ParsePIDs(text []byte) []int { return appendPIDs(nil, text) }

// MostRead is the most that is read of a file.
const MostRead = mostRead

// UnpackExit reads what a keeper says of how a child ended.
var UnpackExit = unpackExit

// RefusedFile is how a cap is refused when one of its files cannot be written.
func RefusedFile(kind LimitKind, file string, err error) *LimitError {
	return (&axis{kind: kind}).refusal(file, err)
}

// ParseV1Mounts returns the root and the mount point of each mount of a controller's hierarchy.
func ParseV1Mounts(text []byte, controller string) (mounts [][2]string) {
	for _, m := range parseV1Mounts(text, controller) {
		mounts = append(mounts, [2]string{m.root, m.point})
	}
	return mounts
}

const NoLimit = unlimited

// CloseWithin is [Group.Close] with less patience.
func CloseWithin(g *Group, bound time.Duration) error { return g.close(time.Now().Add(bound)) }

// StartKeeper starts a program as a keeper, with less patience, and ends it.
func StartKeeper(program string, patience time.Duration) error {
	orders, theirs, err := helperSockets(false)
	if err != nil {
		return err
	}
	defer func() { _, _ = orders.file.Close(), theirs.Close() }()
	h, err := startProgram(program, patience, roleKeeper, nil, 0, theirs)
	if err == nil {
		h.end()
		<-h.reaped
	}
	return err
}

// StrikeOnly strikes the tree that is so many after that of c, or before it, and reports whether that of c is empty then.
func StrikeOnly(c *Child, after int) bool {
	t := c.tree.(*keptTree)
	if err := t.keeper.strike(t.number + uint64(after)); err != nil {
		panic(err)
	}
	empty, err := t.keeper.isEmpty()
	return err == nil && empty
}

// HoldTurns takes all turns in which keepers of a mechanism are started, until release is called.
func HoldTurns(m Mechanism) (release func()) {
	for _, held := range host().mechanisms {
		if held.probe().Mechanism != m {
			continue
		}
		k, ok := held.(*kept)
		if leaf, both := held.(*leafNamespace); both {
			k, ok = leaf.namespaces, true
		}
		if !ok {
			continue
		}
		turns := k.pool("").turns
		for range cap(turns) {
			turns <- struct{}{}
		}
		return func() {
			for range cap(turns) {
				<-turns
			}
		}
	}
	return func() {}
}

// Greet takes body for the first message of a helper.
func Greet(body []byte) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer func() { _, _ = ours.Close(), theirs.Close() }()
	if err := (link{file: theirs}).send(message{kind: messageReady, body: body}); err != nil {
		return err
	}
	_, err = (&helper{link: link{file: ours}}).greet(time.Minute)
	return err
}

// WireVersion is what a helper of ours begins with after its error number.
const WireVersion = wireVersion

// PackOrder writes the body of an order to start, without a leaf.
func PackOrder(path string, argv, env []string, dir string) []byte {
	return packOrder(Spec{Path: path, Argv: Seal(argv...), Env: Seal(env...), Dir: dir}, false)
}

// UnpackOrder reads it. No descriptors come with it.
func UnpackOrder(body []byte) (path string, argv, env []string, dir string, ok bool) {
	o, _, ok := unpackSpec(&unpacker{rest: body})
	return o.Path, o.Argv.Reveal(), o.Env.Reveal(), o.Dir, ok
}

// PackStage writes what a stage is to become, and UnpackStage reads it.
func PackStage(s Spec) []byte { return packStage(s, true) }

func UnpackStage(body []byte) (s Spec, ok bool) {
	s, _, ok = unpackStage(body)
	return s, ok
}

// WithoutCgroups is this host as it would be without cgroups and namespaces.
func WithoutCgroups() Ladder {
	return Ladder{&ladder{[]mechanism{newSubreaper(), newThrowawayUser(), processGroup{}}}}
}

// Where users of their own are found for trees.
var (
	UserRange      = userRange
	ParseUserRange = parseUserRange
	IsUser         = isUser
)

// UserExists reports whether somebody is this user.
func UserExists(id string) bool {
	n, err := strconv.ParseUint(id, 10, 32)
	if err != nil {
		panic(err)
	}
	there, err := (&user{id: uint32(n)}).exists()
	return err != nil || there
}
