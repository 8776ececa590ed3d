package contain_test

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/suite"
)

var _ = Describe("a start that blocks", func() {
	var g *contain.Group
	var result chan error
	var find func() []int

	// A child that is cloned into a frozen cgroup stops between fork and exec, and the start with it, as it would on a
	// file system that does not answer.
	begin := func(ctx context.Context) {
		GinkgoHelper()
		suite.Require(contain.KillTree)
		// Go forks without letting go of its processor. A collection that wants to stop the world waits for the start, and
		// everybody else for the collection: then only somebody outside of this process could help.
		percent := debug.SetGCPercent(-1)
		DeferCleanup(func() { debug.SetGCPercent(percent) })
		g = newGroup(contain.Cgroup2)
		dirs, err := filepath.Glob(ownBases()[0] + "/group-*")
		Expect(err).NotTo(HaveOccurred())
		Expect(dirs).To(HaveLen(1))
		Expect(os.WriteFile(filepath.Join(dirs[0], "cgroup.freeze"), []byte("1"), 0)).To(Succeed())

		var spec contain.Spec
		spec, _, find = specOf("exit", "0")
		result = make(chan error, 1)
		go func() {
			_, err := g.Start(ctx, spec)
			result <- err
		}()
		Eventually(func() []string {
			leaves, err := filepath.Glob(dirs[0] + "/leaf-*/cgroup.events")
			Expect(err).NotTo(HaveOccurred())
			return leaves
		}).WithTimeout(bound).Should(ContainElement(WithTransform(os.ReadFile, ContainSubstring("populated 1"))))
		Consistently(result).WithTimeout(50 * time.Millisecond).ShouldNot(Receive())
	}

	It("comes back when its context ends", func() {
		ctx, cancel := context.WithCancel(context.Background())
		begin(ctx)
		cancel()
		Eventually(result).WithTimeout(bound).Should(Receive(MatchError(context.Canceled)))
		Expect(find()).To(BeEmpty())
		Expect(g.Members()).To(BeEmpty())
	})

	It("comes back when its group is closed, and holds up nobody else meanwhile", func() {
		begin(context.Background())
		other := newGroup(contain.ProcessGroup)
		spec, _, _ := specOf("exit", "6")
		c, err := other.Start(context.Background(), spec)
		Expect(err).NotTo(HaveOccurred())
		Eventually(c.Exited()).WithTimeout(bound).Should(BeClosed())
		Expect(g.Members()).To(BeEmpty())

		began := time.Now()
		Expect(g.Close()).To(Succeed())
		Expect(time.Since(began)).To(BeNumerically("<", bound))
		Eventually(result).WithTimeout(bound).Should(Receive(MatchError(contain.ErrClosed)))
		Expect(find()).To(BeEmpty())
	})
})

var _ = Describe("the first process", func() {
	// fork starts a fixture child behind the back of any group.
	fork := func(child string, args ...string) (pid int) {
		GinkgoHelper()
		spec, stdout, find := specOf(child, args...)
		DeferCleanup(reap, find)
		argv := spec.Argv.Reveal()
		pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
			Env: spec.Env.Reveal(), Files: []uintptr{0, spec.Stdout.Fd(), 2}, Sys: &syscall.SysProcAttr{Setpgid: true},
		})
		Expect(err).NotTo(HaveOccurred())
		readReady(bufio.NewReader(stdout))
		return pid
	}

	It("is watched without a pidfd too", func() {
		pid := fork("graceful", "9")
		l := contain.WatchByPID(pid)
		_, over := l.Poll()
		Expect(over).To(BeFalse())
		Expect(l.Signal(syscall.SIGTERM)).To(Succeed())
		Eventually(l.Ended()).WithTimeout(bound).Should(BeClosed())
		status, _ := l.Poll()
		Expect(status.Code).To(Equal(9))
		Expect(l.Signal(syscall.SIGTERM)).To(MatchError(os.ErrProcessDone))
		Expect(l.Reap(time.Now().Add(bound))).To(Succeed())
		Expect(syscall.Kill(pid, 0)).To(MatchError(syscall.ESRCH))
	})

	It("may be waited for by somebody else: then its status is lost, and its number signals nobody", func() {
		pid := fork("doublefork", "leave")
		Expect(syscall.Wait4(pid, nil, 0, nil)).To(Equal(pid))
		l := contain.WatchByPID(pid)
		Eventually(l.Ended()).WithTimeout(bound).Should(BeClosed())
		status, over := l.Poll()
		Expect(over).To(BeTrue())
		Expect(status).To(Equal(contain.ExitStatus{Lost: true}))
		Expect(status.Exited()).To(BeFalse())
		Expect(l.Signal(syscall.SIGKILL)).To(MatchError(os.ErrProcessDone))
		Expect(l.Reap(time.Now().Add(bound))).To(Succeed())
	})

	It("may be waited for by somebody else, and its cgroup is emptied all the same", func() {
		suite.Require(contain.KillTree)
		g := newGroup(contain.Cgroup2)
		r := start(g, "doublefork", "leave")
		Expect(syscall.Wait4(r.PID(), nil, 0, nil)).To(Equal(r.PID()))
		Expect(r.Close()).To(Succeed())
		Expect(r.find()).To(BeEmpty())
	})
})
