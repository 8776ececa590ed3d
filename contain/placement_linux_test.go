package contain_test

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
)

// fakeFS is a made-up cgroup v2 file system that keeps the kernel's rules about controllers and inhabitants.
type fakeFS struct {
	dirs map[string]*fakeDir
	// refuse is what every change is refused with, 0 for none.
	refuse syscall.Errno
	ours   []int
	writes []string
}

type fakeDir struct {
	controllers, enabled []string
	kind                 string // cgroup.type, "" in the root
	pids                 []int
	delegated            bool
	readOnly             syscall.Errno
}

func (f *fakeFS) split(path string) (*fakeDir, string) {
	if d, ok := f.dirs[filepath.Clean(path)]; ok {
		return d, "."
	}
	return f.dirs[filepath.Dir(path)], filepath.Base(path)
}

func (f *fakeFS) Read(path string) ([]byte, error) {
	d, file := f.split(path)
	if d == nil {
		return nil, syscall.ENOENT
	}
	switch file {
	case "cgroup.controllers":
		return []byte(strings.Join(d.controllers, " ") + "\n"), nil
	case "cgroup.subtree_control":
		return []byte(strings.Join(d.enabled, " ") + "\n"), nil
	case "cgroup.procs":
		var lines []string
		for _, pid := range d.pids {
			lines = append(lines, itoa(pid))
		}
		return []byte(strings.Join(lines, "\n")), nil
	case "cgroup.type":
		if d.kind != "" {
			return []byte(d.kind + "\n"), nil
		}
	}
	return nil, syscall.ENOENT
}

func (f *fakeFS) Write(path, text string) error {
	f.writes = append(f.writes, filepath.Base(path)+" "+text)
	d, file := f.split(path)
	switch {
	case d == nil:
		return syscall.ENOENT
	case f.refuse != 0:
		return f.refuse
	case d.readOnly != 0:
		return d.readOnly
	case file == "cgroup.procs":
		for _, other := range f.dirs {
			for i, pid := range other.pids {
				if itoa(pid) == text {
					other.pids = slices.Delete(other.pids, i, i+1)
					d.pids = append(d.pids, pid)
					return nil
				}
			}
		}
		return syscall.ESRCH
	case d.kind == "threaded":
		return syscall.EOPNOTSUPP
	case d.kind != "" && len(d.pids) > 0:
		return syscall.EBUSY
	}
	d.enabled = append(d.enabled, strings.TrimPrefix(text, "+"))
	return nil
}

func (f *fakeFS) Writable(path string) error {
	d, _ := f.split(path)
	switch {
	case d == nil:
		return syscall.ENOENT
	case d.readOnly != 0:
		return d.readOnly
	}
	return nil
}

func (f *fakeFS) Mkdir(path string) error {
	parent := f.dirs[filepath.Dir(path)]
	if parent == nil {
		return syscall.ENOENT
	}
	if parent.readOnly != 0 {
		return parent.readOnly
	}
	f.dirs[path] = &fakeDir{controllers: parent.enabled, kind: "domain"}
	return nil
}

func (f *fakeFS) Rmdir(path string) error    { delete(f.dirs, path); return nil }
func (f *fakeFS) IsCgroup2(dir string) bool  { return f.dirs[dir] != nil }
func (f *fakeFS) Delegated(dir string) bool  { return f.dirs[dir] != nil && f.dirs[dir].delegated }
func (f *fakeFS) Ours(pid int) bool          { return slices.Contains(f.ours, pid) }
func (f *fakeFS) has(path string) (ok bool)  { _, ok = f.dirs[path]; return ok }
func host(own *fakeDir, more ...any) *fakeFS { return hostAt("/cg/own", own, more...) }
func all() []string                          { return []string{"cpu", "memory", "pids"} }
func hostAt(at string, own *fakeDir, more ...any) *fakeFS {
	f := &fakeFS{dirs: map[string]*fakeDir{at: own}, ours: []int{4711, 4712}}
	for i := 0; i+1 < len(more); i += 2 {
		f.dirs[more[i].(string)] = more[i+1].(*fakeDir)
	}
	return f
}

