package runner_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// exactly is a backoff without chance.
func exactly(first time.Duration) runner.Backoff {
	return runner.Backoff{First: first, Rand: func() float64 { return 1 }}
}

func TestSupervisor(t *testing.T) {
	ctx := context.Background()
	tool := func() *runner.Cmd { return runner.Command("tool") }
	fails := fake.Exit(1)

	onFakeClock(t, "restarts after a failure, later each time, and not after a success", func(g *WithT) {
		began := time.Now()
		r := replies(fails, fake.End(runner.TimedOut), fake.Exit(0))
		s, err := runner.Supervisor{Backoff: exactly(time.Second)}.Start(ctx, r, tool())
		g.Expect(err).NotTo(HaveOccurred())
		res, err := s.Wait(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(res).To(HaveSucceeded())
		g.Expect(time.Since(began)).To(Equal(3 * time.Second))
		g.Expect(s.Status().Restarts).To(Equal(2))
		g.Expect(s.Status().State).To(Equal(runner.SupervisorOver))
	})
	onFakeClock(t, "restarts after a success, too, when it is to", func(g *WithT) {
		r := replies(fake.Exit(0), fake.Exit(0), fake.Pending())
		s, err := runner.Supervisor{Restart: runner.RestartAlways}.Start(ctx, r, tool())
		g.Expect(err).NotTo(HaveOccurred())
		time.Sleep(time.Minute)
		g.Expect(s.Status().State).To(Equal(runner.SupervisorRunning))
		g.Expect(s.Status().Restarts).To(Equal(2))
		_, err = s.Stop(ctx)
		g.Expect(err).NotTo(HaveOccurred())
	})
	onFakeClock(t, "never restarts when it is not to", func(g *WithT) {
		r := replies(fails)
		s, err := runner.Supervisor{Restart: runner.RestartNever}.Start(ctx, r, tool())
		g.Expect(err).NotTo(HaveOccurred())
		res, err := s.Wait(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(res).To(HaveExited(1))
	})
	onFakeClock(t, "ends with a typed error when the restarts come too fast", func(g *WithT) {
		r := fake.New()
		r.On().Reply(fails)
		s, err := runner.Supervisor{MaxRestarts: 3, Window: time.Hour, Backoff: exactly(time.Second)}.Start(ctx, r, tool())
		g.Expect(err).NotTo(HaveOccurred())
		res, err := s.Wait(ctx)
		g.Expect(res).To(HaveExited(1))
		g.Expect(err).To(And(MatchError(runner.ErrStorm), MatchError(runner.ErrUnsuccessful)))
		g.Expect(err).To(MatchError(`runner: "tool" was restarted 3 times within 1h0m0s, and ended again: runner: "tool" exited 1`))
		g.Expect(r.Calls()).To(HaveLen(4))
	})
	onFakeClock(t, "does not take restarts for a storm that are spread in time", func(g *WithT) {
		r := fake.New()
		r.On().Reply(fake.After(time.Minute), fails)
		s, err := runner.Supervisor{MaxRestarts: 3, Window: 2 * time.Minute}.Start(ctx, r, tool())
		g.Expect(err).NotTo(HaveOccurred())
		time.Sleep(time.Hour)
		g.Expect(s.Status().State).NotTo(Equal(runner.SupervisorOver))
		_, err = s.Stop(ctx)
		g.Expect(err).NotTo(HaveOccurred())
	})
	onFakeClock(t, "waits from the beginning after a run that lasted", func(g *WithT) {
		r := fake.New()
		r.On().Reply(fake.After(time.Minute), fails)
		b := exactly(time.Second)
		b.Max = time.Minute
		began := time.Now()
		s, err := runner.Supervisor{Backoff: b, MaxRestarts: 3, Window: time.Hour}.Start(ctx, r, tool())
		g.Expect(err).NotTo(HaveOccurred())
		_, err = s.Wait(ctx)
		g.Expect(err).To(MatchError(runner.ErrStorm))
		g.Expect(time.Since(began)).To(Equal(4*time.Minute + 3*time.Second))
	})
	onFakeClock(t, "is stopped while it waits, at once", func(g *WithT) {
		r := replies(fails)
		s, err := runner.Supervisor{Backoff: runner.Backoff{First: time.Hour, Max: time.Hour}}.Start(ctx, r, tool())
		g.Expect(err).NotTo(HaveOccurred())
		synctest.Wait()
		g.Expect(s.Status().State).To(Equal(runner.SupervisorWaiting))
		began := time.Now()
		res, err := s.Stop(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(res).To(HaveExited(1))
		g.Expect(time.Since(began)).To(BeZero())
	})
	onFakeClock(t, "is stopped while a restart is under way, however long that takes", func(g *WithT) {
		s, err := runner.Supervisor{Backoff: exactly(time.Second)}.Start(ctx, &startsOnce{Runner: replies(fails)}, tool())
		g.Expect(err).NotTo(HaveOccurred())
		time.Sleep(time.Minute)
		g.Expect(s.Status().State).To(Equal(runner.SupervisorStarting))
		began := time.Now()
		_, err = s.Stop(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(time.Since(began)).To(BeZero())
		g.Expect(s.Status().State).To(Equal(runner.SupervisorOver))
	})
	onFakeClock(t, "ends with its context, and says so", func(g *WithT) {
		cause := errors.New("shutting down")
		for _, reply := range []fake.Reply{fake.Pending(), fails} {
			ctx, cancel := context.WithCancelCause(ctx)
			s, err := runner.Supervisor{Backoff: exactly(30 * time.Second)}.Start(ctx, replies(reply), tool())
			g.Expect(err).NotTo(HaveOccurred())
			time.Sleep(time.Second)
			cancel(cause)
			_, err = s.Wait(context.Background())
			g.Expect(err).To(And(MatchError(runner.ErrCancelled), MatchError(cause)))
		}
	})
	onFakeClock(t, "gives up at once where a restart cannot succeed", func(g *WithT) {
		r := replies(fails, fake.Refuse(&contain.UnsupportedError{Missing: contain.KillTree}))
		s, err := runner.Supervisor{}.Start(ctx, r, tool())
		g.Expect(err).NotTo(HaveOccurred())
		res, err := s.Wait(ctx)
		g.Expect(res).To(BeNil())
		g.Expect(err).To(MatchError(runner.ErrUnsupported))
		g.Expect(r.Calls()).To(HaveLen(2))
	})
	onFakeClock(t, "tries again where a restart may yet succeed", func(g *WithT) {
		r := replies(fails, fake.StartError(runner.StartNotFound), fake.Exit(0))
		s, err := runner.Supervisor{}.Start(ctx, r, tool())
		g.Expect(err).NotTo(HaveOccurred())
		res, err := s.Wait(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(res).To(HaveSucceeded())
	})
	onFakeClock(t, "does not restart beside a tree that could not be ended", func(g *WithT) {
		drain := &contain.DrainError{Survivors: []contain.Member{{PID: 42, State: 'D'}}}
		r := fake.New()
		r.On().Reply(fake.Scripted(fake.Script{Outcome: runner.Exited(1), Teardown: runner.Teardown{Err: drain}}))
		s, err := runner.Supervisor{Restart: runner.RestartAlways}.Start(ctx, r, tool())
		g.Expect(err).NotTo(HaveOccurred())
		_, err = s.Wait(ctx)
		g.Expect(err).To(MatchError(contain.ErrDrain))
		g.Expect(r.Calls()).To(HaveLen(1))
	})
	onFakeClock(t, "ends with a process that somebody else cancelled", func(g *WithT) {
		s, err := runner.Supervisor{Restart: runner.RestartAlways}.Start(ctx, replies(fake.Pending()), tool())
		g.Expect(err).NotTo(HaveOccurred())
		s.Status().Process.Cancel(errors.New("from outside"))
		_, err = s.Wait(ctx)
		g.Expect(err).To(MatchError(runner.ErrCancelled))
	})
	onFakeClock(t, "ends a process that is unwell, and starts another", func(g *WithT) {
		r := fake.New()
		r.On().Reply(fake.Pending())
		var asked atomic.Int32 // an answer that is too late comes beside the next question
		s, err := runner.Supervisor{
			Backoff: exactly(time.Second), HealthEvery: time.Minute, HealthFailures: 2,
			Health: func(ctx context.Context, p *runner.Process) error {
				switch asked.Add(1) {
				case 1, 4: // well, unwell, unwell: ended; well, unwell, well ...
					return nil
				case 2:
					panic("as good as a no")
				case 3:
					<-ctx.Done()
					return nil // too late
				case 5:
					return errors.New("unwell")
				}
				return nil
			},
		}.Start(ctx, r, tool())
		g.Expect(err).NotTo(HaveOccurred())
		first := s.Status().Process
		time.Sleep(2*time.Minute + time.Second)
		g.Expect(s.Status().Unhealthy).To(Equal(1))
		time.Sleep(2*time.Minute + 2*time.Second)
		now := s.Status()
		g.Expect(now.Restarts).To(Equal(1))
		g.Expect(now.Last).To(HaveBeenCancelled())
		g.Expect(now.Err).To(MatchError(runner.ErrUnhealthy))
		g.Expect(now.Process).NotTo(BeIdenticalTo(first))
		time.Sleep(time.Hour)
		g.Expect(s.Status().Restarts).To(Equal(1), "one no in between is forgiven")
		_, err = s.Stop(ctx)
		g.Expect(err).NotTo(HaveOccurred())
	})
	onFakeClock(t, "returns the error of the first start", func(g *WithT) {
		s, err := runner.Supervisor{}.Start(ctx, replies(fake.StartError(runner.StartNotFound)), tool())
		g.Expect(s).To(BeNil())
		g.Expect(err).To(MatchError(runner.ErrNotFound))
	})
	onFakeClock(t, "keeps the tail of what a server says", func(g *WithT) {
		r := replies(fake.Stdout(strings.Repeat("x", 100<<10) + "the end"))
		s, err := runner.Supervisor{}.Start(ctx, r, tool())
		g.Expect(err).NotTo(HaveOccurred())
		res, err := s.Wait(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(res.Stdout()).To(HaveLen(64 << 10))
		g.Expect(res).To(HaveStdout(HaveSuffix("the end")))
	})
}

// startsOnce is a runner whose later starts take as long as they may.
type startsOnce struct {
	runner.Runner
	started atomic.Bool
}

func (s *startsOnce) Start(ctx context.Context, cmd *runner.Cmd) (*runner.Process, error) {
	if s.started.CompareAndSwap(false, true) {
		return s.Runner.Start(ctx, cmd)
	}
	<-ctx.Done()
	return nil, runner.NotStarted(ctx, cmd)
}

var _ = Describe("a supervisor", func() {
	DescribeTable("refuses, before anything starts,", func(ctx SpecContext, s runner.Supervisor, cmd *runner.Cmd) {
		r := fake.DryRun(nil)
		_, err := s.Start(ctx, r, cmd)
		Expect(err).To(MatchError(runner.ErrInvalid))
		Expect(r.Calls()).To(BeEmpty())
	},
		Entry("input that feeds one start", runner.Supervisor{}, readerInput()),
		Entry("an unknown policy", runner.Supervisor{Restart: 7}, runner.Command("tool")),
		Entry("a bad backoff", runner.Supervisor{Backoff: runner.Backoff{First: -1}}, runner.Command("tool")),
		Entry("negative restarts", runner.Supervisor{MaxRestarts: -1}, runner.Command("tool")),
		Entry("a negative window", runner.Supervisor{Window: -1}, runner.Command("tool")),
		Entry("a negative pulse", runner.Supervisor{HealthEvery: -1}, runner.Command("tool")),
		Entry("negative health failures", runner.Supervisor{HealthFailures: -1}, runner.Command("tool")),
	)

	It("keeps the tail of merged streams, and of a terminal", func(ctx SpecContext) {
		merged, terminal := shell("echo out; echo err >&2"), shell("echo out; echo err >&2")
		merged.Output.Merge = true
		terminal.PTY = &runner.PTY{}
		for _, cmd := range []*runner.Cmd{merged, terminal} {
			s, err := runner.Supervisor{}.Start(ctx, runner.Contained{}, cmd)
			if errors.Is(err, runner.ErrUnsupported) {
				continue // there are no terminals here
			}
			Expect(err).NotTo(HaveOccurred())
			res, err := s.Wait(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(strings.Fields(string(res.Stdout()))).To(Equal([]string{"out", "err"}))
		}
	})

	It("takes such input when there is one start", func(ctx SpecContext) {
		s, err := runner.Supervisor{Restart: runner.RestartNever}.Start(ctx, fake.DryRun(nil), readerInput())
		Expect(err).NotTo(HaveOccurred())
		Expect(s.Wait(ctx)).NotTo(BeNil())
	})

	It("restarts a real child that is killed, when all of its tree is gone, and stops it with its grace", func(ctx SpecContext) {
		mark := filepath.Join(GinkgoT().TempDir(), "second")
		cmd := shell(`if [ -e "$1" ]; then trap 'echo bye; exit 0' TERM; echo second; else : > "$1"; echo first; fi; for i in 1 2 3; do sleep 20 & wait; done`)
		// The loop: of those who are asked to end, sleep may be first, and must not be all that the shell waits for.
		cmd = runner.Command(cmd.Argv()[0], append(cmd.Argv()[1:], "sh", mark)...)
		cmd.Grace = time.Minute
		s, err := runner.Supervisor{Backoff: runner.Backoff{First: time.Millisecond}}.Start(ctx, runner.Contained{}, cmd)
		Expect(err).NotTo(HaveOccurred())
		first := s.Status().Process
		Eventually(ctx, func() error { _, err := os.Stat(mark); return err }).Should(Succeed())
		Expect(first.Kill()).To(Succeed())
		Eventually(ctx, func() int { return s.Status().Restarts }).Should(Equal(1))
		res, over := first.Result()
		Expect(over).To(BeTrue(), "the first is over before there is a second")
		Expect(res).To(HaveReapedTree())
		var second *runner.Process
		Eventually(ctx, func() *runner.Process { second = s.Status().Process; return second }).ShouldNot(BeIdenticalTo(first))
		for line, err := range second.Lines(ctx) {
			Expect(err).NotTo(HaveOccurred())
			Expect(line.Text).To(Equal("second"))
			break
		}
		last, err := s.Stop(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(last).To(HaveStdout("second\nbye\n"))
		Expect(s.Status().State).To(Equal(runner.SupervisorOver))
		Expect(s.Done()).To(BeClosed())
	}, NodeTimeout(2*time.Minute))
})

func readerInput() *runner.Cmd {
	cmd := runner.Command("tool")
	cmd.Stdin = runner.StdinStream(strings.NewReader("once"))
	return cmd
}
