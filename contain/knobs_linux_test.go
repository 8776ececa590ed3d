package contain_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/suite"
	. "github.com/boombox-go/boombox/matchers"
)

// born is what the knobs child says that it was born with.
type born map[string]string

func bornIn(g *contain.Group, change func(*contain.Spec)) born {
	GinkgoHelper()
	spec, stdout, find := specOf("knobs")
	DeferCleanup(reap, find)
	spec.Path = public()
	change(&spec)
	c, err := g.Start(context.Background(), spec)
	Expect(err).NotTo(HaveOccurred())
	Expect(spec.Stdout.Close()).To(Succeed())
	text, err := io.ReadAll(stdout)
	Expect(err).NotTo(HaveOccurred())
	Eventually(c.Exited()).WithTimeout(longEnough).Should(BeClosed())
	Expect(statusOf(c).Code).To(Equal(0))
	Expect(c.Close()).To(Succeed())
	b := born{}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		b[key] = value
	}
	return b
}

// public is the fixture program where every user can execute it.
var public = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "boombox-spec-")
	Expect(err).NotTo(HaveOccurred())
	Expect(os.Chmod(dir, 0o755)).To(Succeed())
	own, err := os.Executable()
	Expect(err).NotTo(HaveOccurred())
	program := filepath.Join(dir, "fixture")
	copyFile(own, program)
	return program
})

var _ = AfterSuite(func() {
	if dir := filepath.Dir(public()); strings.Contains(dir, "boombox-spec-") {
		Expect(os.RemoveAll(dir)).To(Succeed())
	}
})

// firstCPU is a processor that we may run on.
func firstCPU() int {
	GinkgoHelper()
	var set unix.CPUSet
	Expect(unix.SchedGetaffinity(0, &set)).To(Succeed())
	for cpu := range 1024 {
		if set.IsSet(cpu) {
			return cpu
		}
	}
	Fail("no processor at all")
	return 0
}

func needRoot() {
	GinkgoHelper()
	if os.Geteuid() != 0 {
		Skip("it takes root")
	}
}

// refusedStart is the step of a start that failed, and its error.
func refusedStart(g *contain.Group, change func(*contain.Spec)) *contain.StartError {
	GinkgoHelper()
	spec, _, find := specOf("knobs")
	change(&spec)
	_, err := g.Start(context.Background(), spec)
	step, ok := errors.AsType[*contain.StartError](err)
	Expect(ok).To(BeTrue(), "%v", err)
	Expect(find()).NotTo(HaveSurvivors(), "the program never ran")
	return step
}

