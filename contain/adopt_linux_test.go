package contain_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/internal/suite"
	. "github.com/boombox-go/boombox/matchers"
)

// stray is a fixture child that no group has started.
type stray struct {
	*running
	pid   int
	start uint64
	word  *os.File
	cmd   *exec.Cmd
}

// startOf is when a process began.
func startOf(pid int) uint64 {
	GinkgoHelper()
	_, _, _, _, _, start := contain.StatFields(must(contain.ParseStat([]byte(must(readFile("/proc/" + itoa(pid) + "/stat"))))))
	return start
}

// goAstray starts a fixture child behind the back of any group.
func goAstray(child string, args ...string) *stray {
	GinkgoHelper()
	return goAstrayAs(&syscall.SysProcAttr{Setpgid: true}, "", child, args...)
}

// goAstrayAs starts it from a copy of the test binary, "" for itself.
func goAstrayAs(attr *syscall.SysProcAttr, program, child string, args ...string) *stray {
	GinkgoHelper()
	spec, stdout, find := specOf(child, args...)
	DeferCleanup(reap, find)
	in, word, err := os.Pipe()
	Expect(err).NotTo(HaveOccurred())
	argv := spec.Argv.Reveal()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.SysProcAttr = spec.Env.Reveal(), in, spec.Stdout, attr
	if program != "" {
		cmd.Path = program
	}
	Expect(cmd.Start()).To(Succeed())
	DeferCleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = word.Close()
	})
	Expect(in.Close()).To(Succeed())
	Expect(spec.Stdout.Close()).To(Succeed())
	output := bufio.NewReader(stdout)
	r := &running{left: readReady(output), output: output, find: find}
	return &stray{running: r, pid: cmd.Process.Pid, start: startOf(cmd.Process.Pid), word: word, cmd: cmd}
}

// goOn lets "onword" go on, and returns its child and its orphan.
func (s *stray) goOn() (child, orphan int) {
	GinkgoHelper()
	Expect(s.word.WriteString("go\n")).To(Equal(3))
	pids := readReady(s.output)
	Expect(pids).To(HaveLen(2))
	return pids[0], pids[1]
}

// moves reports whether a mechanism moves what it adopts, into a cgroup.
func moves(m contain.Mechanism) bool { return m == contain.Cgroup2 || m == contain.Cgroup2PIDNamespace }

// heldThread is a thread of ours, not the first one, that stays until the spec is over.
func heldThread() int {
	over, ids := make(chan struct{}), make(chan int)
	DeferCleanup(func() { close(over) })
	for {
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ids <- syscall.Gettid()
			<-over
		}()
		if id := <-ids; id != os.Getpid() {
			return id
		}
	}
}

func init() {
	// adoptive adopts a child of its own and waits to be killed.
	helpers["adoptive"] = func() error {
		g, err := contain.New(contain.Options{Mechanism: contain.Mechanism(os.Getenv("BOOMBOX_SPEC_MECHANISM")), Require: contain.KillOnOwnerDeath})
		if err != nil {
			return err
		}
		argv := fixtures.Argv("setsid", "life=60s")
		cmd := exec.Command(argv[0], argv[1:]...)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err == nil {
			_, err = bufio.NewReader(out).ReadString('\n')
		}
		if err == nil {
			_, err = g.Adopt(cmd.Process.Pid, 0)
		}
		if err != nil {
			return err
		}
		say("adopted")
		untilReleased()
		return g.Close()
	}
	// stranger tries to adopt somebody else's process.
	helpers["stranger"] = func() error {
		for _, rung := range contain.Host().Rungs {
			if only := os.Getenv("BOOMBOX_SPEC_MECHANISM"); !rung.Offered() || only != "" && only != string(rung.Mechanism) {
				continue
			}
			g, err := contain.New(contain.Options{Mechanism: rung.Mechanism})
			if err != nil {
				return err
			}
			pid, err := strconv.Atoi(os.Getenv("BOOMBOX_SPEC_PID"))
			if err != nil {
				return err
			}
			_, err = g.Adopt(pid, 0)
			refused, _ := errors.AsType[*contain.AdoptError](err)
			say(refused != nil && refused.Reason == contain.AdoptRefused, errors.Is(err, syscall.EPERM), g.Close())
		}
		return nil
	}
}

