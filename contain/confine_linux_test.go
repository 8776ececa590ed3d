package contain_test

import (
	"bufio"
	"context"
	"runtime"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/suite"
)

var _ = Describe("a child that is confined", func() {
	var was unix.Rlimit

	BeforeEach(func() {
		Expect(unix.Getrlimit(unix.RLIMIT_CORE, &was)).To(Succeed())
		// With a soft limit to lose, as developers have.
		Expect(unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: was.Max, Max: was.Max})).To(Succeed())
		DeferCleanup(func() { Expect(unix.Setrlimit(unix.RLIMIT_CORE, &was)).To(Succeed()) })
	})

	confined := func(m contain.Mechanism, l contain.Limits, change func(*contain.Spec)) string {
		GinkgoHelper()
		g, err := contain.New(contain.Options{Mechanism: m, Limits: l})
		Expect(err).NotTo(HaveOccurred())
		defer func() { Expect(g.Close()).To(Succeed()) }()
		spec, stdout, _ := specOf("confined")
		change(&spec)
		_, err = g.Start(context.Background(), spec)
		Expect(err).NotTo(HaveOccurred())
		Expect(spec.Stdout.Close()).To(Succeed())
		line, err := bufio.NewReader(stdout).ReadString('\n')
		Expect(err).NotTo(HaveOccurred())
		return line
	}

	// Born with a soft limit of 0; where there is no stage, the hard one follows at once.
	const all = `^privileges=1 core=0/\d+ session=true\n$`

	everything := func(s *contain.Spec) { s.NewSession, s.NoNewPrivileges, s.NoCoreDumps = true, true, true }

	onEvery("has neither new privileges nor core dumps, and a session of its own", func(m contain.Mechanism) {
		Expect(confined(m, contain.Limits{}, everything)).To(MatchRegexp(all))
		Expect(confined(m, contain.Limits{}, func(*contain.Spec) {})).To(And(
			HavePrefix("privileges=0 "), Not(ContainSubstring("core=0/0")), HaveSuffix(" session=false\n"),
		), "the control: it has them if nothing is said, and this program is as it was")
	})

	It("is born among caps, too", func() {
		requireCgroups()
		suite.Require(contain.CapProcesses)
		Expect(confined(contain.Cgroup2, contain.Limits{Processes: 50}, everything)).To(MatchRegexp(all))
	})

	It("cannot raise the limit of core dumps", func() {
		g := newGroup(contain.ProcessGroup)
		spec, _, find := specOf("sleep")
		DeferCleanup(reap, find)
		everything(&spec)
		c, err := g.Start(context.Background(), spec)
		Expect(err).NotTo(HaveOccurred())
		limit := unix.Rlimit{Cur: 1}
		Expect(unix.Prlimit(c.PID(), unix.RLIMIT_CORE, nil, &limit)).To(Succeed())
		Expect(limit).To(Equal(unix.Rlimit{}))
	})

	It("leaves this program's threads and limits as they were", func() {
		before := runtime.NumGoroutine()
		for range 4 {
			confined(contain.ProcessGroup, contain.Limits{}, everything)
		}
		for _, task := range ownTasks() {
			text, err := readFile("/proc/self/task/" + task + "/status")
			if err == nil { // or the thread has ended, as it should
				Eventually(func() string {
					text, _ = readFile("/proc/self/task/" + task + "/status")
					return text
				}).Should(Or(BeEmpty(), ContainSubstring("NoNewPrivs:\t0\n")))
			}
		}
		var now unix.Rlimit
		Expect(unix.Getrlimit(unix.RLIMIT_CORE, &now)).To(Succeed())
		Expect(now).To(Equal(unix.Rlimit{Cur: was.Max, Max: was.Max}))
		Eventually(runtime.NumGoroutine).Should(BeNumerically("<=", before+1))
	})
})