var _ = Describe("the place for caps", func() {
	want := []string{"memory", "pids"}

	DescribeTable("is found by the first strategy that passes",
		func(f *fakeFS, parent string, migrate bool, dir string, writes ...string) {
			site := contain.Site{FS: f, Own: "/cg/own", Parent: parent, Migrate: migrate}
			predicted, err := site.Place(want, false)
			Expect(err).To(BeNil())
			Expect(predicted).To(Equal(dir))
			Expect(f.writes).To(BeEmpty(), "a prediction changes nothing")
			got, err := site.Place(want, true)
			Expect(err).To(BeNil())
			Expect(got).To(Equal(dir))
			Expect(f.writes).To(Equal(append([]string(nil), writes...)))
			again, err := site.Place(want, true)
			Expect(err).To(BeNil())
			Expect(again).To(Equal(dir))
			Expect(f.writes).To(HaveLen(len(writes)), "what is enabled is enabled")
		},
		Entry("the parent that is given", host(&fakeDir{kind: "domain"}, "/cg/mine", &fakeDir{controllers: all(), kind: "domain"}),
			"/cg/mine", false, "/cg/mine", "cgroup.subtree_control +memory", "cgroup.subtree_control +pids"),
		Entry("the real root, processes and all", host(&fakeDir{controllers: all(), pids: []int{1, 2}}),
			"", false, "/cg/own", "cgroup.subtree_control +memory", "cgroup.subtree_control +pids"),
		Entry("our own, where somebody has enabled them", host(&fakeDir{controllers: all(), enabled: all(), kind: "domain threaded", pids: []int{1}}),
			"", false, "/cg/own"),
		Entry("the parent that is delegated", host(&fakeDir{controllers: all(), kind: "domain", pids: []int{4711}},
			"/cg", &fakeDir{controllers: all(), enabled: []string{"memory"}, kind: "domain", delegated: true}),
			"", false, "/cg", "cgroup.subtree_control +pids"),
	)

	It("is our own after we have moved out of it, if that is allowed", func() {
		f := host(&fakeDir{controllers: all(), kind: "domain", pids: []int{4711, 4712}})
		site := contain.Site{FS: f, Own: "/cg/own", Migrate: true}
		Expect(site.Place(want, false)).To(Equal("/cg/own"))
		Expect(f.dirs).To(HaveLen(1))
		Expect(site.Place(want, true)).To(Equal("/cg/own"))
		Expect(f.dirs["/cg/own"].pids).To(BeEmpty())
		Expect(f.dirs["/cg/own"].enabled).To(ConsistOf("memory", "pids"))
		Expect(f.dirs).To(HaveLen(2))
		for dir, d := range f.dirs {
			if dir != "/cg/own" {
				Expect(filepath.Base(dir)).To(HavePrefix("boombox-home-"))
				Expect(d.pids).To(ConsistOf(4711, 4712))
				_, isBase := contain.ParseBase(filepath.Base(dir))
				Expect(isBase).To(BeFalse(), "or a sweep would kill who is in it")
				// The next group, of a process that is now in there, finds the same place.
				Expect(contain.Site{FS: f, Own: dir, Before: "/cg/own"}.Place(want, true)).To(Equal("/cg/own"))
			}
		}
	})

	It("is left as it was when moving fails", func() {
		f := host(&fakeDir{controllers: all(), kind: "domain", pids: []int{4711}})
		f.refuse = syscall.EACCES
		_, err := contain.Site{FS: f, Own: "/cg/own", Migrate: true}.Place(want, true)
		Expect(err).To(HaveField("Reason", contain.LimitNotDelegated))
		Expect(f.dirs["/cg/own"].pids).To(ConsistOf(4711))
		Expect(f.dirs).To(HaveLen(1))
	})

	DescribeTable("is refused with the reason",
		func(f *fakeFS, parent string, migrate bool, kind contain.LimitKind, reason contain.LimitReason, text string) {
			for _, apply := range []bool{false, true} {
				dir, err := contain.Site{FS: f, Own: "/cg/own", Parent: parent, Migrate: migrate}.Place(want, apply)
				Expect(dir).To(BeEmpty())
				Expect(err).NotTo(BeNil(), "apply %v", apply)
				Expect(err.Kind).To(Equal(kind))
				Expect(err.Reason).To(Equal(reason))
				Expect(err).To(MatchError(contain.ErrUnsupported))
				Expect(err.Error()).To(ContainSubstring(text))
				Expect(err.Error()).NotTo(ContainSubstring("/cg/"), "no path")
			}
			Expect(f.dirs["/cg/own"].pids).NotTo(BeEmpty(), "nobody was moved")
		},
		Entry("our own holds processes", host(&fakeDir{controllers: all(), kind: "domain", pids: []int{4711}}),
			"", false, contain.LimitMemory, contain.LimitInternalProcesses, "would help: let boombox move this program into a cgroup below (BOOMBOX_MIGRATE=1)"),
		Entry("strangers are in it", host(&fakeDir{controllers: all(), kind: "domain", pids: []int{4711, 99}}),
			"", true, contain.LimitMemory, contain.LimitStrangers, "not ours to move"),
		Entry("somebody of another pid namespace is in it", host(&fakeDir{controllers: all(), kind: "domain", pids: []int{4711, 0}}),
			"", true, contain.LimitMemory, contain.LimitStrangers, "not ours to move"),
		Entry("no controller at all", host(&fakeDir{kind: "domain", pids: []int{4711}}),
			"", true, contain.LimitMemory, contain.LimitNoController, "the memory controller is not passed down to our cgroup, which has: none"),
		Entry("one controller too few", host(&fakeDir{controllers: []string{"cpu", "memory"}, kind: "domain", pids: []int{4711}}),
			"", false, contain.LimitProcesses, contain.LimitNoController, "the pids controller is not passed down to our cgroup, which has: cpu memory"),
		Entry("it is not ours to write", host(&fakeDir{controllers: all(), kind: "domain", pids: []int{4711}, readOnly: syscall.EACCES}),
			"", true, contain.LimitMemory, contain.LimitNotDelegated, "systemd-run --user --scope -p Delegate=yes"),
		Entry("it is mounted read-only", host(&fakeDir{controllers: all(), kind: "domain", pids: []int{4711}, readOnly: syscall.EROFS}),
			"", true, contain.LimitMemory, contain.LimitReadOnly, "mount /sys/fs/cgroup writable"),
		Entry("it is threaded", host(&fakeDir{controllers: all(), kind: "threaded", pids: []int{4711}}),
			"", true, contain.LimitMemory, contain.LimitThreaded, "would help: "),
		Entry("the root is read-only", host(&fakeDir{controllers: all(), pids: []int{4711}, readOnly: syscall.EROFS}),
			"", false, contain.LimitMemory, contain.LimitReadOnly, "would help: "),
		Entry("the parent given is none", host(&fakeDir{controllers: all(), pids: []int{4711}}),
			"/elsewhere", false, contain.LimitMemory, contain.LimitNoCgroup2, "not a directory of a cgroup v2"),
		Entry("the parent given holds processes", host(&fakeDir{controllers: all(), pids: []int{4711}},
			"/cg/full", &fakeDir{controllers: all(), kind: "domain", pids: []int{5}}),
			"/cg/full", true, contain.LimitMemory, contain.LimitInternalProcesses, "holds processes"),
		Entry("the parent given has no controllers", host(&fakeDir{controllers: all(), pids: []int{4711}},
			"/cg/bare", &fakeDir{kind: "domain"}),
			"/cg/bare", true, contain.LimitMemory, contain.LimitNoController, "memory"),
		Entry("the parent above is not delegated", host(&fakeDir{controllers: all(), kind: "domain", pids: []int{4711}},
			"/cg", &fakeDir{controllers: all(), enabled: all(), kind: "domain"}),
			"", false, contain.LimitMemory, contain.LimitInternalProcesses, "would help: "),
	)

	DescribeTable("is not to be had where the kernel refuses when it is asked",
		func(errno syscall.Errno, reason contain.LimitReason) {
			f := host(&fakeDir{controllers: all()})
			f.refuse = errno
			_, err := contain.Site{FS: f, Own: "/cg/own"}.Place(want, true)
			Expect(err).To(And(HaveField("Reason", reason), MatchError(errno)))
		},
		Entry(nil, syscall.EBUSY, contain.LimitInternalProcesses),
		Entry(nil, syscall.EPERM, contain.LimitNotDelegated),
		Entry(nil, syscall.ENOSYS, contain.LimitKernelTooOld),
		Entry(nil, syscall.ENOENT, contain.LimitKernelTooOld),
		Entry(nil, syscall.EIO, contain.LimitFailed),
	)

	DescribeTable("is refused with the reason why the mechanism is not to be had at all",
		func(err error, reason contain.LimitReason) {
			refused := contain.Unavailable(err)
			Expect(refused.Reason).To(Equal(reason))
			Expect(refused.Error()).To(Equal("contain: memory limit cannot be enforced (" + string(reason) + "): cgroup2: it is not; would help: money"))
		},
		Entry(nil, syscall.EROFS, contain.LimitReadOnly),
		Entry(nil, syscall.EACCES, contain.LimitNotDelegated),
		Entry(nil, syscall.EPERM, contain.LimitNotDelegated),
		Entry(nil, syscall.ENOSYS, contain.LimitKernelTooOld),
		Entry(nil, syscall.EIO, contain.LimitFailed),
		Entry("no cgroup v2", nil, contain.LimitNoCgroup2),
	)

	DescribeTable("in a v1 hierarchy is refused with the reason",
		func(f *fakeFS, dir string, reason contain.LimitReason) {
			Expect(contain.RefuseV1(f, "memory", dir)).To(And(HaveField("Kind", contain.LimitMemory), HaveField("Reason", reason)))
		},
		Entry("not mounted", &fakeFS{}, "", contain.LimitNotMounted),
		Entry("read-only", hostAt("/v1", &fakeDir{readOnly: syscall.EROFS}), "/v1", contain.LimitReadOnly),
		Entry("not ours", hostAt("/v1", &fakeDir{readOnly: syscall.EACCES}), "/v1", contain.LimitNotDelegated),
	)
})
