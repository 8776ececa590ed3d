package contain_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/internal/suite"
	. "github.com/boombox-go/boombox/matchers"
)

// cappedGroup makes a group with caps that is closed with the spec.
func cappedGroup(l contain.Limits) *contain.Group {
	GinkgoHelper()
	g, err := contain.New(contain.Options{Limits: l})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(g.Close()).To(Succeed()) })
	for _, l := range g.Evidence().Limits {
		if l.Tripped == contain.TripUnknown {
			Skip("this host's caps on " + string(l.Kind) + " hold, and nobody counts what they refuse")
		}
	}
	return g
}

// capOf is what the group's evidence says of one cap.
func capOf(g *contain.Group, kind contain.LimitKind) contain.LimitEvidence {
	GinkgoHelper()
	l, ok := g.Evidence().Of(kind)
	Expect(ok).To(BeTrue())
	return l
}

// startSmall starts a program of one task that waits for its life to be over, or for its end.
func startSmall(g *contain.Group) (*contain.Child, error) {
	nonce, find := suite.WithNonce()
	DeferCleanup(reap, find)
	return g.Start(context.Background(), contain.Spec{Path: "/bin/sleep", Argv: contain.Seal("sleep", "20"), Env: contain.Seal(nonce)})
}

// v1Dirs lists this process's directories in cgroup v1 hierarchies, looked for without the code under test.
func v1Dirs() []string {
	GinkgoHelper()
	var found []string
	for _, controller := range []string{"memory", "pids", "cpu"} {
		root := filepath.Join("/sys/fs/cgroup", controller)
		_ = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), "boombox-") && strings.Contains(d.Name(), "-"+itoa(os.Getpid())+"-") {
				found = append(found, path)
			}
			return nil
		})
	}
	return found
}

