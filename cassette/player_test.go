package cassette_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

const twoStatuses = `cassette 1
run
  argv "git"
  argv "status"
  out "dirty\n"
  exit 0
run
  argv "git"
  argv "status"
  out "clean\n"
  exit 0
run
  argv "git"
  argv "push"
  in "pack"
  err "rejected\n"
  exit 1
`

var _ = Describe("A player", func() {
	status := func() *runner.Cmd { return runner.Command("git", "status") }

	It("answers each key in the order of the file, and each run once", func(ctx context.Context) {
		player := playText(twoStatuses)
		Expect(player.Unplayed()).To(Equal([]string{
			`run 1 (line 2): "git" with 1 argument`, `run 2 (line 7): "git" with 1 argument`, `run 3 (line 12): "git" with 1 argument`,
		}))
		push := runner.Command("git", "push")
		push.Stdin = runner.StdinString("pack")
		res, err := runner.Run(ctx, player, push)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveExited(1))
		Expect(res).To(HaveStderr("rejected\n"))
		Expect(res).To(HaveBeenReplayed())
		Expect(runner.Output(ctx, player, status())).To(Equal("dirty"))
		Expect(player.Check()).To(MatchError(ContainSubstring("1 run was not played: run 2 (line 7)")))
		Expect(runner.Output(ctx, player, status())).To(Equal("clean"))
		Expect(player.Unplayed()).To(BeEmpty())
		Expect(player.Check()).To(Succeed())

		By("and a key that is spent is a miss")
		_, err = runner.Output(ctx, player, status())
		Expect(missOf(err).Class).To(Equal(cassette.MissExhausted))
		Expect(player.Check()).To(MatchError(cassette.ErrMiss))
	})

	DescribeTable("matches by program name, arguments, input and directory",
		func(ctx context.Context, change func(*runner.Cmd) *runner.Cmd, match bool) {
			player := playText("cassette 1\nrun\n  argv \"C:\\\\Program Files\\\\tool.EXE\"\n  argv \"a b\"\n  argv \"\"\n  dir \"/w\"\n  env A\n  in \"x\"\n  exit 0\n")
			cmd := runner.Command("/opt/bin/tool", "a b", "")
			cmd.Dir = "/w"
			cmd.Stdin = runner.StdinString("x")
			_, err := runner.Run(ctx, player, change(cmd))
			if match {
				Expect(err).NotTo(HaveOccurred())
				return
			}
			Expect(err).To(MatchError(cassette.ErrMiss))
		},
		Entry("the same", func(c *runner.Cmd) *runner.Cmd { return c }, true),
		Entry("another environment", func(c *runner.Cmd) *runner.Cmd { c.Env = c.Env.Set("B", "1"); return c }, true),
		Entry("another deadline and policy", func(c *runner.Cmd) *runner.Cmd {
			c.Timeout, c.Output = time.Hour, runner.Both(runner.Stream{Policy: runner.Tail})
			return c
		}, true),
		Entry("input from a reader", func(c *runner.Cmd) *runner.Cmd {
			c.Stdin = runner.StdinStream(strings.NewReader("x"))
			return c
		}, true),
		Entry("other input", func(c *runner.Cmd) *runner.Cmd { c.Stdin = runner.StdinString("y"); return c }, false),
		Entry("no input", func(c *runner.Cmd) *runner.Cmd { c.Stdin = runner.Stdin{}; return c }, false),
		Entry("its caller's input", func(c *runner.Cmd) *runner.Cmd { c.Stdin = runner.InheritStdin(); return c }, false),
		Entry("another directory", func(c *runner.Cmd) *runner.Cmd { c.Dir = "/v"; return c }, false),
		Entry("no directory", func(c *runner.Cmd) *runner.Cmd { c.Dir = ""; return c }, false),
		Entry("arguments split elsewhere", func(c *runner.Cmd) *runner.Cmd {
			d := runner.Command("tool", "a", "b", "")
			d.Dir, d.Stdin = c.Dir, c.Stdin
			return d
		}, false),
		Entry("another program", func(c *runner.Cmd) *runner.Cmd {
			d := runner.Command("tool2", "a b", "")
			d.Dir, d.Stdin = c.Dir, c.Stdin
			return d
		}, false),
	)

	It("plays inherited input as such", func(ctx context.Context) {
		player := playText("cassette 1\nrun\n  argv \"tool\"\n  stdin inherit\n  exit 0\n")
		cmd := runner.Command("tool")
		_, err := runner.Run(ctx, player, cmd)
		Expect(missOf(err).Cause).To(ContainSubstring("standard input of its caller"))
		cmd.Stdin = runner.InheritStdin()
		_, err = runner.Run(ctx, player, cmd)
		Expect(err).NotTo(HaveOccurred())
	})

	It("rebuilds start errors by kind", func(ctx context.Context) {
		player := playText("cassette 1\nrun\n  argv \"/x/gone\"\n  start not-found ENOENT\n")
		_, err := runner.Run(ctx, player, runner.Command("gone"))
		var start *runner.StartError
		Expect(errors.As(err, &start)).To(BeTrue())
		Expect(start.Program).To(Equal("gone"))
		Expect(err).To(MatchError(runner.ErrNotFound))
		Expect(err).NotTo(MatchError(cassette.ErrMiss))
	})

	It("obeys a context that has ended, and claims nothing for it", func(ctx context.Context) {
		player := playText(twoStatuses)
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_, err := player.Start(ended, status())
		Expect(err).To(MatchError(runner.ErrCancelled))
		broken := status()
		broken.Timeout = -1
		_, err = player.Start(ctx, broken)
		Expect(err).To(MatchError(runner.ErrInvalid))
		Expect(player.Unplayed()).To(HaveLen(3))
		Expect(player.Misses()).To(BeEmpty())
	})

	It("gives up on input that never ends when its context does", func(ctx context.Context) {
		r, w := io.Pipe()
		defer w.Close()
		ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		cmd := status()
		cmd.Stdin = runner.StdinStream(r)
		_, err := playText(twoStatuses).Start(ctx, cmd)
		Expect(err).To(MatchError(runner.ErrCancelled))
	})

	It("puts its output through the command's own policies and tees", func(ctx context.Context) {
		player := playText("cassette 1\nrun\n  argv \"tool\"\n  out \"0123456789\"\n  exit 0\n")
		var tee strings.Builder
		cmd := runner.Command("tool")
		cmd.Output.Stdout = runner.Stream{MaxBytes: 4, Tee: &tee}
		res, err := runner.Run(ctx, player, cmd)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveOverflowed())
		Expect(res).To(HaveStdout("0123"))
		Expect(tee.String()).To(Equal("0123456789"))
	})

	It("takes nothing after it is closed", func(ctx context.Context) {
		player := playText(twoStatuses)
		Expect(player.Close()).To(Succeed())
		Expect(player.Close()).To(Succeed())
		_, err := player.Start(ctx, status())
		Expect(err).To(MatchError(cassette.ErrClosed))
		Expect(player.Unplayed()).To(HaveLen(3))
	})
})

