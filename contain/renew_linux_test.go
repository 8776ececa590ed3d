package contain_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
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

func init() {
	// intruder starts a program in the pid namespace of another process.
	helpers["intruder"] = func() error {
		runtime.LockOSThread()
		fd, err := unix.Open(os.Getenv("BOOMBOX_SPEC_FILE"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		if err := unix.Setns(fd, unix.CLONE_NEWPID); err != nil {
			return err
		}
		cmd := exec.Command("sleep", "20")
		if err := cmd.Start(); err != nil {
			return err
		}
		say("in")
		return cmd.Wait()
	}
}

// A keeper says of the end of a first process whether anybody else was left. If nobody was, nobody will be, and the close of the tree asks
// nothing any more.
var _ = Describe("a tree of which nobody is left when its first process ends", func() {
	ctx := context.Background()
	// over starts a child that exits, and waits for that.
	over := func(g *contain.Group) (c *contain.Child, keeper int) {
		GinkgoHelper()
		spec, _, find := specOf("exit")
		DeferCleanup(reap, find)
		c, err := g.Start(ctx, spec)
		Expect(err).NotTo(HaveOccurred())
		Expect(spec.Stdout.Close()).To(Succeed())
		Eventually(c.Exited()).WithTimeout(longEnough).Should(BeClosed())
		return c, parentOf(c.PID())
	}

	onKeepers("is closed without a word of its keeper, which serves the next", func(m contain.Mechanism) {
		g := newGroup(m)
		c, keeper := over(g)
		Expect(c.Members()).To(HaveLen(1), "the zombie, which keeps its id")
		Expect(syscall.Kill(keeper, syscall.SIGSTOP)).To(Succeed())
		Eventually(stopped).WithArguments(keeper).WithTimeout(longEnough).Should(BeTrue())
		began := time.Now()
		Expect(c.Kill()).To(Succeed())
		Expect(c.Close()).To(Succeed())
		Expect(time.Since(began)).To(BeNumerically("<", time.Second), "a keeper that is asked is waited for for longer")
		Expect(syscall.Kill(keeper, syscall.SIGCONT)).To(Succeed())
		c, again := over(g)
		Expect(again).To(Equal(keeper))
		Expect(c.Close()).To(Succeed())
	})

	onKeepers("leaves a keeper that is not used again if it stays stopped", func(m contain.Mechanism) {
		g := newGroup(m)
		c, keeper := over(g)
		Expect(syscall.Kill(keeper, syscall.SIGSTOP)).To(Succeed())
		Eventually(stopped).WithArguments(keeper).WithTimeout(longEnough).Should(BeTrue())
		Expect(c.Close()).To(Succeed())
		spec, _, find := specOf("sleep")
		DeferCleanup(reap, find)
		_, err := g.Start(ctx, spec)
		Expect(err).To(MatchError(ContainSubstring("does not answer")))
		var failed *contain.StartError
		Expect(errors.As(err, &failed)).To(BeTrue())
		Expect(find()).NotTo(HaveSurvivors())
		Expect(keeper).NotTo(BeRunning())
		c, again := over(g)
		Expect(again).NotTo(Equal(keeper))
		Expect(c.Close()).To(Succeed())
	})

	onKeepers("leaves one that is dead before it is closed", func(m contain.Mechanism) {
		g := newGroup(m)
		c, keeper := over(g)
		killAll([]int{keeper})
		Eventually(func() int { return len(must(os.ReadDir("/proc/" + itoa(keeper) + "/task"))) }).WithTimeout(longEnough).Should(Equal(1))
		Eventually(keeper).WithTimeout(longEnough).ShouldNot(BeRunning(), "with all its threads")
		Expect(statusOf(c)).To(HaveField("Lost", false), "it was told before")
		Expect(c.Close()).To(Succeed(), "nobody was left")
		c, _ = over(g)
		Expect(c.Close()).To(Succeed())
	})

	onKeepers("ends whoever has come into its namespace from outside, whom nobody started", func(m contain.Mechanism) {
		if m == contain.Subreaper {
			Skip("it has no namespace")
		}
		requireRoot()
		g := newGroup(m)
		c, keeper := over(g)
		nonce, find := suite.WithNonce()
		DeferCleanup(reap, find)
		// The first process is a zombie, and shows no namespace any more.
		h := startHelper("intruder", nil, nonce, fmt.Sprintf("BOOMBOX_SPEC_FILE=/proc/%d/ns/pid", keeper))
		Expect(h.line()).To(Equal("in"))
		Expect(find()).To(HaveMembers(2), "the control: the intruder, here, and its program, there")
		Expect(c.Close()).To(Succeed())
		Expect(h.rest()).To(HaveLen(1), "its program was killed")
		Expect(find()).NotTo(HaveSurvivors())
		c, again := over(g)
		Expect(again).To(Equal(keeper))
		Expect(c.Close()).To(Succeed())
	})

	onKeepers("is the same whoever asks while it ends", func(m contain.Mechanism) {
		seed := uint64(GinkgoRandomSeed())
		rnd := rand.New(rand.NewPCG(seed, 11))
		g := newGroup(m)
		for round := range 150 {
			spec, _, find := specOf("exit", "3")
			c, err := g.Start(ctx, spec)
			Expect(err).NotTo(HaveOccurred())
			Expect(spec.Stdout.Close()).To(Succeed())
			killed := false
			var all sync.WaitGroup
			for range 1 + rnd.IntN(3) {
				what, delay := rnd.IntN(5), time.Duration(rnd.IntN(3000))*time.Microsecond
				killed = killed || what < 2
				all.Go(func() {
					timer := time.NewTimer(delay) // the instant is what is tried out
					<-timer.C
					switch what {
					case 0:
						_ = c.Kill()
					case 1:
						_ = c.Close()
					case 2:
						_, _ = c.Members()
					case 3:
						_, _ = c.Poll()
					case 4:
						_ = c.Signal(syscall.SIGCONT)
					}
				})
			}
			about := fmt.Sprintf("seed %d, round %d", seed, round)
			Eventually(c.Exited()).WithTimeout(longEnough).Should(BeClosed(), about)
			all.Wait()
			Expect(c.Close()).To(Succeed(), about)
			if status := statusOf(c); !killed {
				Expect(status).To(HaveField("Code", 3), about)
			}
			Expect(find()).NotTo(HaveSurvivors(), about)
		}
	})
})