var _ = Describe("a cap on processes", Label("limits"), func() {
	BeforeEach(func() { suite.Require(contain.CapProcesses) })

	const most = 20

	It("holds a fork bomb, counted from outside, and says so", func() {
		g := cappedGroup(contain.Limits{Processes: most})
		Expect(g.Guarantees().Has(contain.CapProcesses)).To(BeTrue())
		r := start(g, "taskbomb", "60")
		line, err := r.output.ReadString('\n')
		Expect(err).NotTo(HaveOccurred())
		Expect(line).To(Equal("refused\n"))
		for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
			Expect(tasks(r.find())).To(BeNumerically("<=", most))
		}
		Expect(len(r.find())).To(BeNumerically(">", 3), "it is not the bomb that was slow")
		Expect(capOf(g, contain.LimitProcesses)).To(And(
			HaveField("Tripped", contain.HasTripped), HaveField("Max", float64(most)), HaveField("Effective", float64(most)),
			HaveField("Events", HaveValue(BeNumerically(">", 0))),
		))
		began := time.Now()
		Expect(g.Close()).To(Succeed())
		Expect(time.Since(began)).To(BeNumerically("<", 2*time.Second))
		Expect(r.find()).NotTo(HaveSurvivors())
		Expect(g).To(HaveHitLimit(contain.LimitProcesses), "it is known after the group is gone")
	})

	It("is what holds it: without one the bomb passes it", func() {
		g := cappedGroup(contain.Limits{})
		r := start(g, "taskbomb", "60")
		Eventually(r.find).WithTimeout(longEnough).Should(HaveMembers(61))
		Expect(g.Close()).To(Succeed())
		Expect(r.find()).NotTo(HaveSurvivors())
		Expect(g.Evidence().Limits).To(BeEmpty())
	})

	It("holds twenty bombs in a row, refuses every start beside them, and leaves nothing of them after 2 s", func() {
		var peak, refusals int
		var events int64
		var slowest time.Duration
		for round := range 20 {
			g := cappedGroup(contain.Limits{Processes: most})
			r := start(g, "taskbomb", "60")
			line, err := r.output.ReadString('\n')
			Expect(err).NotTo(HaveOccurred())
			Expect(line).To(Equal("refused\n"))
			for range 3 {
				peak = max(peak, tasks(r.find()))
				Expect(peak).To(BeNumerically("<=", most), "round %d", round)
				_, err := startSmall(g)
				Expect(err).To(And(MatchError(contain.ErrLimit), MatchError(syscall.EAGAIN)), "round %d", round)
				refusals++
			}
			Expect(g).To(HaveHitLimit(contain.LimitProcesses))
			events += *capOf(g, contain.LimitProcesses).Events
			began := time.Now()
			Expect(g.Close()).To(Succeed())
			took := time.Since(began)
			Expect(took).To(BeNumerically("<", 2*time.Second), "round %d", round)
			Expect(r.find()).NotTo(HaveSurvivors(), "round %d", round)
			slowest = max(slowest, took)
		}
		AddReportEntry("twenty bombs", fmt.Sprintf("at most %d tasks of %d, %d starts refused, %d refusals counted by the kernel, gone after at most %v",
			peak, most, refusals, events, slowest), ReportEntryVisibilityAlways)
	})

	It("refuses the start beyond it, typed, and takes one again when there is room", func() {
		g := cappedGroup(contain.Limits{Processes: most})
		var first *contain.Child
		for i := range most {
			c, err := startSmall(g)
			Expect(err).NotTo(HaveOccurred(), "start %d", i+1)
			if first == nil {
				first = c
			}
		}
		Expect(capOf(g, contain.LimitProcesses)).To(And(
			HaveField("Tripped", contain.NotTripped), HaveField("Events", HaveValue(BeZero())),
		))
		for range 3 {
			_, err := startSmall(g)
			Expect(err).To(And(MatchError(contain.ErrLimit), MatchError(syscall.EAGAIN)))
			var step *contain.StartError
			Expect(err).To(BeAssignableToTypeOf(step))
			Expect(err).To(MatchError("contain: cannot make the tree: the group has reached its limit of 20 processes: resource temporarily unavailable"))
		}
		Expect(g).To(HaveHitLimit(contain.LimitProcesses))
		Expect(first.Close()).To(Succeed())
		_, err := startSmall(g)
		Expect(err).NotTo(HaveOccurred())
	})

	It("is exact when starts race for the last places", func() {
		g := cappedGroup(contain.Limits{Processes: 8})
		outcome := make(chan error, 32)
		for range cap(outcome) {
			go func() {
				defer GinkgoRecover()
				_, err := startSmall(g)
				outcome <- err
			}()
		}
		started := 0
		for range cap(outcome) {
			if err := <-outcome; err == nil {
				started++
			} else {
				Expect(err).To(MatchError(syscall.EAGAIN))
			}
		}
		Expect(started).To(Equal(8))
	})

	It("leaves this program where it was, and no directory", func() {
		before, err := os.ReadFile("/proc/self/cgroup")
		Expect(err).NotTo(HaveOccurred())
		suite.Require(contain.CapMemory | contain.CapProcesses | contain.CapCPU)
		g := cappedGroup(contain.Limits{Processes: most, Memory: 64 << 20, CPU: 1})
		for range 5 {
			_, err := startSmall(g)
			Expect(err).NotTo(HaveOccurred())
		}
		for _, task := range ownTasks() {
			now, err := os.ReadFile("/proc/self/task/" + task + "/cgroup")
			if err == nil { // or it ended
				Expect(string(now)).To(Equal(string(before)))
			}
		}
		Expect(g.Close()).To(Succeed())
		Expect(v1Dirs()).To(BeEmpty())
		Expect(ownBases()).To(BeEmpty())
	})
})