var _ = Describe("A miss", func() {
	const secret = "s3cret-argument"

	It("is no other error, and is kept when the code under test swallows it", func(ctx context.Context) {
		player := playText(twoStatuses)
		_, err := player.Start(ctx, runner.Command("git", "statsu"))
		Expect(err).To(MatchError(cassette.ErrMiss))
		for _, other := range []error{exec.ErrNotFound, fs.ErrNotExist, runner.ErrNotFound, runner.ErrUnsuccessful, cassette.ErrCorrupt} {
			Expect(errors.Is(err, other)).To(BeFalse())
		}
		Expect(player.Misses()).To(HaveExactElements(BeIdenticalTo(err)))
	})

	It("says by class, index and length what is different, and shows nothing", func(ctx context.Context) {
		player := playText(twoStatuses)
		_, _ = runner.Run(ctx, player, runner.Command("git", "status"))
		_, err := player.Start(ctx, runner.Command("git", "status", secret))
		miss := missOf(err)
		Expect(miss.Class).To(Equal(cassette.MissMismatch))
		Expect(miss.Program).To(Equal("git"))
		Expect(miss.Call).To(Equal(2))
		Expect(miss.Runs).To(Equal(3))
		Expect(miss.Played).To(Equal(1))
		Expect(miss.NextUnplayed).To(Equal(2))
		Expect(miss.Nearest).To(Equal([]cassette.Candidate{
			{Run: 2, Line: 7, Differences: []cassette.Difference{{Field: cassette.FieldArgument, Index: 2, Recorded: -1, Called: len(secret)}}},
			{Run: 1, Line: 2, Played: 1, Differences: []cassette.Difference{{Field: cassette.FieldArgument, Index: 2, Recorded: -1, Called: len(secret)}}},
			{Run: 3, Line: 12, Differences: []cassette.Difference{
				{Field: cassette.FieldArgument, Index: 1, Recorded: 4, Called: 6},
				{Field: cassette.FieldArgument, Index: 2, Recorded: -1, Called: len(secret)},
				{Field: cassette.FieldStdin, Recorded: 4, Called: 0},
			}},
		}))
		Expect(err).To(MatchError(`cassette: miss at call 2, of "git": mismatch; nearest is run 2 (unplayed): argument 2 of the call (15 bytes) ` +
			`is not recorded (mode replay, by NewPlayer; 3 runs, 1 played); record anew with: ` + cassette.DefaultHint))
	})

	It("explains itself to a person, when asked to", func(ctx context.Context) {
		player := playText(twoStatuses, cassette.WithHint("make record"))
		cmd := runner.Command("git", "push", "it's \x1b[2J")
		cmd.Dir = "/repo"
		cmd.Stdin = runner.StdinString("pick")
		_, err := player.Start(ctx, cmd)
		Expect(missOf(err).Explain()).To(Equal(`cassette: no recorded run answers this call (mismatch)
  called    git push "it's \x1b[2J"
            in directory "/repo"
            reading 4 bytes: "pick"
  cassette  (in memory) (mode replay, by NewPlayer), 3 runs, 0 played, next unplayed is run 1
  nearest   run 3, line 12 (unplayed)
            git push
            argument 2 of the call (9 bytes) is not recorded:
              recorded (none)
              called   "it's \x1b[2J"
            directory of the call (5 bytes) is not recorded:
              recorded (none)
              called   "/repo"
            input differs from line 1 on:
              recorded "pack"
              called   "pick"
  or        run 1, line 2 (unplayed)
            git status
            argument 1 differs (6 bytes recorded, 4 called):
              recorded "status"
              called   "push"
            argument 2 of the call (9 bytes) is not recorded:
              recorded (none)
              called   "it's \x1b[2J"
            directory of the call (5 bytes) is not recorded:
              recorded (none)
              called   "/repo"
            input differs from line 1 on:
              recorded ""
              called   "pick"
  or        run 2, line 7 (unplayed)
            git status
            argument 1 differs (6 bytes recorded, 4 called):
              recorded "status"
              called   "push"
            argument 2 of the call (9 bytes) is not recorded:
              recorded (none)
              called   "it's \x1b[2J"
            directory of the call (5 bytes) is not recorded:
              recorded (none)
              called   "/repo"
            input differs from line 1 on:
              recorded ""
              called   "pick"
  anew      make record
`))
	})

	DescribeTable("has a class and a likely cause",
		func(ctx context.Context, text string, cmd *runner.Cmd, class cassette.MissClass, cause string) {
			_, err := playText("cassette 1\n"+text).Start(ctx, cmd)
			miss := missOf(err)
			Expect(miss.Class).To(Equal(class))
			Expect(miss.Cause).To(Equal(cause))
			Expect(err).To(MatchError(ContainSubstring(cause)))
			Expect(miss.Explain()).To(ContainSubstring(cause))
		},
		Entry("an empty cassette", "", runner.Command("tool"), cassette.MissEmpty, ""),
		Entry("another program", "run\n  argv \"other\"\n  exit 0\n", runner.Command("tool"), cassette.MissNoSuchProgram, ""),
		Entry("another order", "run\n  argv \"tool\"\n  argv \"a\"\n  argv \"b\"\n  exit 0\n", runner.Command("tool", "b", "a"),
			cassette.MissMismatch, "the arguments are the same in another order"),
		Entry("other input", "run\n  argv \"tool\"\n  in \"a\"\n  exit 0\n", runner.Command("tool"),
			cassette.MissMismatch, "only the input differs"),
		Entry("a temporary directory", "run\n  argv \"tool\"\n  argv \"/tmp/a1/x\"\n  exit 0\n", runner.Command("tool", "/tmp/b2/x"),
			cassette.MissMismatch, "it looks like a temporary directory; register it with WithToken"),
	)
})

