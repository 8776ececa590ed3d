package contain_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/internal/suite"
	. "github.com/boombox-go/boombox/matchers"
)

// holdings counts the descriptors, the helpers and the cgroups that this program has.
func holdings() (n int) {
	GinkgoHelper()
	entries, err := os.ReadDir("/proc/self/fd")
	Expect(err).NotTo(HaveOccurred())
	return len(entries) + len(helperProcesses(os.Getpid())) + len(ownBases())
}

var _ = Describe("a crowd", Label("crowd"), func() {
	onEvery("of two hundred groups at once comes and goes, and leaves nothing", func(m contain.Mechanism) {
		const many = 200
		Eventually(func() []int { return helperProcesses(os.Getpid()) }).WithTimeout(longEnough).Should(BeEmpty())
		before := holdings()
		var wg sync.WaitGroup
		errs := make(chan error, many)
		argv := fixtures.Argv("exit", "0")
		gate := make(chan struct{}, 32) // processes that are executed at once
		for range many {
			wg.Go(func() {
				g, err := contain.New(contain.Options{Mechanism: m})
				if err == nil {
					gate <- struct{}{}
					_, err = g.Start(context.Background(), contain.Spec{Path: argv[0], Argv: contain.Seal(argv...)})
					err = errors.Join(err, g.Close())
					<-gate
				}
				errs <- err
			})
		}
		wg.Wait()
		close(errs)
		for err := range errs {
			Expect(err).NotTo(HaveOccurred())
		}
		Eventually(holdings).WithTimeout(bound).Should(BeNumerically("<=", before))
	})

	onEveryThat(contain.KillTree, "of a thousand members, each in a session of its own, is listed, killed and gone", func(m contain.Mechanism) {
		const many = 1000
		Eventually(func() []int { return helperProcesses(os.Getpid()) }).WithTimeout(bound).Should(BeEmpty())
		before := holdings()
		g, err := contain.New(contain.Options{Mechanism: m})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(g.Close)
		spec, stdout, find := specOf("crowd", "life=120s", itoa(many))
		DeferCleanup(reap, find)
		c, err := g.Start(context.Background(), spec)
		Expect(err).NotTo(HaveOccurred())
		Expect(spec.Stdout.Close()).To(Succeed())
		ready := make([]byte, 16)
		n, err := stdout.Read(ready)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(ready[:n])).To(Equal("ready\n"))
		Expect(stdout.Close()).To(Succeed())

		Expect(c.Members()).To(HaveLen(many + 1))
		Expect(find()).To(HaveMembers(many+1), "the control: they are there")
		Expect(g.Signal(syscall.SIGCONT)).To(Succeed())
		Expect(g.Kill()).To(Succeed())
		Expect(find()).NotTo(HaveSurvivors())
		Expect(g.Close()).To(Succeed())
		Eventually(holdings).WithTimeout(bound).Should(BeNumerically("<=", before))
	})
})

var _ = Describe("an interrupt from the terminal", Label("ownerdeath"), func() {
	for _, m := range deathly() {
		It("ends the owner, which has not caught it, and with it the tree ("+string(m)+")", func() {
			nonce, find := suite.WithNonce()
			DeferCleanup(reap, find)
			// As the foreground process group of a terminal, which gets the signal as one.
			owner := startHelper("mortal", &syscall.SysProcAttr{Setpgid: true}, nonce, "BOOMBOX_SPEC_STAY=1", "BOOMBOX_SPEC_MECHANISM="+string(m))
			owner.line()
			owner.line()
			pid := owner.cmd.Process.Pid
			Expect(find()).To(HaveMembers(5), "the owner, the child and its three escapees")
			Expect(syscall.Kill(-pid, syscall.SIGINT)).To(Succeed())
			_ = owner.cmd.Wait()
			Expect(owner.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal()).To(Equal(syscall.SIGINT), "the control: it died of that")
			Eventually(find).WithTimeout(deathBound).ShouldNot(HaveSurvivors())
			Eventually(helperProcesses).WithArguments(pid).WithTimeout(deathBound).Should(BeEmpty())
		})
	}
})
