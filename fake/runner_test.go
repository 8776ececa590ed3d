package fake_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/format"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("Runner", func() {
	var r *fake.Runner
	BeforeEach(func() { r = fake.New() })

	run := func(argv ...string) (*runner.Result, error) {
		return runner.Run(context.Background(), r, runner.Command(argv[0], argv[1:]...))
	}
	stdout := func(argv ...string) string {
		GinkgoHelper()
		res, err := run(argv...)
		Expect(err).NotTo(HaveOccurred())
		return string(res.Stdout())
	}
	miss := func(argv ...string) *fake.UnscriptedError {
		GinkgoHelper()
		_, err := run(argv...)
		var unscripted *fake.UnscriptedError
		Expect(errors.As(err, &unscripted)).To(BeTrue(), "%v", err)
		return unscripted
	}

	Describe("rules", func() {
		It("match by the program's base name and whole leading arguments", func() {
			r.On("git", "log", "-n").Reply(fake.Stdout("three"))
			r.On("/usr/bin/git", "log").Reply(fake.Stdout("two"))
			r.On("git").Reply(fake.Stdout("one"))
			Expect(stdout("git", "log", "-n", "3")).To(Equal("three"))
			Expect(stdout("./bin/git", "log", "-n3")).To(Equal("two"))
			Expect(stdout("git")).To(Equal("one"))
			Expect(stdout("git", "logs")).To(Equal("one"))
		})

		It("are tried in order, and the first that matches answers", func() {
			r.On("git").Reply(fake.Stdout("first"))
			r.On("git", "log").Reply(fake.Stdout("second"))
			Expect(stdout("git", "log")).To(Equal("first"))
		})

		It("with an empty prefix are for every call", func() {
			r.On().Reply(fake.Exit(9))
			res, err := run("anything", "at", "all")
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveOutcome(runner.Exited(9)))
		})

		It("exit with code 0 by default", func() {
			r.On("true")
			res, err := run("true")
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveOutcome(runner.Exited(0)))
		})

		It("answer with each reply in turn, and with the last one from then on", func() {
			r.On("next").Reply(fake.Stdout("1")).Reply(fake.Stdout("2"))
			Expect([]string{stdout("next"), stdout("next"), stdout("next")}).To(Equal([]string{"1", "2", "2"}))
		})

		It("can ask for more by a condition, and make the answer for the call", func() {
			r.On("sh").
				When(func(cmd *runner.Cmd) bool { return cmd.Dir == "/here" }).
				ReplyFunc(func(cmd *runner.Cmd) []fake.Reply {
					return []fake.Reply{fake.Lines(cmd.Dir, fmt.Sprint(len(cmd.Argv())))}
				})
			cmd := runner.Command("sh", "-c", "x")
			cmd.Dir = "/here"
			Expect(runner.Output(context.Background(), r, cmd)).To(Equal("/here\n3"))
			cmd.Dir = "/there"
			_, err := runner.Run(context.Background(), r, cmd)
			Expect(err).To(MatchError(fake.ErrUnscripted))
			Expect(err).To(MatchError(ContainSubstring("rule 1 of 1 has the same prefix, and its condition said no")))
		})

		It("let a condition and an answer use the runner itself: they run under no lock", func(ctx SpecContext) {
			r.On("outer").
				When(func(*runner.Cmd) bool { return len(r.Calls()) == 1 }).
				ReplyFunc(func(*runner.Cmd) []fake.Reply { return []fake.Reply{fake.Stdout(stdout("inner"))} })
			r.On("inner").Reply(fake.Stdout("nested"))
			Expect(stdout("outer")).To(Equal("nested"))
		}, NodeTimeout(time.Minute))

		It("give copies to conditions and answers, so that they cannot change the call", func() {
			r.On("tool").When(func(cmd *runner.Cmd) bool { cmd.Dir = "/spoilt"; return true })
			_, err := run("tool")
			Expect(err).NotTo(HaveOccurred())
			Expect(r.Calls()[0].Dir).To(BeEmpty())
		})
	})

	Describe("replies", func() {
		It("add up output, and end as the last end says", func() {
			r.On("x").Reply(fake.Exit(1), fake.Lines("a", "b"), fake.Lines(), fake.Stdout([]byte{0xff, 0}), fake.Stderr("oops"), fake.Signal(syscall.SIGTERM))
			res, err := run("x")
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveStdout("a\nb\n\xff\x00"))
			Expect(res).To(HaveStderr("oops"))
			Expect(res).To(HaveOutcome(runner.Signalled(syscall.SIGTERM)))
		})

		It("time out without a clock", func() {
			r.On("x").Reply(fake.Stdout("partial"), fake.Timeout())
			res, err := run("x")
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveOutcome(runner.TimedOut))
			Expect(res).To(HaveStdout("partial"))
		})

		It("refuse the start as the real runner would", func() {
			r.On("gone").Reply(fake.StartError(runner.StartNotFound))
			_, err := run("/opt/gone", "secret-argument")
			Expect(err).To(MatchError(runner.ErrNotFound))
			Expect(err).To(MatchError(&runner.StartError{Program: "gone", Kind: runner.StartNotFound}))
		})

		It("refuse the start with any other error, as it is", func() {
			refusal := errors.New("no")
			r.On("x").Reply(fake.Refuse(refusal))
			_, err := run("x")
			Expect(err).To(BeIdenticalTo(refusal))
		})

		It("take a whole script", func() {
			r.On("x").Reply(fake.Stdout("dropped"), fake.Scripted(fake.Script{PipesHeld: true}), fake.Stdout("added"))
			res, err := run("x")
			Expect(err).NotTo(HaveOccurred())
			Expect(res.PipesHeld()).To(BeTrue())
			Expect(res).To(HaveStdout("added"))
			// A second call finds the script as it was.
			Expect(stdout("x")).To(Equal("added"))
		})
	})

	Describe("an unscripted call", func() {
		It("is an error of its own kind, and never a missing program", func() {
			_, err := run("git")
			Expect(err).To(MatchError(fake.ErrUnscripted))
			Expect(errors.Is(err, runner.ErrNotFound)).To(BeFalse())
			Expect(errors.Is(err, exec.ErrNotFound)).To(BeFalse())
		})

		DescribeTable("names the nearest rule and what differs",
			func(argv []string, text string) {
				r.On("git", "commit", "-m", "first")
				r.On("git", "commit", "--amend")
				r.On("ls", "-l")
				Expect(miss(argv...).Error()).To(Equal(text))
			},
			Entry("another program", []string{"/bin/cat", "x"},
				`fake: unscripted call of "cat" with 1 argument: none of 3 rules is for this program`),
			Entry("another argument", []string{"git", "commit", "-m", "second"},
				`fake: unscripted call of "git" with 3 arguments: rule 1 of 3 is nearest, and differs in argument 3`),
			Entry("the first of two that are as near", []string{"git", "commit", "--fixup"},
				`fake: unscripted call of "git" with 2 arguments: rule 1 of 3 is nearest, and differs in argument 2`),
			Entry("too few arguments", []string{"ls"},
				`fake: unscripted call of "ls" with 0 arguments: rule 3 of 3 is nearest, and wants an argument 1`),
		)

		It("says so when there are no rules at all", func() {
			Expect(miss("ls").Error()).To(Equal(`fake: unscripted call of "ls" with 0 arguments: the runner has no rules`))
		})

		It("is remembered, whoever swallows it", func() {
			r.On("ls")
			_, _ = run("git")
			_, _ = run("ls")
			Expect(r.Misses()).To(ConsistOf(MatchError(fake.ErrUnscripted)))
			Expect(r.Calls()).To(HaveLen(2))
		})
	})

	It("tells which rules have replies left", func() {
		r.On("git", "status")
		r.On("ls").Reply().Reply()
		r.On()
		Expect(r.Unplayed()).To(Equal([]string{
			`rule 1: "git" with 1 argument: 0 of its 1 replies played`,
			`rule 2: "ls" with 0 arguments: 0 of its 2 replies played`,
			`rule 3: any program: 0 of its 1 replies played`,
		}))
		stdout("git", "status")
		stdout("ls")
		stdout("other")
		Expect(r.Unplayed()).To(Equal([]string{`rule 2: "ls" with 0 arguments: 1 of its 2 replies played`}))
	})

	Describe("Calls", func() {
		It("are copies of the commands, in order, refused ones included", func() {
			r.On("a")
			cmd := runner.Command("a", "x")
			cmd.Env = cmd.Env.Set("KEY", "value")
			_, err := runner.Run(context.Background(), r, cmd)
			Expect(err).NotTo(HaveOccurred())
			cmd.Dir = "/changed/afterwards"
			_, _ = run("b")

			calls := r.Calls()
			Expect(calls).To(HaveLen(2))
			Expect(calls[0].Argv()).To(Equal([]string{"a", "x"}))
			Expect(calls[0].Dir).To(BeEmpty())
			Expect(calls[0].Env.Names()).To(Equal([]string{"KEY"}))
			Expect(calls[1].Argv()).To(Equal([]string{"b"}))
			calls[0].Dir = "/elsewhere"
			Expect(r.Calls()[0].Dir).To(BeEmpty())
		})

		It("hold what was read of a reader, which feeds one start", func() {
			r.On("cat")
			pr, pw := io.Pipe()
			cmd := runner.Command("cat")
			cmd.Stdin = runner.StdinStream(pr)
			_, err := runner.Run(context.Background(), r, cmd)
			Expect(err).NotTo(HaveOccurred())
			_, err = io.WriteString(pw, "piped after the run was over")
			Expect(err).NotTo(HaveOccurred())
			Expect(pw.Close()).To(Succeed())
			Eventually(func() string {
				in, err := r.Calls()[0].Stdin.Open()
				Expect(err).NotTo(HaveOccurred())
				all, _ := io.ReadAll(in)
				return string(all)
			}).Should(Equal("piped after the run was over"))
			_, err = runner.Run(context.Background(), r, cmd)
			Expect(err).To(MatchError(runner.ErrInvalid))
		})
	})

	It("asks nothing of the host: no folder, no input file, no guarantee, no cap", func() {
		r.On("tool")
		cmd := runner.Command("tool")
		cmd.Dir, cmd.Stdin = "/no/such/folder", runner.StdinFrom("/no/such/file")
		cmd.Require, cmd.Limits = ^contain.Guarantee(0), contain.Limits{Memory: 1, Processes: 1, CPU: 0.001}
		Expect(runner.Output(context.Background(), r, cmd)).To(BeEmpty())
	})

	It("is safe for concurrent use", func() {
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				defer GinkgoRecover()
				name := fmt.Sprintf("tool-%d", i)
				r.On(name).Reply(fake.Stdout(name)).When(func(*runner.Cmd) bool { return true })
				for range 50 {
					Expect(stdout(name)).To(Equal(name))
					_, _, _, _ = r.Calls(), r.Misses(), r.Unplayed(), r.String()
				}
			})
		}
		all.Wait()
		Expect(r.Calls()).To(HaveLen(400))
		Expect(r.Misses()).To(BeEmpty())
	})

	It("shows no argument, directory, input or output to any printer", func() {
		const canary = "canary-4f1a"
		rule := r.On("git", canary).Reply(fake.Stdout(canary))
		cmd := runner.Command("git", canary)
		cmd.Dir = canary
		cmd.Env = cmd.Env.Set("KEY", canary)
		cmd.Stdin = runner.StdinString(canary)
		_, err := runner.Run(context.Background(), r, cmd)
		Expect(err).NotTo(HaveOccurred())
		_, miss := runner.Run(context.Background(), r, runner.Command("ls", canary))

		type holder struct{ unexported any }
		chunk := fake.Chunk{Data: []byte(canary)}
		s := fake.Script{Chunks: []fake.Chunk{chunk}}
		for _, v := range []any{r, rule, miss, r.Misses(), r.Unplayed(), holder{r}, holder{rule}, holder{miss}, s, &s, chunk, s.Chunks} {
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
				Expect(strings.Contains(fmt.Sprintf(verb, v), canary)).To(BeFalse(), "%s of %T", verb, v)
			}
			Expect(strings.Contains(format.Object(v, 0), canary)).To(BeFalse(), "gomega's formatter on %T", v)
			shown, err := json.Marshal(v)
			Expect(err).NotTo(HaveOccurred())
			Expect(strings.Contains(string(shown), canary)).To(BeFalse(), "json of %T", v)
			Expect(strings.Contains(slog.AnyValue(v).Resolve().String(), canary)).To(BeFalse(), "slog of %T", v)
		}
	})
})
