package contain_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	. "github.com/boombox-go/boombox/matchers"
)

// escapes are the fixture children that leave processes behind, and which of them a process group loses.
var escapes = []struct {
	child  string
	args   []string
	exits  bool // the first process exits 0 at once
	leaves bool // what it leaves is out of the process group
	looks  bool // it looks itself up in /proc, where a pid namespace of ours has no names
}{
	{child: "setsid", leaves: true},
	{child: "setpgid", leaves: true},
	{child: "doublefork"},
	{child: "doublefork", args: []string{"leave"}, exits: true},
	{child: "daemonise", exits: true, leaves: true},
	{child: "escapees", leaves: true},
	{child: "pipeholder", exits: true},
	{child: "sigtermignorer"},
	{child: "stopper", looks: true},
}

var _ = Describe("a tree", Label("escape"), func() {
	for _, e := range escapes {
		name := e.child
		if len(e.args) > 0 {
			name += " " + e.args[0]
		}
		Context("of "+name, func() {
			onEveryThat(contain.KillTree, "dies with its group", func(m contain.Mechanism) {
				if e.looks && (m == contain.PIDNamespace || m == contain.Cgroup2PIDNamespace) {
					Skip("the child looks itself up in /proc, and has another id there")
				}
				g := newGroup(m)
				r := start(g, e.child, e.args...)
				if e.exits {
					Eventually(r.Exited()).WithTimeout(longEnough).Should(BeClosed())
					status, over := r.Poll()
					Expect(over).To(BeTrue())
					Expect(status.Exited()).To(BeTrue())
					Expect(status.Code).To(Equal(0))
				}
				members, err := r.Members()
				Expect(err).NotTo(HaveOccurred())
				Expect(pidsOf(members)).To(ContainElements(r.left))
				Expect(pidsOf(members)).To(ContainElement(r.PID()))

				Expect(g.Close()).To(Succeed())
				Expect(r.find()).NotTo(HaveSurvivors())
				for _, pid := range r.left {
					Expect(pid).NotTo(BeRunning())
				}
				rest, err := io.ReadAll(r.output)
				Expect(err).NotTo(HaveOccurred(), "nobody holds the output any more")
				Expect(rest).To(BeEmpty())
			})

			if e.leaves {
				It("loses a process in a process group", func() {
					g := newGroup(contain.ProcessGroup)
					r := start(g, e.child, e.args...)
					Expect(g.Close()).To(Succeed())
					Expect(r.PID()).NotTo(BeRunning())
					Expect(pidsOf(r.find())).To(ContainElements(r.left), "the control must escape")
				})
			} else {
				It("dies with its group in a process group", func() {
					g := newGroup(contain.ProcessGroup)
					r := start(g, e.child, e.args...)
					Expect(g.Close()).To(Succeed())
					Expect(r.find()).NotTo(HaveSurvivors())
				})
			}

			It("lives on when nothing holds it", func() {
				spec, stdout, find := specOf(e.child, e.args...)
				DeferCleanup(reap, find)
				argv := spec.Argv.Reveal()
				cmd := exec.Command(argv[0], argv[1:]...)
				cmd.Env, cmd.Stdout = spec.Env.Reveal(), spec.Stdout
				Expect(cmd.Start()).To(Succeed())
				Expect(spec.Stdout.Close()).To(Succeed())
				left := readReady(bufio.NewReader(stdout))
				if len(left) == 0 {
					// It leaves nobody, and ignores what it is asked.
					Expect(cmd.Process.Signal(syscall.SIGTERM)).To(Succeed())
					Expect(pidsOf(find())).To(ConsistOf(cmd.Process.Pid))
					left = nil
				}
				if !e.exits {
					Expect(cmd.Process.Kill()).To(Succeed())
				}
				_ = cmd.Wait()
				Expect(pidsOf(find())).To(ConsistOf(left), "the control must outlive its parent")
			})
		})
	}

	It("may have climbed into the group's own cgroup, and dies with the group", func() {
		requireCgroups()
		g := newGroup(contain.Cgroup2)
		r := start(g, "climber", "1")
		Expect(r.Close()).To(Succeed())
		Expect(pidsOf(r.find())).To(ConsistOf(r.left), "the control must have left its tree")
		Expect(g.Close()).To(Succeed())
		Expect(r.find()).NotTo(HaveSurvivors())
	})

	It("may have cgroups of its members' making, frozen ones too", func() {
		requireCgroups()
		for _, args := range [][]string{nil, {"freeze"}} {
			g := newGroup(contain.Cgroup2)
			r := start(g, "subcgroup", args...)
			members, err := r.Members()
			Expect(err).NotTo(HaveOccurred())
			Expect(pidsOf(members)).To(ConsistOf(append(r.left, r.PID())), "members are listed below the leaf too")
			Expect(g.Close()).To(Succeed())
			Expect(r.find()).NotTo(HaveSurvivors())
			Expect(ownBases()).To(BeEmpty(), "the member's cgroup is removed with the group")
		}
	})

	It("keeps a member's own cgroup in a process group, where nobody removes it", func() {
		requireCgroups()
		g := newGroup(contain.ProcessGroup)
		r := start(g, "subcgroup")
		Expect(g.Close()).To(Succeed())
		dir := ownCgroup() + "/boombox-fixture-" + itoa(r.PID())
		Expect(dir).To(BeADirectory(), "the control must leave its cgroup behind")
		Eventually(os.Remove).WithArguments(dir).WithTimeout(bound).Should(Succeed())
	})
})

var _ = Describe("a fork bomb", Label("forkbomb"), func() {
	onEveryThat(contain.KillForkBomb, "is killed while it grows", func(m contain.Mechanism) {
		rounds := 3
		if os.Getenv("BOOMBOX_LONG") != "" {
			rounds = 20
		}
		g := newGroup(m)
		for range rounds {
			r := start(g, "forkbomb")
			Eventually(func() (int, error) {
				members, err := r.Members()
				return len(members), err
			}).WithTimeout(longEnough).Should(BeNumerically(">", 20))
			Expect(r.Kill()).To(Succeed())
			Expect(r.find()).NotTo(HaveSurvivors())
			Expect(r.Close()).To(Succeed())
		}
	})

	It("outlives its process group", func() {
		g := newGroup(contain.ProcessGroup)
		r := start(g, "forkbomb", "20")
		line, err := bufio.NewReader(r.output).ReadString('\n')
		Expect(err).NotTo(HaveOccurred())
		Expect(line).To(Equal("spent\n"))
		Expect(g.Close()).To(Succeed())
		Expect(len(r.find())).To(BeNumerically(">", 10), "the control must outlive its group")
	})
})
