package runner_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("a pipeline of real children", func() {
	// Both ways that bytes can take: a pipe of the system, and memory, where the runner is not seen to be the real one.
	for name, r := range map[string]runner.Runner{
		"through pipes of the system": runner.Contained{},
		"through memory":              fake.Spy(runner.Contained{}),
	} {
		Context(name, func() {
			check := func(ctx context.Context, p *runner.Pipeline) *runner.PipelineResult {
				GinkgoHelper()
				res, err := p.Run(ctx, r)
				Expect(err).NotTo(HaveOccurred())
				for _, s := range res.Stages() {
					Expect(s.Result).To(HaveReapedTree(), s.Program)
				}
				return res
			}

			It("lets each stage read what the one before writes", func(ctx SpecContext) {
				p := runner.Pipe(shell("echo b; echo a"), shell("sort"), shell("tr ab xy"))
				Expect(p.Output(ctx, r)).To(Equal("x\ny"))
			})

			It("gives the first stage its own input, and each stage its own standard error", func(ctx SpecContext) {
				first := shell("cat; echo first >&2")
				first.Stdin = runner.StdinString("from us")
				res := check(ctx, runner.Pipe(first, shell("cat; echo second >&2")))
				Expect(res.Last()).To(HaveStdout("from us"))
				Expect(res.Stages()[0].Result).To(HaveStderr("first\n"))
				Expect(res.Stages()[1].Result).To(HaveStderr("second\n"))
				Expect(res.Stages()[0].Result).To(HaveStdout(""), "what is passed on is not captured")
			})

			It("carries more than any pipe or buffer holds, byte for byte", func(ctx SpecContext) {
				p := runner.Pipe(fixture("flood", "8388608"), fixture("cat"), shell("wc -c"))
				Expect(p.Output(ctx, r)).To(Equal("8388608"))
			})

			It("blames the culprit, and not the victim of its broken pipe", func(ctx SpecContext) {
				res := check(ctx, runner.Pipe(fixture("flood"), shell("head -c 1 >/dev/null; exit 3")))
				Expect(res.Check()).To(MatchError(`runner: stage 2 of 2: "sh" exited 3`))
				Expect(res.Stages()[0].Result).To(BeSignaled(syscall.SIGPIPE))
			})

			It("blames the victim where there is no other, unless it is not checked", func(ctx SpecContext) {
				p := runner.Pipe(fixture("flood"), shell("head -c 1"))
				res := check(ctx, p)
				Expect(res.Check()).To(MatchError(ContainSubstring("stage 1 of 2")))
				p.Stages[0].Unchecked = true
				Expect(p.Output(ctx, r)).To(Equal("x"))
			})

			It("blames the first of several", func(ctx SpecContext) {
				res := check(ctx, runner.Pipe(shell("exit 4"), shell("cat >/dev/null; exit 5"), shell("cat; exit 6")))
				Expect(res.Check()).To(MatchError(ContainSubstring("stage 1 of 3")))
				blamed, ok := errors.AsType[*runner.PipelineError](res.Check())
				Expect(ok).To(BeTrue())
				Expect(blamed.Stage).To(BeZero())
			})

			It("does not wait for a quiet writer when a later stage has failed", func(ctx SpecContext) {
				res := check(ctx, runner.Pipe(fixture("sleep", "quiet"), shell("exit 3")))
				Expect(res.Check()).To(MatchError(ContainSubstring("stage 2 of 2")))
				Expect(res.Stages()[0].TornDown).To(BeTrue())
				Expect(res.Duration()).To(BeNumerically("<", 15*time.Second), "the writer would have taken 20 s")
			})

			It("ends a quiet writer that SIGPIPE does not end, too", func(ctx SpecContext) {
				deaf := shell("trap '' PIPE; sleep 20 & wait")
				res := check(ctx, runner.Pipe(deaf, shell("exit 3")))
				Expect(res.Check()).To(MatchError(ContainSubstring("stage 2 of 2")))
				Expect(res.Duration()).To(BeNumerically("<", 15*time.Second))
			})

			It("lets a reader deal with the rest when its writer has failed", func(ctx SpecContext) {
				res := check(ctx, runner.Pipe(shell("echo the tail; exit 3"), shell("cat; echo flushed")))
				Expect(res.Check()).To(MatchError(ContainSubstring("stage 1 of 2")))
				Expect(res.Last()).To(HaveStdout("the tail\nflushed\n"))
				Expect(res.Stages()[1].TornDown).To(BeFalse())
			})

			It("waits no longer than that for a reader that does not end", func(ctx SpecContext) {
				res := check(ctx, runner.Pipe(shell("exit 3"), shell("cat; sleep 20")))
				Expect(res.Check()).To(MatchError(ContainSubstring("stage 1 of 2")))
				Expect(res.Stages()[1].TornDown).To(BeTrue())
				Expect(res.Duration()).To(BeNumerically("<", 15*time.Second))
			})

			It("does not cut a reader short that goes on after it has had enough", func(ctx SpecContext) {
				p := runner.Pipe(fixture("flood"), shell("head -c 1; exec <&-; sleep 1.5; echo done"))
				p.Stages[0].Unchecked = true
				Expect(p.Output(ctx, r)).To(Equal("xdone"))
			})

			It("forgives an unchecked stage its exit code, and shows it", func(ctx SpecContext) {
				p := runner.Pipe(shell("echo kept"), shell("cat; exit 9"))
				p.Stages[1].Unchecked = true
				res := check(ctx, p)
				Expect(res.Check()).To(Succeed())
				Expect(res.Last()).To(HaveExited(9))
				Expect(p.Output(ctx, r)).To(Equal("kept"))
			})

			It("forgives an unchecked stage no other signal, and no timeout", func(ctx SpecContext) {
				p := runner.Pipe(shell("kill -9 $$"), shell("cat"))
				p.Stages[0].Unchecked = true
				Expect(check(ctx, p).Check()).To(MatchError(ContainSubstring("stage 1 of 2")))
				slow := fixture("sleep", "quiet")
				slow.Timeout = 50 * time.Millisecond
				p = runner.Pipe(slow, shell("cat"))
				p.Stages[0].Unchecked = true
				Expect(check(ctx, p).Check()).To(MatchError(runner.ErrTimedOut))
			})

			It("has one timeout over all, which keeps what the last stage said", func(ctx SpecContext) {
				p := runner.Pipe(shell("printf 'so far\\nunfinished'; sleep 20"), shell("cat"))
				p.Timeout = 2 * time.Second
				res := check(ctx, p)
				Expect(res.Check()).To(MatchError(runner.ErrTimedOut))
				Expect(res.Last()).To(HaveStdout("so far\nunfinished"), "once")
				for _, s := range res.Stages() {
					Expect(s.Result).To(HaveTimedOut())
				}
			})

			It("kills a descendant of a stage that holds the pipe to the next", func(ctx SpecContext) {
				res := check(ctx, runner.Pipe(shell("sleep 20 & echo gone"), shell("cat")))
				Expect(res.Check()).To(Succeed())
				Expect(res.Last()).To(HaveStdout("gone\n"))
				Expect(res.Duration()).To(BeNumerically("<", 15*time.Second))
			})

			It("does not wait for a descendant of a stage that timed out", func(ctx SpecContext) {
				slow := shell("sleep 20 & sleep 20")
				slow.Timeout = 300 * time.Millisecond
				res := check(ctx, runner.Pipe(slow, shell("cat")))
				Expect(res.Check()).To(MatchError(runner.ErrTimedOut))
				Expect(res.Duration()).To(BeNumerically("<", 15*time.Second), "the descendant would have taken 20 s")
			})

			It("leaves no goroutine of a merged stage that was cancelled", func(ctx SpecContext) {
				const runs = 5
				before := runtime.NumGoroutine()
				for range runs {
					run, cancel := context.WithCancel(ctx)
					merged, last := shell("echo ready >&2; sleep 20"), shell("cat")
					merged.Output.Merge = true
					last.Output.Stdout.Tee = teeFunc(func([]byte) { cancel() })
					res, err := runner.Pipe(merged, last).Run(run, r)
					Expect(err).To(MatchError(runner.ErrCancelled))
					Expect(res.Last()).To(HaveStdout("ready\n"), "what was merged is passed on")
				}
				Eventually(runtime.NumGoroutine).WithTimeout(10*time.Second).Should(BeNumerically("<", before+runs), "one for each would show")
			})

			It("is cancelled whole", func(ctx SpecContext) {
				run, cancel := context.WithCancelCause(ctx)
				cause := errors.New("enough")
				last := shell("cat; sleep 20")
				last.Output.Stdout.Tee = teeFunc(func([]byte) { cancel(cause) })
				res, err := runner.Pipe(shell("echo ready; sleep 20"), last).Run(run, r)
				Expect(err).To(And(MatchError(runner.ErrCancelled), MatchError(cause)))
				for _, s := range res.Stages() {
					Expect(s.Result).To(HaveBeenCancelled())
					Expect(s.Result).To(HaveReapedTree())
				}
			})

			It("that has a stage which cannot be started ends the others", func(ctx SpecContext) {
				res, err := runner.Pipe(fixture("sleep", "quiet"), runner.Command("no-such-tool"), shell("cat")).Run(ctx, r)
				Expect(err).To(MatchError(runner.ErrNotFound))
				Expect(err).To(MatchError(`runner: stage 2 of 3: cannot start "no-such-tool": program not found: not in the PATH of its environment`))
				Expect(res.Stages()[0].TornDown).To(BeTrue())
				Expect(res.Stages()[0].Result).To(HaveReapedTree())
				Expect(res.Stages()[2].Result).To(BeNil())
				Expect(res.Check()).To(MatchError(runner.ErrNotFound))
			})

			It("passes on what somebody wants to see, and lets them see it", func(ctx SpecContext) {
				var seen bytes.Buffer
				first := shell("printf 0123456789")
				first.Output.Stdout = runner.Stream{Policy: runner.Head, MaxBytes: 4, Tee: &seen}
				res := check(ctx, runner.Pipe(first, shell("cat")))
				Expect(res.Last()).To(HaveStdout("0123456789"))
				Expect(res.Stages()[0].Result).To(HaveStdout("0123"))
				Expect(seen.String()).To(Equal("0123456789"))
				Expect(res.Stages()[0].Result.StdoutPiped()).To(BeFalse())
			})

			It("of one stage is a run", func(ctx SpecContext) {
				Expect(runner.Pipe(shell("echo alone")).Output(ctx, r)).To(Equal("alone"))
			})
		})
	}

	It("gives each stage a group of its own", func(ctx SpecContext) {
		// The first stage's kill of its whole process group does not reach the second.
		p := runner.Pipe(shell("echo x; kill -9 0"), shell("cat; sleep 0.2; echo alive"))
		p.Stages[0].Unchecked = true
		res, err := p.Run(ctx, runner.Contained{})
		Expect(err).NotTo(HaveOccurred())
		Expect(res.Stages()[0].Result).To(BeSignaled(syscall.SIGKILL))
		Expect(res.Last()).To(HaveStdout("x\nalive\n"))
	})

	It("says that it does not know what went through a pipe of the system", func(ctx SpecContext) {
		res, err := runner.Pipe(shell("echo x"), shell("cat")).Run(ctx, runner.Contained{})
		Expect(err).NotTo(HaveOccurred())
		Expect(res.Stages()[0].Result.StdoutPiped()).To(BeTrue())
		Expect(res.Stages()[0].Result.String()).To(ContainSubstring("stdout piped on"))
		Expect(res.Last().StdoutPiped()).To(BeFalse())
	})
})