func ownTasks() (names []string) {
	GinkgoHelper()
	entries, err := os.ReadDir("/proc/self/task")
	Expect(err).NotTo(HaveOccurred())
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// tasks counts the tasks of processes.
func tasks(members []contain.Member) (n int) {
	for _, m := range members {
		entries, err := os.ReadDir("/proc/" + itoa(m.PID) + "/task")
		if err == nil {
			n += len(entries)
		}
	}
	return n
}

var _ = Describe("a cap on memory", Label("limits"), func() {
	BeforeEach(func() { suite.Require(contain.CapMemory) })

	It("ends who takes more, says so, and leaves the group beside it alone", func() {
		sibling := cappedGroup(contain.Limits{Memory: 64 << 20})
		calm := start(sibling, "sleep")
		g := cappedGroup(contain.Limits{Memory: 16 << 20})
		// It may not come to say that it is ready: with the race detector in it, it is as big as that.
		spec, _, find := specOf("hog", "32")
		DeferCleanup(reap, find)
		c, err := g.Start(context.Background(), spec)
		Expect(err).NotTo(HaveOccurred())
		Eventually(c.Exited()).WithTimeout(longEnough).Should(BeClosed())
		Expect(statusOf(c).Signal).To(Equal(syscall.SIGKILL))
		Expect(capOf(g, contain.LimitMemory)).To(And(
			HaveField("Tripped", contain.HasTripped), HaveField("Max", float64(16<<20)), HaveField("Effective", float64(16<<20)),
			HaveField("Events", HaveValue(BeNumerically(">", 0))),
		))
		Expect(g.Evidence().OutsideKills).To(HaveValue(BeZero()))
		Expect(g.Stats().PeakMemory).To(HaveValue(And(BeNumerically(">", 12<<20), BeNumerically("<=", 17<<20))))
		Expect(calm.PID()).To(BeRunning())
		Expect(sibling).NotTo(HaveHitLimit(contain.LimitMemory))
		Expect(g.Close()).To(Succeed())
		Expect(g).To(HaveHitLimit(contain.LimitMemory))
	})

	It("ends the whole group on cgroup v2, and one member after the other on v1", func() {
		// pair starts a hog and another process, and returns when the hog has ended, or holds all that it wants.
		pair := func(l contain.Limits) (g *contain.Group, left func() []contain.Member) {
			GinkgoHelper()
			g = cappedGroup(l)
			spec, stdout, find := specOf("hog", "64", "pair")
			DeferCleanup(reap, find)
			_, err := g.Start(context.Background(), spec)
			Expect(err).NotTo(HaveOccurred())
			Expect(spec.Stdout.Close()).To(Succeed())
			for lines := bufio.NewScanner(stdout); lines.Scan() && lines.Text() != "held"; {
			}
			return g, find
		}
		_, left := pair(contain.Limits{Memory: 256 << 20})
		Expect(left()).To(HaveMembers(2), "the control")
		g, left := pair(contain.Limits{Memory: 32 << 20})
		Eventually(g).WithTimeout(longEnough).Should(HaveHitLimit(contain.LimitMemory))
		if len(v1Dirs()) > 0 {
			Expect(len(left())).To(BeNumerically("<", 2))
			return
		}
		Eventually(left).WithTimeout(bound).ShouldNot(HaveSurvivors())
		Expect(capOf(g, contain.LimitMemory).Events).To(HaveValue(BeNumerically(">", 1)))
	})

	It("lets who takes less be", func() {
		g := cappedGroup(contain.Limits{Memory: 128 << 20})
		r := start(g, "hog", "32")
		line, err := r.output.ReadString('\n')
		Expect(err).NotTo(HaveOccurred())
		Expect(line).To(Equal("held\n"))
		Expect(g).NotTo(HaveHitLimit(contain.LimitMemory))
		Expect(g.Stats().PeakMemory).To(HaveValue(BeNumerically(">", 32<<20)))
	})

	It("is never blamed for a SIGKILL", func() {
		g := cappedGroup(contain.Limits{Memory: 128 << 20})
		r := start(g, "sleep")
		Expect(r.Signal(syscall.SIGKILL)).To(Succeed())
		Eventually(r.Exited()).WithTimeout(longEnough).Should(BeClosed())
		Expect(g).NotTo(HaveHitLimit(contain.LimitMemory))
		Expect(g.Close()).To(Succeed())
		Expect(g).NotTo(HaveHitLimit(contain.LimitMemory))
	})
})

var _ = Describe("a cap on processors", Label("limits"), func() {
	BeforeEach(func() { suite.Require(contain.CapCPU) })

	// burn is how many cores the spinner uses over a while.
	burn := func(g *contain.Group, while time.Duration) float64 {
		GinkgoHelper()
		start(g, "spinner")
		before, began := *g.Stats().CPU, time.Now()
		timer := time.NewTimer(while) // the time is what is measured
		<-timer.C
		return (*g.Stats().CPU - before).Seconds() / time.Since(began).Seconds()
	}

	It("holds who burns more to it, says so, and counts what it used", Serial, func() {
		free := cappedGroup(contain.Limits{})
		there := burn(free, time.Second)
		Expect(free.Close()).To(Succeed())
		most := 0.5
		if there < 0.8 {
			most = math.Max(0.02, math.Round(there*40)/100) // others use this machine too, and leave less to be used up
		}
		Expect(there).To(BeNumerically(">", 1.5*most), "the control: without the cap it burns more")
		var g *contain.Group
		used := 0.0
		for range 3 { // others may come meanwhile, who keep it from its share
			g = cappedGroup(contain.Limits{CPU: most})
			used = burn(g, 3*time.Second)
			AddReportEntry("cores", fmt.Sprintf("without a cap %.2f, capped at %.2f: %.3f", there, most, used), ReportEntryVisibilityAlways)
			Expect(used).To(BeNumerically("<=", 1.2*most+0.01))
			if there < 0.8 || used >= most-0.1 {
				break
			}
			Expect(g.Close()).To(Succeed())
		}
		if there >= 0.8 {
			Expect(used).To(BeNumerically("~", most, 0.1))
		}
		Expect(capOf(g, contain.LimitCPU)).To(And(
			HaveField("Tripped", contain.HasTripped), HaveField("Max", most), HaveField("Effective", most),
			HaveField("Events", HaveValue(BeNumerically(">", 0))),
		))
		Expect(g.Close()).To(Succeed())
		Expect(g.Stats().CPU.Seconds()).To(BeNumerically(">=", 2*used), "the dead are counted")
	})

	It("that is not reached is not blamed", func() {
		g := cappedGroup(contain.Limits{CPU: 64})
		start(g, "sleep")
		Expect(capOf(g, contain.LimitCPU)).To(And(
			HaveField("Tripped", contain.NotTripped), HaveField("Events", HaveValue(BeZero()))))
	})
})

var _ = Describe("caps whose controllers sit on cgroup v1", Label("limits"), func() {
	It("are not had of a keeper, which says why and what would help", func() {
		requireCgroups()
		// This host, and beside it a hierarchy of v1 that has the controllers.
		with := func(file, more string) string {
			text, err := readFile("/proc/self/" + file)
			Expect(err).NotTo(HaveOccurred())
			path := filepath.Join(GinkgoT().TempDir(), file)
			Expect(os.WriteFile(path, []byte(text+"\n"+more+"\n"), 0o600)).To(Succeed())
			return path
		}
		host := contain.WholeLadderAt(
			with("mountinfo", "99 1 0:99 / /nowhere rw,relatime - cgroup cgroup rw,memory,pids,cpu"), with("cgroup", "99:memory,pids,cpu:/"))
		rung := host.Host().Rungs[1]
		Expect(rung.Mechanism).To(Equal(contain.Cgroup2PIDNamespace))
		if !rung.Available {
			Skip("this host has no namespaces: " + rung.Reason)
		}
		for _, l := range []contain.Limits{{Memory: 64 << 20}, {Processes: 20}, {CPU: 1}} {
			// By this mechanism: a user has processes counted by a namespace, too.
			_, err := host.New(contain.Options{Require: contain.ResistSameUID, Limits: l, Mechanism: contain.Cgroup2PIDNamespace})
			refused, ok := errors.AsType[*contain.LimitError](err)
			Expect(ok).To(BeTrue(), "%v", err)
			Expect(refused.Reason).To(Equal(contain.LimitUnenforceable))
			Expect(refused.Detail).To(ContainSubstring("sits on cgroup v1"))
			Expect(refused.Hint).To(HavePrefix("do without resist-same-uid, or "))
			Expect(l.Of(refused.Kind)).NotTo(BeZero())
			Expect(rung.Guarantees).NotTo(Satisfy(func(g contain.Guarantee) bool { return g&(contain.CapMemory|contain.CapProcesses|contain.CapCPU) != 0 }))
		}
		g, err := host.New(contain.Options{Require: contain.ResistSameUID})
		Expect(err).NotTo(HaveOccurred(), "the control: without a cap it holds")
		Expect(g).To(BeContainedBy(contain.Cgroup2PIDNamespace))
		Expect(g.Close()).To(Succeed())
	})
})

var _ = Describe("what a tree has used", Label("limits"), func() {
	It("is counted with those that left it, where cgroups count", func() {
		requireCgroups()
		g := newGroup(contain.Cgroup2)
		argv := fixtures.Argv("exit", "0")
		c, err := g.Start(context.Background(), contain.Spec{Path: argv[0], Argv: contain.Seal(argv...)})
		Expect(err).NotTo(HaveOccurred())
		Eventually(c.Exited()).WithTimeout(longEnough).Should(BeClosed())
		Expect(c.Close()).To(Succeed())
		Expect(c.Stats().CPU).To(HaveValue(BeNumerically(">", 0)))
		Expect(*g.Stats().CPU).To(BeNumerically(">=", *c.Stats().CPU))
		Expect(c.Stats()).To(And(HaveField("PeakMemory", BeNil()), HaveField("PeakProcesses", BeNil())), "not measured is not 0")
	})

	It("is not known of a process group", func() {
		g := newGroup(contain.ProcessGroup)
		Expect(start(g, "sleep").Stats()).To(Equal(contain.Stats{}))
		Expect(g.Stats()).To(Equal(contain.Stats{}))
	})
})