var _ = Describe("what a child is born with", func() {
	onEvery("is all that was asked for, at once", func(m contain.Mechanism) {
		needRoot()
		g := newGroup(m)
		cpu := firstCPU()
		got := bornIn(g, func(s *contain.Spec) {
			s.Dir = "/"
			s.Argv = contain.Seal(append([]string{"another name"}, s.Argv.Reveal()[1:]...)...)
			s.NewSession, s.NoNewPrivileges, s.NoCoreDumps = true, true, true
			s.Credential = &contain.Credential{UID: 4711, GID: 4712, Groups: []uint32{7, 9}}
			s.Umask = new(fs.FileMode(0o137))
			s.Rlimits = contain.Rlimits{
				NoFile: &contain.Rlimit{Soft: 100, Hard: 100}, FSize: &contain.Rlimit{Soft: 1 << 20, Hard: 2 << 20},
				Stack: &contain.Rlimit{Soft: 4 << 20, Hard: 8 << 20}, CPU: &contain.Rlimit{Soft: 50, Hard: 60},
				Data: &contain.Rlimit{Soft: 1 << 30, Hard: 2 << 30},
			}
			s.Nice = new(7)
			s.IOPriority = &contain.IOPriority{Class: contain.IOBestEffort, Level: 6}
			s.CPUAffinity = []int{cpu}
			s.OOMScoreAdj = new(321)
		})
		want := born{
			"Uid": "4711 4711 4711 4711", "Gid": "4712 4712 4712 4712", "Groups": "7 9", "CapEff": "0000000000000000",
			"Umask": "0137", "NoNewPrivs": "1", "Cpus_allowed_list": strconv.Itoa(cpu), "nice": "7", "ioprio": "2 6", "oom": "321",
			"session": "true", "cwd": "/", "core": "0 0", "nofile": "100 100", "fsize": "1048576 2097152",
			"stack": "4194304 8388608", "cpu": "50 60", "data": "1073741824 2147483648",
		}
		for key, value := range want {
			Expect(got).To(HaveKeyWithValue(key, value))
		}
		// The control: what is not asked for is as it is with us.
		plain := bornIn(g, func(*contain.Spec) {})
		for _, key := range []string{"Uid", "Umask", "NoNewPrivs", "nice", "ioprio", "oom", "session", "nofile", "fsize", "stack", "cpu", "data"} {
			Expect(plain).NotTo(HaveKeyWithValue(key, got[key]))
		}
	})

	onEvery("leaves everything else as it is with us", func(m contain.Mechanism) {
		g := newGroup(m)
		plain := bornIn(g, func(*contain.Spec) {})
		staged := bornIn(g, func(s *contain.Spec) { s.Umask = new(fs.FileMode(0o077)) })
		Expect(staged["Umask"]).To(Equal("0077"))
		delete(staged, "Umask")
		delete(plain, "Umask")
		Expect(staged).To(Equal(plain))
	})

	onEvery("has no supplementary groups of ours when it is somebody else", func(m contain.Mechanism) {
		needRoot()
		was, err := syscall.Getgroups()
		Expect(err).NotTo(HaveOccurred())
		Expect(syscall.Setgroups([]int{1, 2, 3})).To(Succeed())
		defer func() { Expect(syscall.Setgroups(was)).To(Succeed()) }()
		g := newGroup(m)
		if m == contain.Cgroup2 || m == contain.ProcessGroup { // a keeper has had its groups since it was started
			Expect(bornIn(g, func(*contain.Spec) {})["Groups"]).To(Equal("1 2 3"), "the control")
		}
		Expect(bornIn(g, func(s *contain.Spec) { s.Credential = &contain.Credential{UID: 65534, GID: 65534} })["Groups"]).To(BeEmpty())
		Expect(bornIn(g, func(s *contain.Spec) { s.Credential = &contain.Credential{} })["Groups"]).To(BeEmpty(), "as root again, too")
	})

	onEvery("is held and killed as another user, with all its descendants", func(m contain.Mechanism) {
		needRoot()
		g := newGroup(m)
		spec, stdout, find := specOf("setpgid")
		spec.Path = public()
		DeferCleanup(reap, find)
		spec.Credential = &contain.Credential{UID: 65534, GID: 65534}
		c, err := g.Start(context.Background(), spec)
		Expect(err).NotTo(HaveOccurred())
		Expect(spec.Stdout.Close()).To(Succeed())
		readReady(bufio.NewReader(stdout))
		text, err := readFile("/proc/" + strconv.Itoa(c.PID()) + "/status")
		Expect(err).NotTo(HaveOccurred())
		Expect(text).To(ContainSubstring("Uid:\t65534\t65534\t65534\t65534\n"))
		Expect(g.Close()).To(Succeed())
		if g.Guarantees().Has(contain.KillTree) {
			Expect(find()).NotTo(HaveSurvivors())
		}
	})

	It("gets its descriptors and no other", func() {
		g := newGroup(contain.ProcessGroup)
		for _, umask := range []*fs.FileMode{nil, new(fs.FileMode(0o022))} {
			spec, stdout, find := specOf("fds")
			DeferCleanup(reap, find)
			r, w, err := os.Pipe()
			Expect(err).NotTo(HaveOccurred())
			spec.Umask, spec.Files = umask, []*os.File{r, nil, w}
			_, err = g.Start(context.Background(), spec)
			Expect(err).NotTo(HaveOccurred())
			Expect(r.Close()).To(Succeed())
			Expect(w.Close()).To(Succeed())
			Expect(spec.Stdout.Close()).To(Succeed())
			text, err := io.ReadAll(stdout)
			Expect(err).NotTo(HaveOccurred())
			Expect(strings.Fields(string(text))).To(Equal([]string{"0", "1", "2", "3", "4", "5"}))
		}
	})

	It("may have little memory, and much to be told", func() {
		big := strings.Repeat("x", 100_000)
		spec, stdout, find := specOf("args", big)
		DeferCleanup(reap, find)
		env := spec.Env.Reveal()
		for i := range 10 {
			env = append(env, "BIG"+strconv.Itoa(i)+"="+big)
		}
		// Less than the stage has by then.
		spec.Env, spec.Rlimits.Data = contain.Seal(env...), &contain.Rlimit{Soft: 4 << 20, Hard: 4 << 20}
		spec.Path, spec.Argv = "/bin/sh", contain.Seal("sh", "-c", `ulimit -Sd; printf %s "$BIG9" | wc -c`)
		_, err := newGroup(contain.ProcessGroup).Start(context.Background(), spec)
		Expect(err).NotTo(HaveOccurred())
		Expect(spec.Stdout.Close()).To(Succeed())
		text, err := io.ReadAll(stdout)
		Expect(err).NotTo(HaveOccurred())
		Expect(strings.Fields(string(text))).To(Equal([]string{"4096", "100000"}))
	})

	It("has a soft limit of descriptors of its own", func() {
		spec, stdout, find := specOf("fds")
		DeferCleanup(reap, find)
		spec.Rlimits.NoFile = &contain.Rlimit{Soft: 50, Hard: 60}
		spec.Path, spec.Argv = "/bin/sh", contain.Seal("sh", "-c", "ulimit -Sn; ulimit -Hn")
		_, err := newGroup(contain.ProcessGroup).Start(context.Background(), spec)
		Expect(err).NotTo(HaveOccurred())
		Expect(spec.Stdout.Close()).To(Succeed())
		text, err := io.ReadAll(stdout)
		Expect(err).NotTo(HaveOccurred())
		Expect(strings.Fields(string(text))).To(Equal([]string{"50", "60"}))
	})
})

