package fake_test

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/internal/suite"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("doubles", func() {
	run := func(ctx context.Context, r runner.Runner, argv ...string) (*runner.Result, error) {
		return runner.Run(ctx, r, runner.Command(argv[0], argv[1:]...))
	}

	Describe("OnSequence", func() {
		It("gives each reply once, and misses loudly from then on, whatever else could answer", func(ctx SpecContext) {
			r := fake.New().Fallback(fake.DryRun(nil))
			r.OnSequence("next").Reply(fake.Exit(1)).Reply(fake.Exit(2))
			r.On("next").Reply(fake.Exit(9))
			for _, code := range []int{1, 2} {
				res, err := run(ctx, r, "next", "canary")
				Expect(err).NotTo(HaveOccurred())
				Expect(res).To(HaveOutcome(runner.Exited(code)))
			}
			_, err := run(ctx, r, "next", "canary")
			Expect(err).To(MatchError(fake.ErrUnscripted))
			Expect(err).To(MatchError(`fake: unscripted call of "next" with 1 argument: rule 1 of 2 is for it, and has no reply left`))
			Expect(r.Misses()).To(ConsistOf(err))
		})

		It("is one plain success without replies", func(ctx SpecContext) {
			r := fake.New()
			r.OnSequence("next")
			_, err := run(ctx, r, "next")
			Expect(err).NotTo(HaveOccurred())
			Expect(r.Unplayed()).To(BeEmpty())
			_, err = run(ctx, r, "next")
			Expect(err).To(MatchError(fake.ErrUnscripted))
		})
	})

	Describe("Fallback", func() {
		It("gets what no rule matches, input included, and what it answers is no miss", func(ctx SpecContext) {
			below := fake.New()
			below.On("tool").ReplyFunc(func(cmd *runner.Cmd) []fake.Reply {
				in, err := cmd.Stdin.Open()
				Expect(err).NotTo(HaveOccurred())
				defer in.Close()
				text, err := io.ReadAll(in)
				Expect(err).NotTo(HaveOccurred())
				return []fake.Reply{fake.Lines(string(text))}
			})
			r := fake.New().Fallback(below)
			r.On("git").Reply(fake.Exit(1))
			res, err := run(ctx, r, "git")
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveOutcome(runner.Exited(1)))

			cmd := runner.Command("tool")
			cmd.Stdin = runner.StdinStream(strings.NewReader("hello"))
			Expect(runner.Output(ctx, r, cmd)).To(Equal("hello"))
			Expect(r.Misses()).To(BeEmpty())
			Expect(r.Calls()).To(HaveLen(2))
			in, err := r.Calls()[1].Stdin.Open()
			Expect(err).NotTo(HaveOccurred())
			Expect(io.ReadAll(in)).To(BeEquivalentTo("hello"))

			_, err = runner.Run(ctx, r, cmd)
			Expect(err).To(MatchError(runner.ErrInvalid), "a reader feeds one start")
			_, err = run(ctx, r, "other")
			Expect(err).To(MatchError(ContainSubstring("none of 1 rule is for this program")))
			Expect(below.Misses()).To(ConsistOf(err))
		})
	})

	Describe("Spy", func() {
		It("passes on, keeps account, and prints no argument", func(ctx SpecContext) {
			spy := fake.Spy(fake.DryRun(nil))
			_, err := run(ctx, spy, "git", "push", "canary")
			Expect(err).NotTo(HaveOccurred())
			Expect(spy.Calls()).To(HaveLen(1))
			Expect(spy.Calls()[0].Argv()).To(Equal([]string{"git", "push", "canary"}))
			Expect(fmt.Sprint(spy.Calls(), spy)).To(And(ContainSubstring("git"), Not(ContainSubstring("canary"))))
		})
	})

	Describe("DryRun", func() {
		It("starts nothing, tells what it was to start, and drains input", func(ctx SpecContext) {
			var told []string
			r := fake.DryRun(func(cmd *runner.Cmd) { told = append(told, cmd.CommandLine()) })
			res, err := run(ctx, r, "/no/such/program", "-x")
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveSucceeded())
			Expect(told).To(Equal([]string{"/no/such/program -x"}))

			cmd := runner.Command("tool")
			reader := strings.NewReader(strings.Repeat("x", 1<<16))
			cmd.Stdin = runner.StdinStream(reader)
			_, err = runner.Run(ctx, r, cmd)
			Expect(err).NotTo(HaveOccurred())
			Eventually(func() int {
				in, _ := r.Calls()[1].Stdin.Open()
				defer in.Close()
				read, _ := io.ReadAll(in)
				return len(read)
			}).Should(Equal(1 << 16))
			_, err = runner.Run(ctx, r, runner.Command(""))
			Expect(err).To(MatchError(runner.ErrInvalid))
		})
	})

	Describe("Deny", func() {
		It("refuses every call, with an error of its own kind, and fails the test in the end", func(ctx SpecContext) {
			tb := &suite.TB{}
			_, err := run(ctx, fake.Deny(tb), "git", "canary")
			Expect(err).To(MatchError(fake.ErrDenied))
			Expect(err).NotTo(MatchError(exec.ErrNotFound))
			Expect(err).NotTo(MatchError(fake.ErrUnscripted))
			Expect(tb.Fatal).To(BeEmpty())
			Expect(tb.End().Fatal).To(ConsistOf(`fake: start of "git" with 1 argument denied: this test is to start nothing`))
		})

		It("passes a test that starts nothing", func() {
			tb := &suite.TB{}
			fake.Deny(tb)
			Expect(tb.End().Fatal).To(BeEmpty())
		})
	})

	Describe("New, with the test that it is for", func() {
		use := func(ctx context.Context, tb *suite.TB) *suite.TB {
			r := fake.New(tb)
			r.On("git").Reply(fake.Lines("x"))
			r.On("git", "log").Reply(fake.Lines("y"))
			_, _ = run(ctx, r, "git", "log", "canary")
			_, _ = run(ctx, r, "svn", "canary")
			return tb.End()
		}

		It("fails it with calls without an answer and unused replies, and warns of shadowed rules", func(ctx SpecContext) {
			tb := use(ctx, &suite.TB{})
			Expect(tb.Fatal).To(ConsistOf(`fake: unscripted call of "svn" with 1 argument: none of 2 rules is for this program` + "\n" +
				`fake: unused: rule 2: "git" with 1 argument: 0 of its 1 replies played; rule 1 answers all of its calls`))
			Expect(tb.Lines).To(ConsistOf(`fake: warning: rule 2: "git" with 1 argument is shadowed by rule 1: "git" with 0 arguments: it can never answer`))
		})

		It("logs the calls without an answer of a test that has failed already", func(ctx SpecContext) {
			tb := use(ctx, &suite.TB{Broken: true})
			Expect(tb.Fatal).To(BeEmpty())
			Expect(tb.Lines).To(HaveLen(2))
			Expect(tb.Lines[1]).To(ContainSubstring(`unscripted call of "svn"`))
		})

		It("passes a test that used everything", func(ctx SpecContext) {
			tb := &suite.TB{}
			r := fake.New(tb)
			r.On("git", "log").When(func(*runner.Cmd) bool { return true })
			r.On("git")
			_, _ = run(ctx, r, "git", "log")
			_, _ = run(ctx, r, "git")
			Expect(tb.End().Fatal).To(BeEmpty())
			Expect(tb.Lines).To(BeEmpty(), "a rule with a condition shadows nothing")
		})
	})

	It("reply idle and overflowed, and with lines in time", func(ctx SpecContext) {
		r := fake.New()
		r.On("idle").Reply(fake.Idle())
		r.On("loud").Reply(fake.Overflow())
		r.On("slow").Reply(fake.LinesEvery(time.Millisecond, "a", "b"))
		for name, want := range map[string]runner.Outcome{"idle": runner.IdleTimedOut, "loud": runner.Overflowed, "slow": runner.Exited(0)} {
			res, err := run(ctx, r, name)
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveOutcome(want))
			if name == "slow" {
				Expect(res).To(HaveStdout("a\nb\n"))
				Expect(res).To(HaveDuration(BeNumerically(">=", 2*time.Millisecond)))
			}
		}
	})
})