var _ = Describe("Adopt", func() {
	ctx := context.Background()

	onEvery("takes in a process with its descendants, and says whether later ones are covered", func(m contain.Mechanism) {
		g := newGroup(m)
		s := goAstray("onword")
		c, err := g.Adopt(s.pid, s.start)
		Expect(err).NotTo(HaveOccurred())
		Expect(c.PID()).To(Equal(s.pid))
		Expect(c.Guarantees().Has(contain.KillTree)).To(Equal(moves(m)))
		Expect(c.Guarantees().Has(contain.ResistSameUID)).To(BeFalse())
		child, orphan := s.goOn()
		members, err := g.Members()
		Expect(err).NotTo(HaveOccurred())
		Expect(pidsOf(members)).To(ContainElements(s.pid, child))

		Expect(g.Close()).To(Succeed())
		Eventually(c.Exited()).WithTimeout(bound).Should(BeClosed())
		Expect(statusOf(c).Lost).To(BeTrue(), "it is its parent's to wait for")
		Expect(child).NotTo(BeRunning())
		if moves(m) {
			Expect(s.find()).NotTo(HaveSurvivors())
			Expect(ownBases()).To(BeEmpty())
		} else {
			Expect(pidsOf(s.find())).To(ConsistOf(orphan), "the control: an orphan is lost to who only follows")
		}
		var exit *exec.ExitError
		Expect(errors.As(s.cmd.Wait(), &exit)).To(BeTrue(), "its parent still reaps it")
		Expect(exit.Sys().(syscall.WaitStatus).Signal()).To(Equal(syscall.SIGKILL))
		Expect(c.Signal(syscall.SIGTERM)).To(MatchError(os.ErrProcessDone))
	})

	onEvery("takes in what is there already, other sessions too", func(m contain.Mechanism) {
		g := newGroup(m)
		s := goAstray("setsid")
		c, err := g.Adopt(s.pid, 0)
		Expect(err).NotTo(HaveOccurred())
		Expect(pidsOf(must(c.Members()))).To(ConsistOf(append(s.left, s.pid)))
		Expect(c.SignalTree(0)).To(Succeed())
		report, err := c.Stop(ctx, bound)
		Expect(err).NotTo(HaveOccurred())
		Expect(report).To(And(HaveField("Before", 2), HaveField("Drained", true), HaveField("Escalated", false)))
		Expect(s.find()).NotTo(HaveSurvivors())
		Expect(c.Close()).To(Succeed())
		Expect(c.Close()).To(Succeed())
		start(g, "sleep")
	})

	onEvery("refuses what must not be adopted, and says why", func(m contain.Mechanism) {
		g := newGroup(m)
		s := goAstray("sleep")
		argv := fixtures.Argv("exit")
		ended := exec.Command(argv[0], argv[1:]...)
		Expect(ended.Start()).To(Succeed())
		zombie := ended.Process.Pid
		Expect(unix.Waitid(unix.P_PID, zombie, nil, unix.WEXITED|unix.WNOWAIT, nil)).To(Succeed())
		held := start(newGroup(m), "sleep")
		for _, c := range []struct {
			pid    int
			start  uint64
			reason contain.AdoptReason
		}{
			{0, 0, contain.AdoptNoProcess},
			{-1, 0, contain.AdoptNoProcess},
			{-s.pid, 0, contain.AdoptNoProcess},
			{heldThread(), 0, contain.AdoptNoProcess},
			{1, 0, contain.AdoptSystem},
			{os.Getpid(), 0, contain.AdoptSelf},
			{os.Getppid(), 0, contain.AdoptAncestor},
			{s.pid, s.start + 1, contain.AdoptRecycled},
			{zombie, 0, contain.AdoptEnded},
			{1 << 30, 0, contain.AdoptEnded},
		} {
			_, err := g.Adopt(c.pid, c.start)
			refused, ok := errors.AsType[*contain.AdoptError](err)
			Expect(ok).To(BeTrue(), "%d: %v", c.pid, err)
			Expect(refused).To(And(HaveField("PID", c.pid), HaveField("Reason", c.reason)), "%d", c.pid)
			Expect(errors.Is(err, os.ErrProcessDone)).To(Equal(c.reason == contain.AdoptEnded))
		}
		Expect(ended.Wait()).To(Succeed())
		_, err := g.Adopt(held.PID(), 0)
		if m == contain.ProcessGroup {
			Expect(err).NotTo(HaveOccurred(), "nobody can tell that a process group is one of ours")
		} else {
			Expect(err).To(HaveField("Reason", contain.AdoptHeld))
			for _, pid := range helperProcesses(os.Getpid()) {
				_, err := g.Adopt(pid, 0)
				Expect(err).To(HaveField("Reason", contain.AdoptHeld), "a helper")
			}
		}
		if text, err := readFile("/proc/2/comm"); err == nil && text == "kthreadd\n" {
			_, err := g.Adopt(2, 0)
			Expect(err).To(HaveField("Reason", contain.AdoptSystem))
		}
		Expect(s.pid).To(BeRunning())
		Expect(g.Close()).To(Succeed())
		Expect(s.pid).To(BeRunning(), "who was not adopted is not killed")
		_, err = g.Adopt(s.pid, 0)
		Expect(err).To(MatchError(contain.ErrClosed))
	})

	It("waits for the ends of many without a thread for each", func() {
		const many = 40
		threads := func() int { return len(must(os.ReadDir("/proc/self/task"))) }
		g := newGroup(contain.ProcessGroup)
		before := threads()
		for range many {
			s := goAstray("sleep")
			_, err := g.Adopt(s.pid, s.start)
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(threads()).To(BeNumerically("<", before+many/2))
	})

	onEvery("refuses what would lose a guarantee that is required, and leaves it alone", func(m contain.Mechanism) {
		var gives contain.Guarantee
		for _, rung := range contain.Host().Rungs {
			if rung.Mechanism == m {
				gives = rung.Guarantees
			}
		}
		if gives == 0 {
			Skip("there is nothing to require")
		}
		require := gives & contain.KillTree
		if moves(m) {
			require = gives & contain.ResistSameUID
		}
		g, err := contain.New(contain.Options{Mechanism: m, Require: require})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(g.Close)
		s := goAstray("sleep")
		before := must(readFile("/proc/" + itoa(s.pid) + "/cgroup"))
		_, err = g.Adopt(s.pid, s.start)
		if require == 0 {
			Expect(err).NotTo(HaveOccurred(), "the control: nothing is lost")
			return
		}
		Expect(err).To(MatchError(contain.ErrUnsupported))
		Expect(err).To(And(HaveField("Operation", "adopt"), HaveField("Missing", require), HaveField("Asked", m)))
		Expect(readFile("/proc/" + itoa(s.pid) + "/cgroup")).To(Equal(before))
		Expect(g.Close()).To(Succeed())
		Expect(s.pid).To(BeRunning())
	})

	It("refuses what is somebody else's, with the system's reason", func() {
		requireRoot()
		requireCgroups()
		dir := specCgroup()
		delegate(dir)
		s := goAstray("sleep")
		lines := asNobody("stranger", dir, "BOOMBOX_SPEC_PID="+itoa(s.pid)).rest()
		Expect(lines).NotTo(BeEmpty())
		Expect(lines).To(HaveEach("true true <nil>"))
		Expect(s.pid).To(BeRunning())
	})

	It("puts back what it has moved when a descendant cannot be moved", func() {
		requireRoot()
		requireCgroups()
		dir, outside := specCgroup(), specCgroup()
		delegate(dir)
		fd, err := syscall.Open(dir, syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
		Expect(err).NotTo(HaveOccurred())
		defer syscall.Close(fd)
		s := goAstrayAs(&syscall.SysProcAttr{
			UseCgroupFD: true, CgroupFD: fd, Credential: &syscall.Credential{Uid: nobody, Gid: nobody},
		}, programFor(), "setsid")
		adopt := func() []string {
			GinkgoHelper()
			return asNobody("stranger", dir, "BOOMBOX_SPEC_PID="+itoa(s.pid), "BOOMBOX_SPEC_MECHANISM=cgroup2").rest()
		}
		before := must(readFile("/proc/" + itoa(s.pid) + "/cgroup"))
		enter := func(cgroup string) {
			GinkgoHelper()
			Expect(os.WriteFile(cgroup+"/cgroup.procs", []byte(itoa(s.left[0])), 0)).To(Succeed())
		}
		enter(outside)
		Expect(adopt()).To(Equal([]string{"true false <nil>"}))
		Expect(readFile("/proc/" + itoa(s.pid) + "/cgroup")).To(Equal(before))
		Expect(s.pid).To(BeRunning())
		Expect(s.left[0]).To(BeRunning())
		enter(dir)
		Expect(adopt()).To(Equal([]string{"false false <nil>"}), "the control: it is adopted, and dies")
		Expect(s.find()).NotTo(HaveSurvivors())
	})

	It("makes caps hold for what was adopted", func() {
		requireCgroups()
		suite.Require(contain.CapProcesses)
		g, err := contain.New(contain.Options{Mechanism: contain.Cgroup2, Limits: contain.Limits{Processes: 1}})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(g.Close)
		s := goAstray("onword")
		c, err := g.Adopt(s.pid, s.start)
		Expect(err).NotTo(HaveOccurred())
		Expect(c.Guarantees().Has(contain.CapProcesses)).To(BeTrue())
		Expect(s.word.WriteString("go\n")).To(Equal(3))
		Eventually(g).WithTimeout(longEnough).Should(HaveHitLimit(contain.LimitProcesses), "a fork was refused")
	})

	It("lets nobody among caps be spared by the kernel's memory killer, and elsewhere leaves it as it is", func() {
		requireCgroups()
		suite.Require(contain.CapMemory)
		adopted := func(l contain.Limits) string {
			GinkgoHelper()
			s := goAstray("sleep")
			err := os.WriteFile("/proc/"+itoa(s.pid)+"/oom_score_adj", []byte("-1000"), 0)
			if errors.Is(err, syscall.EACCES) {
				Skip("only CAP_SYS_RESOURCE lets a process be spared")
			}
			Expect(err).NotTo(HaveOccurred())
			g, err := contain.New(contain.Options{Mechanism: contain.Cgroup2, Limits: l})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(g.Close)
			_, err = g.Adopt(s.pid, s.start)
			Expect(err).NotTo(HaveOccurred())
			return adjustmentOf(s.pid)
		}
		Expect(adopted(contain.Limits{})).To(Equal("-1000"), "the control")
		Expect(adopted(contain.Limits{Memory: 64 << 20})).To(Equal("0"))
	})

	It("takes nobody into a frozen group, which would freeze it", func() {
		requireCgroups()
		g := newGroup(contain.Cgroup2)
		s := goAstray("sleep")
		Expect(g.Freeze(ctx)).To(Succeed())
		_, err := g.Adopt(s.pid, s.start)
		Expect(err).To(MatchError(contain.ErrFrozen))
		Expect(g.Thaw()).To(Succeed())
		c, err := g.Adopt(s.pid, s.start)
		Expect(err).NotTo(HaveOccurred())
		Expect(g.Freeze(ctx)).To(Succeed())
		Expect(eventsOf(c.PID())).To(ContainSubstring("frozen 1"))
	})

	It("lets what was adopted die with this program where it says so", func() {
		suite.Require(contain.KillOnOwnerDeath)
		requireCgroups()
		for _, m := range mechanisms() {
			if !moves(m) {
				continue
			}
			nonce, find := suite.WithNonce()
			DeferCleanup(reap, find)
			owner := startHelper("adoptive", nil, nonce, "BOOMBOX_SPEC_MECHANISM="+string(m))
			Expect(strings.TrimSpace(owner.line())).To(Equal("adopted"))
			Expect(find()).To(HaveMembers(3), "the owner, its child, and the child's in another session")
			owner.die()
			Eventually(find).WithTimeout(deathBound).ShouldNot(HaveSurvivors())
		}
	})
})
