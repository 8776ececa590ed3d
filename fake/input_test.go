package fake_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
	"github.com/boombox-go/boombox/runner/runnertest"
)

var _ = Describe("interactive input of a scripted run", func() {
	talk := func() *runner.Cmd {
		cmd := runner.Command("talk")
		cmd.Stdin = runner.StdinPipe()
		return cmd
	}
	scripted := func(parts ...fake.Reply) *fake.Runner {
		r := fake.New()
		r.On("talk").Reply(parts...)
		return r
	}
	// tell starts r's command, writes the pieces and closes.
	tell := func(ctx context.Context, r runner.Runner, pieces ...string) (*runner.Result, error) {
		GinkgoHelper()
		p, err := r.Start(ctx, talk())
		Expect(err).NotTo(HaveOccurred())
		for _, piece := range pieces {
			_, err := io.WriteString(p.Stdin(), piece)
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(p.Stdin().Close()).To(Succeed())
		return p.Wait(ctx)
	}

	It("is what the script waits for, however it is cut", func(ctx SpecContext) {
		for _, pieces := range [][]string{{"one\ntwo\n"}, {"one\n", "two\n"}, {"o", "n", "e\ntw", "o\n"}} {
			r := scripted(fake.Reads("one\n"), fake.Lines("1"), fake.Reads("two\n"), fake.Lines("2"), fake.ReadsEOF(), fake.Exit(3))
			res, err := tell(ctx, r, pieces...)
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveOutcome(runner.Exited(3)))
			Expect(res).To(HaveStdout("1\n2\n"))
			Expect(r.Misses()).To(BeEmpty())
		}
	})

	DescribeTable("cancels the run, loudly, when it is another",
		func(ctx SpecContext, want fake.InputError, pieces ...string) {
			r := scripted(fake.Reads("sentinel-one\n"), fake.Lines("1"), fake.ReadsEOF())
			res, err := tell(ctx, r, pieces...)
			Expect(err).To(And(MatchError(runner.ErrCancelled), MatchError(fake.ErrInput)))
			Expect(res).To(HaveOutcome(runner.Cancelled))
			wrong, ok := errors.AsType[*fake.InputError](err)
			Expect(ok).To(BeTrue())
			want.Program, want.Want = "talk", 13
			Expect(*wrong).To(Equal(want))
			Expect(err.Error()).NotTo(ContainSubstring("sentinel"))
			Expect(r.Misses()).To(ConsistOf(MatchError(fake.ErrInput)), "whoever swallows it")
		},
		Entry("different", fake.InputError{At: 9}, "sentinel-two\n"),
		Entry("different in the second piece", fake.InputError{At: 10}, "sentinel-o", "x"),
		Entry("too much", fake.InputError{At: 13}, "sentinel-one\nmore"),
		Entry("too little", fake.InputError{At: 8, Closed: true}, "sentinel"),
	)

	It("may be anything where the script reads nothing", func(ctx SpecContext) {
		r := scripted(fake.Lines("done"))
		for range 20 {
			res, err := tell(ctx, r, "what", "ever")
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveOutcome(runner.Exited(0)))
		}
		for _, call := range r.Calls() {
			in, err := call.Stdin.Open()
			Expect(err).NotTo(HaveOccurred())
			Expect(io.ReadAll(in)).To(Equal([]byte("whatever")), "what came after the end of the run, too")
		}
	})

	It("is told by Calls, of what is passed on too", func(ctx SpecContext) {
		spy := fake.Spy(scripted(fake.Reads("abc"), fake.ReadsEOF()))
		_, err := tell(ctx, spy, "a", "bc")
		Expect(err).NotTo(HaveOccurred())
		in, err := spy.Calls()[0].Stdin.Open()
		Expect(err).NotTo(HaveOccurred())
		Expect(io.ReadAll(in)).To(Equal([]byte("abc")))
	})

	It("is shown by no printer", func(ctx SpecContext) {
		p, err := scripted(fake.Reads("sentinel-in"), fake.Stdout("sentinel-out")).Start(ctx, talk())
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(p.Close)
		_, err = io.WriteString(p.Stdin(), "sentinel-i")
		Expect(err).NotTo(HaveOccurred())
		Expect(runnertest.Leaks(p, "sentinel")).To(BeEmpty())
		Expect(runnertest.Leaks(p.Stdin(), "sentinel")).To(BeEmpty())
	})

	It("names the error of whoever made the script", func(ctx SpecContext) {
		other := errors.New("another miss")
		cmd := talk()
		p, err := fake.Play(ctx, cmd, fake.Script{
			Chunks: []fake.Chunk{{Reads: []byte("a")}}, Mismatch: func(*fake.InputError) error { return other },
		})
		Expect(err).NotTo(HaveOccurred())
		_, err = p.Stdin().Write([]byte("b"))
		Expect(err).NotTo(HaveOccurred())
		_, err = p.Wait(ctx)
		Expect(err).To(MatchError(other))
	})

	It("does not hold up what has all its input from the start", func(ctx SpecContext) {
		cmd := runner.Command("talk")
		cmd.Stdin = runner.StdinString("something else")
		res, err := runner.Run(ctx, scripted(fake.Reads("abc"), fake.Lines("out"), fake.ReadsEOF()), cmd)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveStdout("out\n"))
	})

	It("is ended by the command's own timeout when it never comes", func(ctx SpecContext) {
		cmd := talk()
		cmd.Timeout = 50 * time.Millisecond
		p, err := scripted(fake.Reads("never")).Start(ctx, cmd)
		Expect(err).NotTo(HaveOccurred())
		res, err := p.Wait(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveOutcome(runner.TimedOut))
	})

	DescribeTable("is compared line by line where the script says how",
		func(ctx SpecContext, right bool, pieces ...string) {
			fold := func(s []byte) string { return strings.ToLower(string(s)) }
			script := fake.Script{
				Chunks: []fake.Chunk{{Reads: []byte("One\nTwo\n")}, {Reads: []byte("rest")}, {ReadsEOF: true, Data: []byte("all")}},
				Alike:  func(want, got []byte) bool { return fold(want) == fold(got) },
			}
			r := fake.New()
			r.On("talk").Reply(fake.Scripted(script))
			res, err := tell(ctx, r, pieces...)
			if !right {
				Expect(err).To(MatchError(fake.ErrInput))
				return
			}
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveStdout("all"))
		},
		Entry("equal", true, "One\nTwo\nrest"),
		Entry("alike", true, "ONE\ntwo\nREST"),
		Entry("alike and cut", true, "O", "NE\ntW", "o\n", "RE", "ST"),
		Entry("equal and cut", true, "O", "ne", "\nTwo\nre", "st"),
		Entry("other", false, "One\nThree\nrest"),
		Entry("too short", false, "one\ntwo\n"),
		Entry("cut short", false, "one\ntw"),
		Entry("too long", false, "one\ntwo\nrest\nmore\n"),
		Entry("another rest", false, "one\ntwo\nrust"),
	)
})

