package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/suite"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// shell is a command for a POSIX shell, or skips.
func shell(script string) *runner.Cmd {
	GinkgoHelper()
	if _, err := exec.LookPath("sh"); err != nil {
		Skip("no POSIX shell here")
	}
	return runner.Command("sh", "-c", script)
}

// marked gives cmd an environment entry by which all its descendants can be found.
func marked(cmd *runner.Cmd) (find func() []contain.Member) {
	entry, find := suite.WithNonce()
	key, value, _ := strings.Cut(entry, "=")
	cmd.Env = cmd.Env.Set(key, value)
	return find
}

// floor is the real runner over a shared process group, out of which a child can escape.
func floor() runner.Contained {
	GinkgoHelper()
	g, err := contain.New(contain.Options{Mechanism: contain.ProcessGroup})
	if err != nil {
		Skip("no process groups here")
	}
	DeferCleanup(func() { Expect(g.Close()).To(Succeed()) })
	return runner.Contained{Group: g}
}

var _ = Describe("Contained", func() {
	Describe("a deadline", func() {
		const script = "setsid sleep 60 & sleep 60"

		It("ends the whole tree on time, whoever holds the pipes", func(ctx SpecContext) {
			suite.Require(contain.KillTree)
			cmd := shell(script)
			cmd.Timeout = 200 * time.Millisecond
			find := marked(cmd)
			began := time.Now()
			res, err := runner.Run(ctx, runner.Contained{}, cmd)
			took := time.Since(began)
			Expect(err).NotTo(HaveOccurred())
			Expect(find()).NotTo(HaveSurvivors())
			AddReportEntry("timeout of 200 ms over `"+script+"`", fmt.Sprintf(
				"returned after %s, %d left, held by %s", took.Round(time.Millisecond), len(find()), res.Teardown().Mechanism))
			Expect(took).To(BeNumerically("<", 1200*time.Millisecond))
			Expect(res).To(HaveTimedOut())
			Expect(res).To(HaveReapedTree())
		})

		It("negative control: os/exec returns late and leaves the escapee", func() {
			cmd := shell(script)
			find := marked(cmd)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			plain := exec.CommandContext(ctx, "sh", "-c", "setsid sleep 60 & echo ready; sleep 60")
			plain.Env = cmd.Env.Reveal()
			plain.WaitDelay = time.Second
			var ended time.Time
			plain.Stdout = teeFunc(func([]byte) { ended = time.Now(); cancel() })
			Expect(plain.Run()).NotTo(Succeed())
			Expect(time.Since(ended)).To(BeNumerically(">=", 900*time.Millisecond))
			Expect(find()).To(HaveSurvivors())
			suite.EndAll(find)
		})

		It("ends a tree that is stopped", func(ctx SpecContext) {
			suite.Require(contain.KillTree)
			cmd := fixture("stopper")
			cmd.Timeout = 500 * time.Millisecond
			cmd.Grace = 100 * time.Millisecond
			find := marked(cmd)
			res, err := runner.Run(ctx, runner.Contained{}, cmd)
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveTimedOut())
			Expect(find()).NotTo(HaveSurvivors())
		})

		It("with a grace lets the tree end by itself, and is a timeout still", func(ctx SpecContext) {
			cmd := fixture("graceful", "0")
			cmd.Timeout, cmd.Grace = time.Second, 10*time.Second
			res, err := runner.Run(ctx, runner.Contained{}, cmd)
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveTimedOut())
			status, known := res.Status()
			Expect(known).To(BeTrue())
			Expect(status.Exited()).To(BeTrue())
			Expect(res).To(HaveStdout(HaveSuffix("bye\n")))
			Expect(res.SettledAfter()).To(BeNumerically("<", 5*time.Second))
		})

		It("with a grace kills who ignores the request", func(ctx SpecContext) {
			cmd := fixture("sigtermignorer")
			// Long enough for the child to ignore the signal before it comes.
			cmd.Timeout, cmd.Grace = 2*time.Second, 300*time.Millisecond
			res, err := runner.Run(ctx, runner.Contained{}, cmd)
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveTimedOut())
			status, _ := res.Status()
			Expect(status.Signal).To(Equal(syscall.SIGKILL))
			Expect(res.SettledAfter()).To(BeNumerically(">=", cmd.Timeout+cmd.Grace))
			Expect(res.SettledAfter()).To(BeNumerically("<", cmd.Timeout+cmd.Grace+time.Second))
		})

		It("survives any duration", func(ctx SpecContext) {
			cmd := fixture("exit")
			cmd.Timeout, cmd.IdleTimeout, cmd.Grace = 1<<63-1, 1<<63-1, 1<<63-1
			res, err := runner.Run(ctx, runner.Contained{}, cmd)
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveSucceeded())
			cmd = fixture("sleep")
			cmd.Timeout = time.Nanosecond
			res, err = runner.Run(ctx, runner.Contained{}, cmd)
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveTimedOut())
		})
	})

	Describe("a child that is over while somebody holds its pipes", func() {
		It("is over at once, as it ended", func(ctx SpecContext) {
			suite.Require(contain.KillTree)
			cmd := fixture("pipeholder")
			cmd.Timeout = 5 * time.Second
			find := marked(cmd)
			began := time.Now()
			res, err := runner.Run(ctx, runner.Contained{}, cmd)
			took := time.Since(began)
			Expect(err).NotTo(HaveOccurred())
			AddReportEntry("exit 0 with a pipe held, timeout 5 s", fmt.Sprintf("returned after %s", took.Round(time.Millisecond)))
			Expect(res).To(HaveSucceeded())
			Expect(res.PipesHeld()).To(BeTrue())
			Expect(res).NotTo(HaveTruncated(runner.Stdout))
			Expect(res).To(HaveStdout(HavePrefix("ready ")))
			Expect(took).To(BeNumerically("<", 2*time.Second))
			Expect(find()).NotTo(HaveSurvivors())
		})

		It("negative control: os/exec takes it for unfinished", func() {
			cmd := fixture("pipeholder")
			find := marked(cmd)
			argv := cmd.Argv()
			plain := exec.Command(argv[0], argv[1:]...)
			plain.Env = cmd.Env.Reveal()
			plain.WaitDelay = 500 * time.Millisecond
			_, err := plain.Output()
			Expect(err).To(MatchError(exec.ErrWaitDelay))
			suite.EndAll(find)
		})

		It("does not wait for a stranger outside the tree", func(ctx SpecContext) {
			r := floor()
			cmd := fixture("setsid", "leave")
			find := marked(cmd)
			res, err := runner.Run(ctx, r, cmd)
			Expect(err).NotTo(HaveOccurred())
			Expect(find()).To(HaveSurvivors(), "nobody escaped")
			Expect(res).To(HaveSucceeded())
			Expect(res.PipesHeld()).To(BeTrue())
			Expect(res).NotTo(HaveTruncated(runner.Stdout))
			Expect(res).To(HaveStdout(HavePrefix("ready ")))
			Expect(res.SettledAfter()).To(BeNumerically("<", 2*time.Second))
			suite.EndAll(find)
		})

		It("does not listen to a stranger for ever", func(ctx SpecContext) {
			r := floor()
			escaped := filepath.Join(GinkgoT().TempDir(), "escaped")
			cmd := shell(`echo first; setsid sh -c ': >"$ESCAPED"; while :; do echo noise; done' & ` +
				`until [ -e "$ESCAPED" ]; do :; done; exit 0`)
			cmd.Env = cmd.Env.Set("ESCAPED", escaped)
			cmd.Output.Stdout = runner.Stream{Policy: runner.Head, MaxBytes: 6}
			find := marked(cmd)
			res, err := runner.Run(ctx, r, cmd)
			Expect(err).NotTo(HaveOccurred())
			Expect(res.PipesHeld()).To(BeTrue(), "nobody escaped")
			Expect(res).To(HaveSucceeded())
			Expect(res).To(HaveStdout("first\n"))
			Expect(res.SettledAfter()).To(BeNumerically("<", 5*time.Second))
			suite.EndAll(find)
		})

		It("says nothing of held pipes when nobody holds them, however many start at once", func(ctx SpecContext) {
			var mu sync.Mutex
			var wrong []string
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					for range 15 {
						res, err := runner.Run(ctx, runner.Contained{}, fixture("exit"))
						if err != nil || res.PipesHeld() {
							mu.Lock()
							wrong = append(wrong, fmt.Sprint(res, err, res.SettledAfter()))
							mu.Unlock()
						}
					}
				})
			}
			all.Wait()
			Expect(wrong).To(BeEmpty())
		})
	})

	It("does not take the end of the streams for the end of the child", func(ctx SpecContext) {
		res, err := runner.Run(ctx, runner.Contained{}, fixture("earlyclose", "300ms"))
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveSucceeded())
		Expect(res).To(HaveDuration(BeNumerically(">=", 300*time.Millisecond)))
	})

	It("ends the tree when its output passes the cap, and keeps the cap", func(ctx SpecContext) {
		cmd := fixture("flood")
		cmd.Output.Stdout.MaxBytes = 1 << 20
		res, err := runner.Run(ctx, runner.Contained{}, cmd)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveOverflowed())
		Expect(res.Stdout()).To(HaveLen(1 << 20))
		Expect(res.StdoutTotal()).To(And(BeNumerically(">", 1<<20), BeNumerically("<", 1<<30)))
		Expect(res.Check()).To(MatchError(ContainSubstring("1048576 bytes on stdout")))
	})

	It("never takes an overflow for success, however fast the child is over", func(ctx SpecContext) {
		for range 30 {
			cmd := shell("printf 0123456789")
			cmd.Output.Stdout.MaxBytes = 9
			res, err := runner.Run(ctx, runner.Contained{}, cmd)
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveOverflowed())
		}
	})

	It("takes in all that a fast writer leaves", func(ctx SpecContext) {
		const size = 20 << 20
		cmd := fixture("flood", strconv.Itoa(size))
		res, err := runner.Run(ctx, runner.Contained{}, cmd)
		Expect(err).NotTo(HaveOccurred())
		Expect(res.Stdout()).To(HaveLen(size))
		Expect(strings.Count(string(res.Stdout()), "x")).To(Equal(size))
	})

	It("hands on the standard descriptors and no other", func(ctx SpecContext) {
		f, err := os.Open(os.DevNull)
		Expect(err).NotTo(HaveOccurred())
		defer f.Close()
		Expect(runner.Output(ctx, runner.Contained{}, fixture("fds"))).To(Equal("0\n1\n2"))
	})

	It("leaves no descriptor when a start fails at any step", func(ctx SpecContext) {
		tasks := []*runner.Cmd{runner.Command("boombox-no-such-program"), fixture("exit"), fixture("exit"), fixture("exit")}
		tasks[1].Dir = "/boombox-no-such-directory"
		tasks[2].Stdin = runner.StdinFrom("/boombox-no-such-file")
		tasks[3].Require = contain.Guarantee(1 << 30)
		start := func() {
			for _, cmd := range tasks {
				_, err := runner.Contained{}.Start(ctx, cmd)
				Expect(err).To(HaveOccurred())
			}
		}
		start()
		before := openFiles()
		for range 20 {
			start()
		}
		// What an earlier spec left to be closed may be closed meanwhile: fewer is no leak.
		Eventually(openFiles).Should(BeNumerically("<=", before))
	})

	It("loses nothing that is in the pipe when a stuck tee is abandoned", func(ctx SpecContext) {
		cmd := shell("echo one; sleep 0.2; echo two; exec sleep 60")
		cmd.Timeout = 600 * time.Millisecond
		release := make(chan struct{})
		defer close(release)
		cmd.Output.Stdout.Tee = teeFunc(func([]byte) { <-release })
		res, err := runner.Run(ctx, runner.Contained{}, cmd)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveTimedOut())
		Expect(res).To(HaveStdout("one\ntwo\n"))
		Expect(res).NotTo(HaveTruncated(runner.Stdout))
		Expect(res.TeeErr()).To(HaveOccurred())
		Expect(res.SettledAfter()).To(BeNumerically("<", 1600*time.Millisecond))
	})

	Describe("a shared group", func() {
		var group *contain.Group
		BeforeEach(func() {
			var err error
			group, err = contain.New(contain.Options{})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(func() { Expect(group.Close()).To(Succeed()) })
		})

		It("holds several runs, and loses none of them to another's end", func(ctx SpecContext) {
			r := runner.Contained{Group: group}
			long, err := r.Start(ctx, fixture("sleep"))
			Expect(err).NotTo(HaveOccurred())
			short := fixture("sleep")
			short.Timeout = 100 * time.Millisecond
			res, err := runner.Run(ctx, r, short)
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveTimedOut())
			_, over := long.Result()
			Expect(over).To(BeFalse())
			Expect(long.Close()).To(Succeed())
		})

		It("ends its runs as signalled, and can be used again", func(ctx SpecContext) {
			r := runner.Contained{Group: group}
			p, err := r.Start(ctx, fixture("sleep"))
			Expect(err).NotTo(HaveOccurred())
			Expect(group.Kill()).To(Succeed())
			res, err := p.Wait(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(BeSignaled(syscall.SIGKILL))
			Expect(runner.Probe(ctx, r, fixture("exit", "1"))).To(BeFalse())
		})

		It("refuses a guarantee that it does not give", func(ctx SpecContext) {
			cmd := fixture("exit")
			cmd.Require = contain.CapMemory
			_, err := runner.Run(ctx, runner.Contained{Group: group}, cmd)
			Expect(err).To(MatchError(runner.ErrUnsupported))
			refusal, ok := errors.AsType[*contain.UnsupportedError](err)
			Expect(ok).To(BeTrue())
			Expect(refusal.Missing).To(Equal(contain.CapMemory))
			Expect(refusal.Best).To(Equal(group.Mechanism()))
			_, err = runner.Run(ctx, runner.Contained{Group: group, Require: contain.CapMemory}, fixture("exit"))
			Expect(err).To(MatchError(runner.ErrUnsupported))
		})

		It("refuses a command's own limits", func(ctx SpecContext) {
			for kind, limits := range map[contain.LimitKind]contain.Limits{
				contain.LimitMemory: {Memory: 1 << 30}, contain.LimitProcesses: {Processes: 5}, contain.LimitCPU: {CPU: 1},
			} {
				cmd := fixture("exit")
				cmd.Limits = limits
				_, err := runner.Run(ctx, runner.Contained{Group: group}, cmd)
				refusal, ok := errors.AsType[*contain.LimitError](err)
				Expect(ok).To(BeTrue())
				Expect(refusal.Kind).To(Equal(kind))
				Expect(err).To(MatchError(runner.ErrUnsupported))
			}
		})

		It("refuses everything once it is closed", func(ctx SpecContext) {
			Expect(group.Close()).To(Succeed())
			_, err := runner.Run(ctx, runner.Contained{Group: group}, fixture("exit"))
			Expect(err).To(MatchError(contain.ErrClosed))
		})
	})

	It("refuses, in a private group, what the host cannot give", func(ctx SpecContext) {
		cmd := fixture("exit")
		cmd.Require = contain.Guarantee(1 << 30)
		_, err := runner.Run(ctx, runner.Contained{}, cmd)
		Expect(err).To(MatchError(runner.ErrUnsupported))
		cmd = fixture("exit")
		cmd.Limits.Memory = -1
		_, err = runner.Run(ctx, runner.Contained{}, cmd)
		refusal, ok := errors.AsType[*contain.LimitError](err)
		Expect(ok).To(BeTrue())
		Expect(refusal.Reason).To(Equal(contain.LimitInvalid))
	})

	It("cancels with the cause of the context, and leaves nothing", func(ctx SpecContext) {
		cause := errors.New("enough")
		run, cancel := context.WithCancelCause(ctx)
		cmd := fixture("escapees")
		find := marked(cmd)
		cmd.Output.Stdout.Tee = teeFunc(func([]byte) { cancel(cause) })
		res, err := runner.Run(run, runner.Contained{}, cmd)
		Expect(err).To(MatchError(runner.ErrCancelled))
		Expect(err).To(MatchError(cause))
		Expect(res).To(HaveStdout(HavePrefix("ready ")))
		if res.Teardown().Guarantees.Has(contain.KillTree) {
			Expect(find()).NotTo(HaveSurvivors())
		}
		suite.EndAll(find)
	})
})

// openFiles counts our descriptors.
func openFiles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		Skip("descriptors cannot be counted here")
	}
	return len(entries)
}

// beStartError matches a *runner.StartError of the kind.
func beStartError(kind runner.StartKind) types.GomegaMatcher {
	return WithTransform(func(err error) (runner.StartKind, error) {
		failed, ok := errors.AsType[*runner.StartError](err)
		if !ok {
			return "", fmt.Errorf("not a *runner.StartError: %w", err)
		}
		return failed.Kind, nil
	}, Equal(kind))
}