func init() {
	// become tries to start a program as somebody else, and says how it is refused.
	helpers["become"] = func() error {
		g, err := contain.New(contain.Options{Mechanism: contain.ProcessGroup})
		if err != nil {
			return err
		}
		spec := contain.Spec{Path: "/bin/true", Argv: contain.Seal("true"), Credential: &contain.Credential{UID: 1, GID: 1}}
		_, err = g.Start(context.Background(), spec)
		say(err)
		say(errors.Is(err, contain.ErrUnsupported), spec.Unsupported().Field)
		say(errors.Join(err, g.Close()) != nil)
		spec.Credential, spec.Nice = nil, new(5)
		for _, m := range mechanisms() {
			g, err := contain.New(contain.Options{Mechanism: m})
			if err != nil {
				return err
			}
			_, err = g.Start(context.Background(), spec)
			say(errors.Join(err, g.Close()))
		}
		return nil
	}
}

var _ = Describe("a start that cannot be prepared", func() {
	It("is refused to whoever may not become somebody else, before anything starts", func() {
		needRoot()
		nobody := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		lines := startProgram(public(), "become", nobody, "HOME=/", "TMPDIR=/tmp").rest()
		Expect(lines[:3]).To(Equal([]string{
			"contain: cannot confine the program: Credential: running a program as somebody else takes CAP_SETUID and CAP_SETGID, which root has",
			"true Credential",
			"true",
		}))
		// The control: what takes no privilege, on each mechanism that such a user has.
		Expect(lines[3:]).NotTo(BeEmpty())
		Expect(lines[3:]).To(HaveEach("<nil>"))
	})

	onEvery("names the step, and the program never runs", func(m contain.Mechanism) {
		g := newGroup(m)
		dir := GinkgoT().TempDir()
		Expect(os.Chmod(dir, 0o700)).To(Succeed())
		for want, change := range map[contain.StartStep]func(*contain.Spec){
			contain.StepRlimits:    func(s *contain.Spec) { s.Rlimits.FSize = &contain.Rlimit{Soft: 2, Hard: 1} },
			contain.StepIOPriority: func(s *contain.Spec) { s.IOPriority = &contain.IOPriority{Class: 5} },
			contain.StepAffinity:   func(s *contain.Spec) { s.CPUAffinity = []int{1000} },
			contain.StepOOMScore:   func(s *contain.Spec) { s.OOMScoreAdj = new(5000) },
			contain.StepDir:        func(s *contain.Spec) { s.Nice, s.Dir = new(5), "/boombox/none" },
		} {
			By(string(want))
			Expect(refusedStart(g, change).Step).To(Equal(want))
		}
		Expect(refusedStart(g, func(s *contain.Spec) { s.Nice, s.Path = new(5), "/boombox/none" })).To(And(
			HaveField("Step", contain.StepExec), MatchError(syscall.ENOENT),
		))
		if os.Geteuid() != 0 {
			return
		}
		nobody := &contain.Credential{UID: 65534, GID: 65534}
		Expect(refusedStart(g, func(s *contain.Spec) { s.Credential, s.Dir = nobody, dir })).To(And(
			HaveField("Step", contain.StepDir), MatchError(syscall.EACCES),
		), "a directory that is closed to that user")
		private := filepath.Join(dir, "program")
		copyFile("/bin/true", private)
		Expect(refusedStart(g, func(s *contain.Spec) { s.Credential, s.Path = nobody, private })).To(And(
			HaveField("Step", contain.StepExec), MatchError(syscall.EACCES),
		), "a program that is closed to that user")
		// The control: the same program, and we.
		spec, _, _ := specOf("knobs")
		spec.Path, spec.Nice = private, new(5)
		_, err := g.Start(context.Background(), spec)
		Expect(err).NotTo(HaveOccurred())
	})

	It("is given up when its context ends, and leaves nothing", func() {
		g := newGroup(contain.ProcessGroup)
		ctx, cancel := context.WithCancel(context.Background())
		spec, _, find := specOf("sleep")
		DeferCleanup(reap, find)
		spec.Nice = new(5)
		time.AfterFunc(2*time.Millisecond, cancel)
		for {
			if _, err := g.Start(ctx, spec); err != nil {
				Expect(err).To(MatchError(context.Canceled))
				break
			}
		}
		Expect(g.Close()).To(Succeed())
		Expect(find()).NotTo(HaveSurvivors())
	})

	onEvery("does not outlive a group that is closed meanwhile", func(m contain.Mechanism) {
		for i := range 8 {
			g, err := contain.New(contain.Options{Mechanism: m})
			Expect(err).NotTo(HaveOccurred())
			spec, _, here := specOf("sleep")
			DeferCleanup(reap, here)
			spec.Nice = new(5)
			started := make(chan error, 1)
			go func() {
				_, err := g.Start(context.Background(), spec)
				started <- err
			}()
			time.Sleep(time.Duration(2*i) * time.Millisecond) //nolint:forbidigo // any instant of the start, not one that is awaited
			Expect(g.Close()).To(Succeed())
			Expect(<-started).To(Or(Not(HaveOccurred()), MatchError(contain.ErrClosed)))
			Expect(here()).To(BeEmpty())
		}
	})

	It("is refused, with the reason, where its cap on processes leaves no room", func() {
		suite.Require(contain.CapProcesses)
		g, err := contain.New(contain.Options{Limits: contain.Limits{Processes: 1}})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(g.Close()).To(Succeed()) })
		step := refusedStart(g, func(s *contain.Spec) { s.Path, s.Nice = "/bin/true", new(5) })
		Expect(step.Step).To(Equal(contain.StepStage))
		spec, _, _ := specOf("sleep")
		spec.Path = "/bin/true"
		_, err = g.Start(context.Background(), spec)
		Expect(err).NotTo(HaveOccurred(), "the control: without a stage there is room")
	})

	It("is composed with caps", func() {
		needRoot()
		suite.Require(contain.CapProcesses)
		g, err := contain.New(contain.Options{Limits: contain.Limits{Processes: 64}})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(g.Close()).To(Succeed()) })
		got := bornIn(g, func(s *contain.Spec) {
			s.Credential, s.Rlimits.NoFile = &contain.Credential{UID: 65534, GID: 65534}, &contain.Rlimit{Soft: 64, Hard: 64}
		})
		Expect(got).To(And(HaveKeyWithValue("Uid", "65534 65534 65534 65534"), HaveKeyWithValue("nofile", "64 64")))
	})
})