var _ = Describe("a pipeline over doubles", func() {
	It("carries a script's output into the next call's input", func(ctx SpecContext) {
		r := fake.New()
		r.On("produce").Reply(fake.Lines("one", "two"))
		r.On("consume").ReplyFunc(func(cmd *runner.Cmd) []fake.Reply {
			in, err := cmd.Stdin.Open()
			Expect(err).NotTo(HaveOccurred())
			var all bytes.Buffer
			_, err = all.ReadFrom(in)
			Expect(err).NotTo(HaveOccurred())
			return []fake.Reply{fake.Stdout(strings.ToUpper(all.String()))}
		})
		Expect(runner.Pipe(runner.Command("produce"), runner.Command("consume")).Output(ctx, r)).To(Equal("ONE\nTWO"))
	})

	It("starts every stage, although an earlier one has failed before", func(ctx SpecContext) {
		r := fake.New()
		r.On("a").Reply(fake.Exit(1))
		res, err := runner.Pipe(runner.Command("a"), runner.Command("b"), runner.Command("c")).Run(ctx, r.Fallback(fake.DryRun(nil)))
		Expect(err).NotTo(HaveOccurred())
		Expect(res.Check()).To(MatchError(ContainSubstring("stage 1 of 3")))
		Expect(r.Calls()).To(HaveLen(3))
	})

	It("is recorded stage by stage, and replayed with the same result", func(ctx SpecContext) {
		pipes := map[string]func() *runner.Pipeline{
			"well": func() *runner.Pipeline {
				return runner.Pipe(shell("echo b; echo a"), shell("sort"), shell("cat; echo end"))
			},
			"failing": func() *runner.Pipeline {
				return runner.Pipe(shell("echo x; exit 2"), shell("cat; echo y"), shell("cat"))
			},
			"culprit": func() *runner.Pipeline {
				return runner.Pipe(shell("echo x"), shell("cat >/dev/null; exit 3"), shell("cat"))
			},
		}
		for name, pipe := range pipes {
			file := filepath.Join(GinkgoT().TempDir(), "pipe.cassette")
			recorder, err := cassette.NewRecorder(file, runner.Contained{})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(recorder.Close)
			want, err := pipe().Run(ctx, runner.Contained{})
			Expect(err).NotTo(HaveOccurred())
			recorded, err := pipe().Run(ctx, recorder)
			Expect(err).NotTo(HaveOccurred())
			Expect(recorder.Save()).To(Succeed())
			player, err := cassette.Open(file)
			Expect(err).NotTo(HaveOccurred())
			replayed, err := pipe().Run(ctx, player)
			Expect(err).NotTo(HaveOccurred())
			for _, got := range []*runner.PipelineResult{recorded, replayed} {
				Expect(got.String()).To(Equal(want.String()), name)
				Expect(got.Last()).To(HaveStdout(string(want.Last().Stdout())), name)
				if want.Check() == nil {
					Expect(got.Check()).To(Succeed(), name)
				} else {
					Expect(got.Check()).To(MatchError(want.Check().Error()), name)
				}
			}
			Expect(replayed.Last()).To(HaveBeenReplayed())
		}
	})

	It("refuses, typed, to record a stage whose input has no end, and ends the one that writes it", func(ctx SpecContext) {
		endless := func() *runner.Pipeline { return runner.Pipe(runner.Command("yes"), runner.Command("head", "-n", "1")) }
		res, err := endless().Run(ctx, runner.Contained{})
		Expect(err).NotTo(HaveOccurred())
		Expect(res.Last()).To(HaveStdout("y\n"), "the control: unrecorded, it ends by itself")

		recorder, err := cassette.NewRecorder(filepath.Join(GinkgoT().TempDir(), "pipe.cassette"), runner.Contained{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(recorder.Close)
		res, err = endless().Run(ctx, recorder)
		Expect(err).To(MatchError(cassette.ErrTooLarge))
		blamed, ok := errors.AsType[*runner.PipelineError](err)
		Expect(ok).To(BeTrue())
		Expect(blamed.Stage).To(Equal(1))
		Expect(res.Last()).To(BeNil(), "it was not started")
		Expect(res.Stages()[0].TornDown).To(BeTrue())
		Expect(res.Stages()[0].Result).To(HaveReapedTree())
	}, NodeTimeout(2*time.Minute))

	DescribeTable("refuses, before anything starts,", func(ctx SpecContext, p *runner.Pipeline) {
		spy := fake.Spy(runner.Contained{})
		res, err := p.Run(ctx, spy)
		Expect(res).To(BeNil())
		Expect(err).To(MatchError(runner.ErrInvalid))
		Expect(spy.Calls()).To(BeEmpty())
	},
		Entry("no stages", runner.Pipe()),
		Entry("a stage without a command", runner.Pipe(runner.Command("a"), nil)),
		Entry("a later stage with input of its own", runner.Pipe(runner.Command("a"), withStdin(runner.Command("b")))),
		Entry("a stage that makes no sense", runner.Pipe(runner.Command("a"), runner.Command(""))),
		Entry("a negative timeout", &runner.Pipeline{Stages: []runner.Stage{{Cmd: runner.Command("a")}}, Timeout: -1}),
	)
})

func withStdin(cmd *runner.Cmd) *runner.Cmd {
	cmd.Stdin = runner.StdinString("mine")
	return cmd
}

func TestPipelineInTime(t *testing.T) {
	pipe := func() (*fake.Runner, *runner.Pipeline) {
		r := fake.New()
		r.On("slow").Reply(fake.Stdout("first"), fake.After(time.Hour), fake.Stdout(" second"), fake.After(time.Hour))
		r.On("pending").Reply(fake.Pending())
		r.On("fails").Reply(fake.After(time.Minute), fake.Exit(1))
		return r, runner.Pipe(runner.Command("slow"), runner.Command("pending"))
	}
	onFakeClock(t, "one timeout ends all stages", func(g *WithT) {
		r, p := pipe()
		p.Timeout = 90 * time.Minute
		res, err := p.Run(context.Background(), r)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(res.Duration()).To(Equal(90 * time.Minute))
		g.Expect(res.String()).To(Equal(`"slow" timed_out | "pending" timed_out`))
		read, err := r.Calls()[1].Stdin.Open()
		g.Expect(err).NotTo(HaveOccurred())
		var got bytes.Buffer
		_, _ = got.ReadFrom(read)
		g.Expect(got.String()).To(Equal("first second"))
	})
	onFakeClock(t, "a failure gives those after it a second", func(g *WithT) {
		r, _ := pipe()
		res, err := runner.Pipe(runner.Command("fails"), runner.Command("pending")).Run(context.Background(), r)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(res.Duration()).To(Equal(time.Minute + time.Second))
		g.Expect(res.Check()).To(MatchError(ContainSubstring("stage 1 of 2")))
	})
	onFakeClock(t, "and those before it no time", func(g *WithT) {
		r, _ := pipe()
		res, err := runner.Pipe(runner.Command("pending"), runner.Command("fails")).Run(context.Background(), r)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(res.Duration()).To(Equal(time.Minute))
		g.Expect(res.String()).To(Equal(`"pending" signalled SIGPIPE | "fails" exited 1`))
	})
	onFakeClock(t, "a double that ends before its writer leaves the writer alone", func(g *WithT) {
		r, _ := pipe()
		r.On("quick")
		res, err := runner.Pipe(runner.Command("slow"), runner.Command("quick")).Run(context.Background(), r)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(res.Check()).To(Succeed())
		g.Expect(res.Duration()).To(Equal(2 * time.Hour))
	})
}
