package contain_test

import (
	"bufio"
	"context"
	"errors"
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

// blockedStart begins a start in a group whose cgroup is frozen, and returns when it blocks. A child that is cloned into
// a frozen cgroup stops between fork and exec, and the start with it, as it would on a file system that does not answer.
func blockedStart(ctx context.Context) (g *contain.Group, result chan error, err error) {
	if g, err = contain.New(contain.Options{Mechanism: contain.Cgroup2}); err != nil {
		return nil, nil, err
	}
	dirs, _ := filepath.Glob(ownCgroup() + "/boombox-*-" + itoa(os.Getpid()) + "-*/group-*")
	if len(dirs) != 1 {
		return nil, nil, errors.New("not one group")
	}
	if err := os.WriteFile(filepath.Join(dirs[0], "cgroup.freeze"), []byte("1"), 0); err != nil {
		return nil, nil, err
	}
	argv := fixtures.Argv("exit", "0")
	result = make(chan error, 1)
	go func() {
		_, err := g.Start(ctx, contain.Spec{Path: argv[0], Argv: contain.Seal(argv...), Env: contain.Seal(os.Environ()...)})
		result <- err
	}()
	// Who is born into a frozen cgroup never runs: a leaf that is populated and frozen is a start that blocks.
	for end := time.Now().Add(bound); time.Now().Before(end); time.Sleep(time.Millisecond) {
		leaves, _ := filepath.Glob(dirs[0] + "/leaf-*")
		if len(leaves) != 1 {
			continue
		}
		text, _ := readFile(leaves[0] + "/cgroup.events")
		if strings.Contains(text, "populated 1") && strings.Contains(text, "frozen 1") {
			return g, result, nil
		}
	}
	return nil, nil, errors.New("nothing was started")
}

func init() {
	helpers["blocked"] = func() error {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		g, result, err := blockedStart(ctx)
		if err != nil {
			return err
		}
		cancel()
		say("cancelled:", <-result)
		members, err := g.Members()
		say("members:", len(members), err)
		say("closed:", g.Close())

		if g, result, err = blockedStart(context.Background()); err != nil {
			return err
		}
		other, err := contain.New(contain.Options{Mechanism: contain.ProcessGroup})
		if err != nil {
			return err
		}
		status, err := runExit(other)
		say("meanwhile:", status.Code, err, other.Close())
		say("closed:", g.Close())
		say("start:", <-result)
		return nil
	}
}

var _ = Describe("a start that blocks", func() {
	It("comes back when its context ends or its group is closed, and holds up no other", func() {
		requireCgroups()
		nonce, find := suite.WithNonce()
		DeferCleanup(reap, find)
		// Go forks without letting go of its processor: a garbage collection would wait for the start, and all others for
		// the collection.
		Expect(startHelper("blocked", nil, nonce, "GOGC=off").rest()).To(Equal([]string{
			"cancelled: context canceled", "members: 0 <nil>", "closed: <nil>",
			"meanwhile: 5 <nil> <nil>", "closed: <nil>", "start: contain: group is closed",
		}))
		Expect(find()).NotTo(HaveSurvivors())
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
		Eventually(l.Ended()).WithTimeout(longEnough).Should(BeClosed())
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
		Eventually(l.Ended()).WithTimeout(longEnough).Should(BeClosed())
		status, over := l.Poll()
		Expect(over).To(BeTrue())
		Expect(status).To(Equal(contain.ExitStatus{Lost: true}))
		Expect(status.Exited()).To(BeFalse())
		Expect(l.Signal(syscall.SIGKILL)).To(MatchError(os.ErrProcessDone))
		Expect(l.Reap(time.Now().Add(bound))).To(Succeed())
	})

	It("may be waited for by somebody else, and its cgroup is emptied all the same", func() {
		requireCgroups()
		g := newGroup(contain.Cgroup2)
		r := start(g, "doublefork", "leave")
		Expect(syscall.Wait4(r.PID(), nil, 0, nil)).To(Equal(r.PID()))
		Expect(r.Close()).To(Succeed())
		Expect(r.find()).NotTo(HaveSurvivors())
	})
})