// TestPace is a plain test, since a bubble wants a *testing.T of its own. Time in it is fake.
func TestPace(t *testing.T) {
	const text = "cassette 1\nrun\n  argv \"tool\"\n  out \"one\\n\"\n  out \"two\\n\"\n  err \"e\\n\"\n  exit 3\n  tape 1000o4 500e2 2500o4 6000x\n"
	took := func(t *testing.T, pace cassette.Pace, configure func(*runner.Cmd)) (time.Duration, *runner.Result) {
		t.Helper()
		file, err := cassette.Reseal([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		tape, err := cassette.Parse(file)
		if err != nil {
			t.Fatal(err)
		}
		player, err := cassette.NewPlayer(tape, cassette.WithPace(pace))
		if err != nil {
			t.Fatal(err)
		}
		cmd := runner.Command("tool")
		configure(cmd)
		start := time.Now()
		res, err := runner.Run(t.Context(), player, cmd)
		if err != nil {
			t.Fatal(err)
		}
		return time.Since(start), res
	}
	nothing := func(*runner.Cmd) {}
	for _, c := range []struct {
		pace cassette.Pace
		want time.Duration
	}{{cassette.Instant, 0}, {cassette.RealTime, 10 * time.Second}, {cassette.Scaled(2), 5 * time.Second}, {cassette.Scaled(0.5), 20 * time.Second}} {
		t.Run(c.pace.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, res := took(t, c.pace, nothing)
				if d != c.want {
					t.Errorf("took %v, want %v", d, c.want)
				}
				if string(res.Stdout()) != "one\ntwo\n" || string(res.Stderr()) != "e\n" || res.Outcome() != runner.Exited(3) {
					t.Errorf("another run: %v", res)
				}
			})
		})
	}
	t.Run("chunks come when they came", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var at []time.Duration
			took(t, cassette.RealTime, func(cmd *runner.Cmd) {
				cmd.Output.Stdout.Tee = writer(func([]byte) { at = append(at, time.Since(start)) })
			})
			if len(at) != 2 || at[0] != time.Second || at[1] != 4*time.Second {
				t.Errorf("came at %v", at)
			}
		})
	})
	t.Run("the command's timeout is obeyed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, res := took(t, cassette.RealTime, func(cmd *runner.Cmd) { cmd.Timeout = 3 * time.Second })
			if res.Outcome() != runner.TimedOut || string(res.Stdout()) != "one\n" || d != 3*time.Second {
				t.Errorf("%v after %v", res, d)
			}
		})
	})
}

var _ = Describe("A pace", func() {
	It("is written as it is read", func() {
		for text, want := range map[string]cassette.Pace{
			"instant": cassette.Instant, "real": cassette.RealTime, "2x": cassette.Scaled(2), "0.25x": cassette.Scaled(0.25),
		} {
			pace, err := cassette.ParsePace(text)
			Expect(err).NotTo(HaveOccurred())
			Expect(pace).To(Equal(want))
			Expect(pace.String()).To(Equal(text))
		}
		Expect(cassette.ParsePace("1x")).To(Equal(cassette.RealTime))
		for _, text := range []string{"", "fast", "x", "0x", "-1x", "NaNx", "Infx", "2"} {
			_, err := cassette.ParsePace(text)
			Expect(err).To(HaveOccurred(), text)
		}
		Expect(func() { cassette.Scaled(0) }).To(Panic())
	})
})
