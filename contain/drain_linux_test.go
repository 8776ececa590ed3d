package contain_test

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	. "github.com/boombox-go/boombox/matchers"
)

// deepFreeze makes a process deaf to every signal, as one is that sleeps uninterruptibly, until it is thawed: the
// freezer of cgroup version 1 does not even let a killed process die.
func deepFreeze(pid int) (thaw func()) {
	GinkgoHelper()
	const freezer = "/sys/fs/cgroup/freezer"
	if _, err := os.Stat(filepath.Join(freezer, "cgroup.procs")); err != nil || os.Getuid() != 0 {
		Skip("no process can be made unkillable here: there is no version 1 freezer that we may use")
	}
	dir, err := os.MkdirTemp(freezer, "boombox-spec-"+itoa(os.Getpid())+"-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(removeAll, dir)
	set := func(file, value string) {
		GinkgoHelper()
		Expect(os.WriteFile(filepath.Join(dir, file), []byte(value), 0)).To(Succeed())
	}
	thaw = func() { set("freezer.state", "THAWED") }
	DeferCleanup(thaw)
	set("cgroup.procs", itoa(pid))
	set("freezer.state", "FROZEN")
	Eventually(os.ReadFile).WithArguments(filepath.Join(dir, "freezer.state")).WithTimeout(longEnough).Should(ContainSubstring("FROZEN"))
	return thaw
}

var _ = Describe("a member that cannot be killed", func() {
	const patience = time.Second // the others have to be gone by then, on a busy machine too

	onEvery("is named when the patience is over, and closing again later succeeds", func(m contain.Mechanism) {
		g := newGroup(m)
		r := start(g, "doublefork")
		easy := start(g, "doublefork")
		thaw := deepFreeze(r.left[0])

		began := time.Now()
		err := contain.CloseWithin(g, patience)
		Expect(time.Since(began)).To(And(BeNumerically(">=", patience), BeNumerically("<", bound)))
		Expect(err).To(MatchError(contain.ErrDrain))
		drain, ok := errors.AsType[*contain.DrainError](err)
		Expect(ok).To(BeTrue())
		Expect(pidsOf(drain.Survivors)).To(ConsistOf(r.left))
		Expect(drain.Survivors[0].Alive()).To(BeTrue())
		Expect(drain.Survivors[0].State).To(Equal(byte('D')))
		wait := must(readFile("/proc/" + itoa(r.left[0]) + "/wchan"))
		if wait == "0" {
			wait = "" // this kernel does not tell
		}
		Expect(drain.Survivors[0].WaitChannel).To(Equal(wait))
		Expect(err.Error()).To(ContainSubstring(" (D"))
		Expect(err.Error()).To(ContainSubstring(wait))
		Expect(easy.find()).NotTo(HaveSurvivors(), "the others are not spared for it")
		Expect(r.PID()).NotTo(BeRunning())

		thaw()
		Expect(g.Close()).To(Succeed())
		Expect(r.find()).NotTo(HaveSurvivors())
	})

	onEvery("may be the first process itself", func(m contain.Mechanism) {
		g := newGroup(m)
		r := start(g, "sleep")
		thaw := deepFreeze(r.PID())
		err := contain.CloseWithin(g, patience)
		drain, ok := errors.AsType[*contain.DrainError](err)
		Expect(ok).To(BeTrue())
		Expect(pidsOf(drain.Survivors)).To(ConsistOf(r.PID()))
		thaw()
		Expect(g.Close()).To(Succeed())
		Expect(statusOf(r.Child).Signal).NotTo(BeZero())
	})
})