var _ = Describe("the terminal of a scripted run", func() {
	start := func(ctx context.Context, r runner.Runner, terminal *runner.PTY) *runner.Process {
		GinkgoHelper()
		cmd := runner.Command("top")
		cmd.PTY = terminal
		p, err := r.Start(ctx, cmd)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(p.Close)
		return p
	}
	scripted := func(parts ...fake.Reply) *fake.Runner {
		r := fake.New()
		r.On("top").Reply(parts...)
		return r
	}

	DescribeTable("cancels the run, loudly, when it is given another size",
		func(ctx SpecContext, due runner.PTY, text string, sizes ...runner.PTY) {
			r := scripted(fake.Resized(132, 43), fake.Pending())
			p := start(ctx, r, &runner.PTY{})
			for _, size := range sizes {
				Expect(p.Resize(size.Cols, size.Rows)).To(Succeed())
			}
			_, err := p.Wait(ctx)
			Expect(err).To(And(MatchError(runner.ErrCancelled), MatchError(fake.ErrInput), MatchError(ContainSubstring(text))))
			wrong, ok := errors.AsType[*fake.InputError](err)
			Expect(ok).To(BeTrue())
			Expect(wrong.Due).To(Equal(due))
			Expect(wrong.Resized).To(Equal(sizes[len(sizes)-1]))
			Expect(r.Misses()).To(HaveLen(1))
		},
		Entry("in place of the one that is due", runner.PTY{Cols: 132, Rows: 43}, "resized to 80x25 in place of 132x43", runner.PTY{Cols: 80, Rows: 25}),
		Entry("behind the last one", runner.PTY{}, "resized to 80x24, and the script has no further size", runner.PTY{Cols: 132, Rows: 43}, runner.PTY{Cols: 80, Rows: 24}),
	)

	It("may have any size where the script waits for none", func(ctx SpecContext) {
		r := scripted(fake.After(time.Millisecond), fake.Lines("1"), fake.Pending())
		p := start(ctx, r, &runner.PTY{})
		Expect(p.Resize(1, 1)).To(Succeed())
		Expect(p.Kill()).To(Succeed())
		_, err := p.Wait(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(r.Misses()).To(BeEmpty())
	})

	It("is not waited for by a command that has none, and which cannot be resized", func(ctx SpecContext) {
		p := start(ctx, scripted(fake.After(time.Millisecond), fake.Resized(132, 43), fake.Lines("1"), fake.Pending()), nil)
		Expect(p.WaitForLine(ctx, func(runner.Line) bool { return true })).Error().NotTo(HaveOccurred())
		Expect(p.Resize(132, 43)).To(MatchError(runner.ErrInvalid))
	})
})
