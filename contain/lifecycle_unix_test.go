//go:build unix

package contain_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/internal/suite"
	. "github.com/boombox-go/boombox/matchers"
)

var _ = Describe("a child", func() {
	onEvery("reports how it exited", func(m contain.Mechanism) {
		g := newGroup(m)
		spec, _, _ := specOf("exit", "7")
		c, err := g.Start(context.Background(), spec)
		Expect(err).NotTo(HaveOccurred())
		Eventually(c.Exited()).WithTimeout(longEnough).Should(BeClosed())
		status, over := c.Poll()
		Expect(over).To(BeTrue())
		Expect(status).To(And(
			HaveField("Code", 7), HaveField("Signal", syscall.Signal(0)), HaveField("Lost", false),
			HaveField("CPU", BeNumerically(">", 0)),
		))
		Expect(c.Close()).To(Succeed())
		Expect(statusOf(c)).To(Equal(status), "the status stays")
	})

	onEvery("reports the signal that ended it", func(m contain.Mechanism) {
		g := newGroup(m)
		r := start(g, "sleep")
		_, over := r.Poll()
		Expect(over).To(BeFalse())
		Expect(r.Signal(syscall.SIGTERM)).To(Succeed())
		Eventually(r.Exited()).WithTimeout(bound).Should(BeClosed())
		status, _ := r.Poll()
		Expect(status.Signal).To(Equal(syscall.SIGTERM))
		Expect(status.Exited()).To(BeFalse())
		Expect(r.Signal(syscall.SIGTERM)).To(MatchError(os.ErrProcessDone))
	})

	onEvery("keeps its id until it is closed", func(m contain.Mechanism) {
		g := newGroup(m)
		r := start(g, "daemonise")
		Eventually(r.Exited()).WithTimeout(bound).Should(BeClosed())
		Expect(syscall.Kill(r.PID(), 0)).To(Succeed(), "a zombie holds the id")
		Expect(r.Kill()).To(Succeed())
		Expect(syscall.Kill(r.PID(), 0)).To(Succeed())
		Expect(r.Close()).To(Succeed())
		Expect(syscall.Kill(r.PID(), 0)).To(MatchError(syscall.ESRCH))
		Expect(r.SignalTree(syscall.SIGTERM)).To(MatchError(os.ErrProcessDone))
	})

	onEvery("gets its streams, its files, its environment, its directory, and nothing else", func(m contain.Mechanism) {
		g := newGroup(m)
		// A descriptor of ours that is not close-on-exec would be somebody else's mistake; our own must all be.
		other := start(g, "sleep")
		Expect(other.PID()).To(BeNumerically(">", 1))

		run := func(spec contain.Spec, stdout *os.File) string {
			c, err := g.Start(context.Background(), spec)
			Expect(err).NotTo(HaveOccurred())
			Expect(spec.Stdout.Close()).To(Succeed())
			text, err := io.ReadAll(stdout)
			Expect(err).NotTo(HaveOccurred())
			Expect(c.Close()).To(Succeed())
			return string(text)
		}
		spec, stdout, _ := specOf("fds")
		Expect(run(spec, stdout)).To(Equal("0\n1\n2\n"))

		spec, stdout, _ = specOf("fds")
		spec.Files = []*os.File{spec.Stdout, spec.Stdout}
		Expect(run(spec, stdout)).To(Equal("0\n1\n2\n3\n4\n"))

		spec, stdout, _ = specOf("cwd")
		spec.Dir = GinkgoT().TempDir()
		Expect(run(spec, stdout)).To(ContainSubstring(filepath.Base(spec.Dir)))

		spec, stdout, _ = specOf("envnames")
		spec.Env = contain.Seal("ONE=1")
		Expect(strings.Fields(run(spec, stdout))).To(Equal([]string{"ONE"}))

		spec, stdout, _ = specOf("envnames")
		spec.Env = contain.Sealed{}
		Expect(run(spec, stdout)).To(BeEmpty())
	})

	onEvery("does not hit us when it signals its own group", func(m contain.Mechanism) {
		sh := "/bin/sh"
		if _, err := os.Stat(sh); err != nil {
			Skip("no " + sh)
		}
		g := newGroup(m)
		c, err := g.Start(context.Background(), contain.Spec{Path: sh, Argv: contain.Seal("sh", "-c", "kill -TERM 0")})
		Expect(err).NotTo(HaveOccurred())
		Eventually(c.Exited()).WithTimeout(longEnough).Should(BeClosed())
		status, _ := c.Poll()
		Expect(status.Signal).To(Equal(syscall.SIGTERM))
	})

	onEvery("can be killed and closed twice, and by many at once", func(m contain.Mechanism) {
		g := newGroup(m)
		r := start(g, "doublefork")
		var wg sync.WaitGroup
		errs := make(chan error, 40)
		for range 10 {
			wg.Go(func() { errs <- r.Kill() })
			wg.Go(func() { errs <- r.Close() })
			wg.Go(func() { errs <- g.Kill() })
			wg.Go(func() { _, err := r.Members(); errs <- err })
		}
		wg.Wait()
		close(errs)
		for err := range errs {
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(r.Close()).To(Succeed())
		Expect(r.find()).NotTo(HaveSurvivors())
		members, err := r.Members()
		Expect(err).NotTo(HaveOccurred())
		for _, member := range members {
			Expect(member.Alive()).To(BeFalse())
		}
	})
})

var _ = Describe("a start that fails", func() {
	onEvery("names the step and the system's reason, and nothing secret", func(m contain.Mechanism) {
		g := newGroup(m)
		dir := GinkgoT().TempDir()
		write := func(name, text string, mode os.FileMode) string {
			path := filepath.Join(dir, name)
			Expect(os.WriteFile(path, []byte(text), mode)).To(Succeed())
			return path
		}
		plain := write("plain-sesame", "no program", 0o644)
		program := write("program-sesame", "#!/bin/sh\n", 0o755)
		for _, c := range []struct {
			spec  contain.Spec
			step  contain.StartStep
			errno syscall.Errno
		}{
			{contain.Spec{Path: dir + "/none-sesame"}, contain.StepExec, syscall.ENOENT},
			{contain.Spec{Path: ""}, contain.StepExec, syscall.ENOENT},
			{contain.Spec{Path: plain}, contain.StepExec, syscall.EACCES},
			{contain.Spec{Path: dir}, contain.StepExec, syscall.EACCES},
			{contain.Spec{Path: plain + "/below"}, contain.StepExec, syscall.ENOTDIR},
			{contain.Spec{Path: write("empty-sesame", "\x01\x02", 0o755)}, contain.StepExec, syscall.ENOEXEC},
			{contain.Spec{Path: program, Dir: dir + "/none-sesame"}, contain.StepDir, syscall.ENOENT},
			{contain.Spec{Path: program, Dir: plain}, contain.StepDir, syscall.ENOTDIR},
			{contain.Spec{Path: program, Argv: contain.Seal("sesame", strings.Repeat("x", 4<<20))}, contain.StepExec, syscall.E2BIG},
			{contain.Spec{Path: program, Argv: contain.Seal("sesame\x00")}, contain.StepExec, syscall.EINVAL},
		} {
			if c.spec.Argv.Len() == 0 {
				c.spec.Argv = contain.Seal("sesame")
			}
			_, err := g.Start(context.Background(), c.spec)
			startErr, ok := errors.AsType[*contain.StartError](err)
			Expect(ok).To(BeTrue(), "%v", err)
			Expect(startErr.Step).To(Equal(c.step))
			Expect(err).To(MatchError(c.errno))
			Expect(err.Error()).NotTo(ContainSubstring("sesame"))
			Expect(g.Members()).To(BeEmpty())
		}
	})

	onEvery("does not take a closed file for none", func(m contain.Mechanism) {
		g := newGroup(m)
		spec, _, _ := specOf("exit", "0")
		Expect(spec.Stdout.Close()).To(Succeed())
		_, err := g.Start(context.Background(), spec)
		Expect(err).To(MatchError(syscall.EBADF))
	})

	onEvery("is refused when the context is over", func(m contain.Mechanism) {
		g := newGroup(m)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		spec, _, find := specOf("sleep")
		_, err := g.Start(ctx, spec)
		Expect(err).To(MatchError(context.Canceled))
		Expect(find()).NotTo(HaveSurvivors())
	})

	onEvery("outwaits a program file that is still open for writing", func(m contain.Mechanism) {
		g := newGroup(m)
		exe, err := os.Executable()
		Expect(err).NotTo(HaveOccurred())
		path := filepath.Join(GinkgoT().TempDir(), "fresh")
		copyFile(exe, path)
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		Expect(err).NotTo(HaveOccurred())

		argv := fixtures.Argv("exit", "0")
		spec := contain.Spec{Path: path, Argv: contain.Seal(argv...)}
		_, err = g.Start(context.Background(), spec)
		Expect(err).To(MatchError(syscall.ETXTBSY), "the control: it stays open")

		time.AfterFunc(50*time.Millisecond, func() { _ = f.Close() })
		c, err := g.Start(context.Background(), spec)
		Expect(err).NotTo(HaveOccurred())
		Eventually(c.Exited()).WithTimeout(longEnough).Should(BeClosed())
	})
})

var _ = Describe("a group", func() {
	onEvery("starts again after it was killed", func(m contain.Mechanism) {
		g := newGroup(m)
		for range 3 {
			r := start(g, "sleep")
			Expect(g.Kill()).To(Succeed())
			Expect(r.find()).NotTo(HaveSurvivors())
			status, over := r.Poll()
			Expect(over).To(BeTrue())
			Expect(status.Signal).To(Equal(syscall.SIGKILL))
		}
		spec, _, _ := specOf("exit", "3")
		c, err := g.Start(context.Background(), spec)
		Expect(err).NotTo(HaveOccurred())
		Eventually(c.Exited()).WithTimeout(longEnough).Should(BeClosed())
		Expect(statusOf(c)).To(HaveField("Code", 3))
	})

	onEvery("ends all of its trees, and can be closed twice", func(m contain.Mechanism) {
		g, err := contain.New(contain.Options{Mechanism: m})
		Expect(err).NotTo(HaveOccurred())
		var all []*running
		for range 8 {
			all = append(all, start(g, "doublefork"))
		}
		members, err := g.Members()
		Expect(err).NotTo(HaveOccurred())
		for _, r := range all {
			Expect(pidsOf(members)).To(ContainElements(append(r.left, r.PID())))
		}
		Expect(g.Close()).To(Succeed())
		Expect(g.Close()).To(Succeed())
		for _, r := range all {
			Expect(r.find()).NotTo(HaveSurvivors())
			Expect(r.Close()).To(Succeed())
		}
		_, err = g.Start(context.Background(), contain.Spec{Path: "/"})
		Expect(err).To(MatchError(contain.ErrClosed))
		Expect(g.Kill()).To(Succeed())
		Expect(g.Members()).To(BeEmpty())
	})

	onEvery("lets no start outlive its close", func(m contain.Mechanism) {
		for round := range 10 {
			g, err := contain.New(contain.Options{Mechanism: m})
			Expect(err).NotTo(HaveOccurred())
			var finds []func() []contain.Member
			var starts sync.WaitGroup
			errs := make(chan error, 8)
			under := make(chan struct{}, 8)
			for range cap(errs) {
				spec, _, find := specOf("sleep")
				finds = append(finds, find)
				starts.Go(func() {
					under <- struct{}{}
					_, err := g.Start(context.Background(), spec)
					errs <- err
				})
			}
			for range 1 + round%cap(errs) {
				<-under
			}
			Expect(g.Close()).To(Succeed())
			starts.Wait()
			close(errs)
			for err := range errs {
				Expect(err).To(Or(BeNil(), MatchError(contain.ErrClosed)))
			}
			for _, find := range finds {
				Expect(find()).NotTo(HaveSurvivors())
			}
		}
	})

	It("shows nothing secret when it is printed", func() {
		for _, m := range mechanisms() {
			g := newGroup(m)
			spec, _, _ := specOf("exit", "0", "sesame")
			spec.Env = contain.Seal("OPEN=sesame")
			c, err := g.Start(context.Background(), spec)
			Expect(err).NotTo(HaveOccurred())
			Eventually(c.Exited()).WithTimeout(longEnough).Should(BeClosed())
			Expect(fmt.Sprintf("%+v %#v", spec, spec)).NotTo(ContainSubstring("sesame"))
			members, err := c.Members()
			Expect(err).NotTo(HaveOccurred())
			Expect(fmt.Sprintf("%+v", members)).NotTo(ContainSubstring("sesame"))
		}
	})
})

var _ = Describe("Stop", func() {
	ctx := context.Background()

	onEvery("is heard by a child that ends when asked", func(m contain.Mechanism) {
		g := newGroup(m)
		r := start(g, "graceful", "4")
		report, err := r.Stop(ctx, bound)
		Expect(err).NotTo(HaveOccurred())
		Expect(report).To(And(
			HaveField("Signalled", syscall.SIGTERM), HaveField("SignalErr", BeNil()), HaveField("Before", 1), HaveField("After", 0),
			HaveField("Drained", true), HaveField("Escalated", false), HaveField("Elapsed", BeNumerically("<", bound)),
		))
		Expect(statusOf(r.Child)).To(HaveField("Code", 4))
	})

	onEvery("kills what does not hear it, when the grace is over", func(m contain.Mechanism) {
		const grace = 100 * time.Millisecond
		g := newGroup(m)
		r := start(g, "sigtermignorer")
		report, err := g.Stop(ctx, grace)
		Expect(err).NotTo(HaveOccurred())
		Expect(report).To(And(
			HaveField("Signalled", syscall.SIGTERM), HaveField("Before", 1), HaveField("After", 0),
			HaveField("Drained", true), HaveField("Escalated", true), HaveField("Elapsed", BeNumerically(">=", grace)),
		))
		Expect(statusOf(r.Child)).To(HaveField("Signal", syscall.SIGKILL))
		Expect(r.find()).NotTo(HaveSurvivors())
	})

	onEvery("kills at once when its context ends", func(m contain.Mechanism) {
		g := newGroup(m)
		r := start(g, "sigtermignorer")
		over, cancel := context.WithCancel(ctx)
		cancel()
		report, err := r.Stop(over, time.Hour)
		Expect(err).NotTo(HaveOccurred())
		Expect(report.Escalated).To(BeTrue())
		Expect(r.find()).NotTo(HaveSurvivors())
	})

	onEvery("drains what is born while it asks", func(m contain.Mechanism) {
		suite.Require(contain.KillTree)
		if m == contain.ProcessGroup {
			Skip("a process group loses what is born in another session")
		}
		g := newGroup(m)
		r := start(g, "hydra")
		report, err := r.Stop(ctx, 300*time.Millisecond)
		Expect(err).NotTo(HaveOccurred())
		Expect(report.Escalated).To(BeTrue())
		Expect(r.find()).NotTo(HaveSurvivors())
	})

	onEvery("does nothing to an empty group", func(m contain.Mechanism) {
		g := newGroup(m)
		report, err := g.Stop(ctx, time.Hour)
		Expect(err).NotTo(HaveOccurred())
		Expect(report).To(And(
			HaveField("Signalled", syscall.Signal(0)), HaveField("SignalErr", BeNil()), HaveField("Before", 0),
			HaveField("Drained", true), HaveField("Escalated", false),
		))
	})
})
