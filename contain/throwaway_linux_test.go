package contain_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/suite"
	. "github.com/boombox-go/boombox/matchers"
)

func init() {
	// spendthrift starts trees as users of their own until it is killed.
	helpers["spendthrift"] = func() error {
		g, err := contain.New(contain.Options{Mechanism: contain.ThrowawayUser, Require: contain.KillOnOwnerDeath | contain.KillForkBomb})
		if err != nil {
			return err
		}
		say(g.Guarantees().String())
		for {
			spec, _, _ := specOf("escapees")
			spec.Path, spec.Stdout = "/proc/self/exe", nil
			c, err := g.Start(context.Background(), spec)
			if err != nil {
				return err
			}
			if rand.IntN(2) == 0 {
				if err := c.Close(); err != nil {
					return err
				}
			}
		}
	}
}

func init() {
	// petitioner asks for a user of its own for each tree.
	helpers["petitioner"] = func() error {
		_, err := contain.New(contain.Options{Mechanism: contain.ThrowawayUser})
		say("refused", errors.Is(err, contain.ErrUnsupported), err)
		return nil
	}
}

var _ = Describe("a user of its own for each tree", func() {
	ctx := context.Background()
	nobodysGroup := func() *contain.Group {
		GinkgoHelper()
		for _, rung := range contain.Host().Rungs {
			if rung.Mechanism == contain.ThrowawayUser && !rung.Available {
				Skip("it is not to be had: " + rung.Reason)
			}
		}
		return newGroup(contain.ThrowawayUser)
	}
	// begin starts a fixture child, which anybody can execute by way of its keeper.
	begin := func(g *contain.Group, child string, args ...string) *running {
		GinkgoHelper()
		spec, stdout, find := specOf(child, args...)
		spec.Path = "/proc/self/exe"
		DeferCleanup(reap, find)
		c, err := g.Start(ctx, spec)
		Expect(err).NotTo(HaveOccurred())
		Expect(spec.Stdout.Close()).To(Succeed())
		output := bufio.NewReader(stdout)
		return &running{Child: c, left: outer(readReady(output), find), output: output, find: find}
	}
	// there lists who is alive and such a user. Of those the nonce is not to be seen where root has no CAP_SYS_PTRACE.
	there := func() (pids []int) {
		first, count, ok := contain.UserRange()
		Expect(ok).To(BeTrue())
		for _, file := range must(filepath.Glob("/proc/[0-9]*/status")) {
			text, err := readFile(file)
			fields := strings.Fields(regexp.MustCompile("(?m)^Uid:.*$").FindString(text))
			if err != nil || len(fields) < 2 || regexp.MustCompile(`(?m)^State:\s+[ZX]`).MatchString(text) && strings.Contains(text, "\nThreads:\t1\n") {
				continue // gone, or as good as
			}
			if id, err := strconv.ParseUint(fields[1], 10, 32); err == nil && id >= uint64(first) && id < uint64(first)+uint64(count) {
				pids = append(pids, must(strconv.Atoi(filepath.Base(filepath.Dir(file)))))
			}
		}
		return pids
	}
	status := func(pid int, field string) []string {
		GinkgoHelper()
		line := regexp.MustCompile("(?m)^" + field + ":.*$").FindString(must(readFile("/proc/" + itoa(pid) + "/status")))
		return strings.Fields(line)[1:]
	}

	It("has no groups, no privileges, and nobody beside it", func() {
		g := nobodysGroup()
		a, b := begin(g, "sleep"), begin(g, "escapees")
		for _, r := range []*running{a, b} {
			id := status(r.PID(), "Uid")
			Expect(id).To(HaveLen(4))
			Expect(id).To(HaveEach(id[0]))
			Expect(strconv.Atoi(id[0])).To(BeNumerically(">", 10_000))
			Expect(status(r.PID(), "Gid")).To(HaveEach(id[0]))
			Expect(status(r.PID(), "Groups")).To(BeEmpty())
			Expect(status(r.PID(), "NoNewPrivs")).To(Equal([]string{"1"}))
			for _, caps := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb"} {
				Expect(status(r.PID(), caps)).To(HaveEach(MatchRegexp("^0+$")), caps)
			}
			Expect(contain.UserExists(id[0])).To(BeTrue())
		}
		Expect(status(a.PID(), "Uid")).NotTo(Equal(status(b.PID(), "Uid")))
		for _, pid := range b.left {
			Expect(status(pid, "Uid")).To(Equal(status(b.PID(), "Uid")))
		}
		was := status(b.PID(), "Uid")[0]
		Expect(b.Close()).To(Succeed())
		Expect(b.find()).NotTo(HaveSurvivors())
		Expect(contain.UserExists(was)).To(BeFalse())
		Expect(a.PID()).To(BeRunning())
	})

	It("kills a fork bomb while it grows", Label("forkbomb"), func() {
		rounds := 3
		if os.Getenv("BOOMBOX_LONG") != "" {
			rounds = 20
		}
		g := nobodysGroup()
		Expect(g.Guarantees()).To(Equal(contain.KillTree | contain.KillForkBomb | contain.KillOnOwnerDeath | contain.ResistSameUID))
		for range rounds {
			r := begin(g, "forkbomb")
			Eventually(func() (int, error) {
				members, err := r.Members()
				return len(members), err
			}).WithTimeout(longEnough).Should(BeNumerically(">", 20))
			Expect(len(there())).To(BeNumerically(">", 10), "the control: the witness sees them")
			Expect(r.Kill()).To(Succeed())
			Expect(r.find()).NotTo(HaveSurvivors())
			Expect(there()).To(BeEmpty())
			Expect(r.Close()).To(Succeed())
		}
	})

	It("kills whoever hops from fork to fork, and nobody else", func() {
		g := nobodysGroup()
		stranger := exec.Command("sleep", "60")
		stranger.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
		Expect(stranger.Start()).To(Succeed())
		defer func() { _, _ = stranger.Process.Kill(), stranger.Wait() }()
		outside := start(newGroup(contain.ProcessGroup), "sleep")
		beside := begin(g, "sleep")
		for _, child := range []string{"hopper", "daemonise", "escapees", "hydra"} {
			r := begin(g, child)
			Expect(r.Close()).To(Succeed(), child)
			Expect(r.find()).NotTo(HaveSurvivors(), child)
			Expect(there()).To(ConsistOf(beside.PID()), child)
		}
		for _, pid := range []int{stranger.Process.Pid, outside.PID(), beside.PID()} {
			Expect(pid).To(BeRunning())
		}
	})

	It("is out of reach of its own: a keeper is another's", func() {
		g := nobodysGroup()
		out := must(os.CreateTemp("", "boombox-spec-"))
		DeferCleanup(func() { _, _ = out.Close(), os.Remove(out.Name()) })
		nonce, find := suite.WithNonce()
		DeferCleanup(reap, find)
		c, err := g.Start(ctx, contain.Spec{
			Path: "/bin/sh", Argv: contain.Seal("sh", "-c", "kill -KILL $PPID; kill -STOP $PPID; setsid sleep 60 & echo done; sleep 60"),
			Env: contain.Seal(nonce, "PATH="+os.Getenv("PATH")), Stdout: out,
		})
		Expect(err).NotTo(HaveOccurred())
		keeper := parentOf(c.PID())
		Eventually(os.ReadFile).WithArguments(out.Name()).WithTimeout(longEnough).Should(ContainSubstring("done"))
		Expect(keeper).To(BeRunning())
		Expect(stopped(keeper)).To(BeFalse())
		Expect(there()).NotTo(BeEmpty(), "the control")
		Expect(g.Close()).To(Succeed())
		Expect(find()).NotTo(HaveSurvivors())
		Expect(there()).To(BeEmpty())
	})

	It("gains nothing by a set-user-ID program", func() {
		g := nobodysGroup()
		program := programFor()
		Expect(os.Chmod(program, 0o755|os.ModeSetuid)).To(Succeed())
		// becomes is whom a process is who executes it.
		becomes := func(start func(spec contain.Spec) int) string {
			GinkgoHelper()
			spec, stdout, find := specOf("sleep")
			DeferCleanup(reap, find)
			spec.Path = program
			pid := start(spec)
			Expect(spec.Stdout.Close()).To(Succeed())
			Expect(bufio.NewReader(stdout).ReadString('\n')).To(HavePrefix("ready"))
			return status(pid, "Uid")[1]
		}
		Expect(becomes(func(spec contain.Spec) int {
			c, err := g.Start(ctx, spec)
			Expect(err).NotTo(HaveOccurred())
			return c.PID()
		})).NotTo(Equal("0"))
		if without := becomes(func(spec contain.Spec) int {
			spec.Credential = &contain.Credential{UID: 12345, GID: 12345}
			c, err := newGroup(contain.ProcessGroup).Start(ctx, spec)
			Expect(err).NotTo(HaveOccurred())
			return c.PID()
		}); without != "0" {
			Skip("this file system has no set-user-ID programs: there is no control")
		}
	})

	It("loses nobody when its keeper is killed", func() {
		g := nobodysGroup()
		r := begin(g, "escapees")
		killAll([]int{parentOf(r.PID())})
		Expect(len(there())).To(BeNumerically(">", 3), "the control")
		Expect(g.Close()).To(Succeed(), "who they are is known")
		Expect(r.find()).NotTo(HaveSurvivors())
		Expect(there()).To(BeEmpty())
	})

	It("outlives no owner, whenever he is killed", Label("ownerdeath"), func() {
		nobodysGroup()
		rounds := 10
		if os.Getenv("BOOMBOX_LONG") != "" {
			rounds = 200
		}
		seed := uint64(GinkgoRandomSeed())
		rnd := rand.New(rand.NewPCG(seed, 12))
		for round := range rounds {
			nonce, find := suite.WithNonce()
			DeferCleanup(reap, find)
			h := startHelper("spendthrift", nil, nonce)
			Expect(h.line()).To(ContainSubstring("kill-on-owner-death"))
			timer := time.NewTimer(time.Duration(rnd.IntN(60)) * time.Millisecond) // the instant is what is tried out
			<-timer.C
			Expect(h.cmd.Process.Kill()).To(Succeed())
			_ = h.cmd.Wait()
			began := time.Now()
			about := fmt.Sprintf("seed %d, round %d", seed, round)
			Eventually(func() int { return len(there()) + len(find()) }).WithTimeout(2*time.Second).WithPolling(5*time.Millisecond).Should(BeZero(), about)
			AddReportEntry("gone after", time.Since(began), ReportEntryVisibilityFailureOrVerbose)
		}
	})

	It("is refused what does not go with it", func() {
		g := nobodysGroup()
		spec, _, find := specOf("sleep")
		spec.Credential = &contain.Credential{UID: 12345, GID: 12345}
		_, err := g.Start(ctx, spec)
		Expect(err).To(MatchError(contain.ErrUnsupported))
		Expect(err).To(MatchError(ContainSubstring("a user of its own")))
		Expect(find()).NotTo(HaveSurvivors())
		_, err = contain.New(contain.Options{Mechanism: contain.ThrowawayUser, Limits: contain.Limits{Processes: 10}})
		Expect(err).To(MatchError(contain.ErrUnsupported))
	})

	It("is for nobody who does not ask", func() {
		best, ok := contain.Host().Best()
		Expect(ok).To(BeTrue())
		Expect(best.OnRequest).To(BeFalse())
		_, err := contain.WithoutCgroups().New(contain.Options{Require: contain.KillForkBomb})
		Expect(err).To(MatchError(contain.ErrUnsupported))
		Expect(err).To(MatchError(ContainSubstring(string(contain.ThrowawayUser) + ": ")))
	})

	It("needs privileges", func() {
		requireRoot()
		h := startProgram(programFor(), "petitioner", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}})
		Expect(strings.Join(h.rest(), "\n")).To(And(HavePrefix("refused"), ContainSubstring("CAP_SETUID")))
	})

	DescribeTable("is found among the ids that are mapped", func(users, groups string, first, count int, ok bool) {
		f, c, is := contain.ParseUserRange(users, groups)
		Expect(is).To(Equal(ok))
		if ok {
			Expect([]int{int(f), int(c)}).To(Equal([]int{first, count}))
		}
	},
		Entry("all of them", "0 0 4294967295\n", "0 0 4294967295\n", 2_000_000_000, 1<<24, true),
		Entry("those of a container", "0 100000 65536\n", "0 100000 65536\n", 32768, 28672, true),
		Entry("in several pieces", "0 1000 1\n1 100000 65536\n", "0 1000 1\n1 100000 65536\n", 32769, 28672, true),
		Entry("one", "0 1000 1\n", "0 1000 1\n", 0, 0, false),
		Entry("users and no groups", "0 100000 65536\n", "0 1000 1\n", 0, 0, false),
		Entry("none", "", "", 0, 0, false),
		Entry("nonsense", "a b c\n", "1 2\n", 0, 0, false),
	)

	DescribeTable("is somebody by any of four names", func(status string, is bool) {
		Expect(contain.IsUser(status, 77)).To(Equal(is))
	},
		Entry("real", "Name:\tx\nState:\tS (sleeping)\nUid:\t77\t0\t0\t0\n", true),
		Entry("effective", "State:\tS (sleeping)\nUid:\t0\t77\t0\t0\n", true),
		Entry("saved", "State:\tR (running)\nUid:\t0\t0\t77\t0\n", true),
		Entry("for files", "State:\tR (running)\nUid:\t0\t0\t0\t77\n", true),
		Entry("another", "State:\tR (running)\nUid:\t0\t777\t7\t0\n", false),
		Entry("dead", "State:\tZ (zombie)\nUid:\t77\t77\t77\t77\nThreads:\t1\n", false),
		Entry("whose other threads live", "State:\tZ (zombie)\nUid:\t77\t77\t77\t77\nThreads:\t2\n", true),
		Entry("a group", "State:\tR (running)\nGid:\t77\t77\t77\t77\nUid:\t0\t0\t0\t0\n", false),
	)
})
