package cassette_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// terminalBody is a cassette of runs with terminals, without its trailer.
const terminalBody = `cassette 2
run
  argv "top"
  pty 80x24
  stdin interactive
  in "q"
  out "24\r\n"
  out "43\r\n"
  out "\x1b[2Jbye"
  exit 0
  tape 2o4 900r132x43 1o4 500i1 3o7 0x
run
  argv "stty"
  argv "size"
  pty 100x30
  out "30 100\r\n"
  exit 0
  tape 1o8 0x
`

// terminal is a command with a terminal of that size.
func terminal(cols, rows uint16, argv ...string) *runner.Cmd {
	cmd := runner.Command(argv[0], argv[1:]...)
	cmd.PTY = &runner.PTY{Cols: cols, Rows: rows}
	return cmd
}

// watched starts cmd, and can be asked to wait until it has said something more.
func watched(ctx context.Context, r runner.Runner, cmd *runner.Cmd) (*runner.Process, func(want string)) {
	GinkgoHelper()
	said := make(chan string, 1<<12)
	cmd.Output.Stdout.Tee = writer(func(p []byte) { said <- string(p) })
	p, err := r.Start(ctx, cmd)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(p.Close)
	heard := ""
	return p, func(want string) {
		GinkgoHelper()
		for !strings.Contains(heard, want) {
			select {
			case text := <-said:
				heard += text
			case <-p.Settled(): // and whoever waits for it sees how
				return
			case <-ctx.Done():
				Fail(fmt.Sprintf("heard %q, want %q", heard, want))
			}
		}
		_, heard, _ = strings.Cut(heard, want)
	}
}

var _ = Describe("A terminal", func() {
	// top is a command that is resized and then told to quit.
	top := func(ctx context.Context, r runner.Runner, sizes ...runner.PTY) (*runner.Result, error) {
		GinkgoHelper()
		cmd := terminal(80, 24, "top")
		cmd.Stdin = runner.StdinPipe()
		p, hear := watched(ctx, r, cmd)
		hear("24\r\n")
		for _, size := range sizes {
			Expect(p.Resize(size.Cols, size.Rows)).To(Succeed())
			if size.Rows == 43 {
				hear("43\r\n")
			}
		}
		_, err := p.Stdin().Write([]byte("q"))
		Expect(err).NotTo(HaveOccurred())
		return p.Wait(ctx)
	}
	large := runner.PTY{Cols: 132, Rows: 43}
	live := func() runner.Runner {
		r := fake.New()
		r.On("top").Reply(fake.Stdout("24\r\n"), fake.Resized(132, 43), fake.Stdout("43\r\n"), fake.Reads("q"), fake.Stdout("\x1b[2J"), fake.Stderr("bye"))
		return r
	}
	// recorded is the path of a cassette of one run of top.
	recorded := func(ctx context.Context) string {
		GinkgoHelper()
		path := tempFile()
		rec, err := cassette.NewRecorder(path, live())
		Expect(err).NotTo(HaveOccurred())
		defer func() { Expect(rec.Close()).To(Succeed()) }()
		_, err = top(ctx, rec, large)
		Expect(err).NotTo(HaveOccurred())
		Expect(rec.Save()).To(Succeed())
		return path
	}
	diverged := func(player *cassette.Player, err error) *cassette.MissError {
		GinkgoHelper()
		Expect(err).To(And(MatchError(runner.ErrCancelled), MatchError(cassette.ErrMiss)))
		Expect(player.Misses()).To(HaveLen(1))
		m := missOf(err)
		Expect(m.Class).To(Equal(cassette.MissInput))
		return m
	}

	It("is written with its size, one stream, and its other sizes on the tape", func(ctx context.Context) {
		path := recorded(ctx)
		Expect(contents(path)).To(HavePrefix("cassette 2\n"))
		Expect(strings.Replace(timeless(runsOf(path)), "o4 0o3", "o7", 1)).To(Equal(`run
  argv "top"
  pty 80x24
  stdin interactive
  in "q"
  out "24\r\n"
  out "43\r\n"
  out "\x1b[2Jbye"
  exit 0
  tape 0o4 0r132x43 0o4 0i1 0o7 0x
`))
		run := loadOne(path)
		size, ok := run.PTY()
		Expect(ok).To(BeTrue())
		Expect(size).To(Equal(runner.PTY{Cols: 80, Rows: 24}))
		Expect(run.Resizes()).To(Equal([]runner.PTY{large}))
	})

	It("takes version 2 of the format where there is one, and no other file does", func(ctx context.Context) {
		path := recorded(ctx)
		recordTo(ctx, path, live(), []cassette.Option{cassette.WithExtend()}, runner.Command("top"))
		Expect(contents(path)).To(HavePrefix("cassette 2\n"))
		recordTo(ctx, path, fakeOf("top", fake.Stdout("x")), nil, runner.Command("top"))
		Expect(contents(path)).To(HavePrefix("cassette 1\n"))
	})

	It("that behaves the same again leaves the file alone, and one that is resized later does not", func(ctx context.Context) {
		path := recorded(ctx)
		edit(path, "  exit 0\n", "  exit 0\n  x-note mine\n")
		before := contents(path)
		again := func(script ...fake.Reply) string {
			rec, err := cassette.NewRecorder(path, fakeOf("top", script...))
			Expect(err).NotTo(HaveOccurred())
			defer func() { Expect(rec.Close()).To(Succeed()) }()
			_, err = top(ctx, rec, large)
			Expect(err).NotTo(HaveOccurred())
			Expect(rec.Save()).To(Succeed())
			return contents(path)
		}
		Expect(again(fake.Stdout("24"), fake.Stdout("\r\n"), fake.Resized(132, 43), fake.Stdout("43\r\n"), fake.Reads("q"), fake.Stdout("\x1b[2Jbye"))).To(Equal(before))
		Expect(again(fake.Stdout("24\r\n43\r\n"), fake.Resized(132, 43), fake.Reads("q"), fake.Stdout("\x1b[2Jbye"))).NotTo(Equal(before))
	})

	It("is played turn by turn, at every pace", func(ctx context.Context) {
		path := recorded(ctx)
		for _, opts := range [][]cassette.Option{
			nil, {cassette.WithPace(cassette.Scaled(1000))}, {cassette.WithChunking(cassette.ChunksOf(1))}, {cassette.WithStepper(cassette.NewStepper())},
		} {
			player := play(path, opts...)
			res, err := top(ctx, player, large)
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveStdout("24\r\n43\r\n\x1b[2Jbye"))
			Expect(res).To(HaveStderr(""))
			Expect(res).To(HaveBeenReplayed())
			Expect(player.Check()).To(Succeed())
		}
	})

	DescribeTable("that is resized in another way is a miss, which the player keeps",
		func(ctx context.Context, cause string, sizes ...runner.PTY) {
			player := play(recorded(ctx))
			res, err := top(ctx, player, sizes...)
			Expect(res).To(HaveBeenCancelled())
			m := diverged(player, err)
			Expect(m.Cause).To(Equal(cause))
			Expect(m.Error()).To(And(ContainSubstring(cause), ContainSubstring("the size of the terminal differs")))
			Expect(m.Explain()).To(ContainSubstring(cause))
			Expect(player.Check()).To(MatchError(cassette.ErrMiss))
		},
		Entry("to another size", "its terminal was given the size 132x44, and not 132x43 as it was recorded", runner.PTY{Cols: 132, Rows: 44}),
		Entry("once more", "its terminal was given the size 80x24, and the recording has no further one", large, runner.PTY{Cols: 80, Rows: 24}),
	)

	It("that was never resized takes no size, where its replay takes time", func(ctx context.Context) {
		player := playText(`cassette 2
run
  argv "top"
  pty 80x24
  out "up\r\n"
  timeout 30s then signal SIGKILL
  tape 0o4 30000x
`, cassette.WithPace(cassette.RealTime))
		p, hear := watched(ctx, player, terminal(0, 0, "top"))
		hear("up\r\n")
		Expect(p.Resize(132, 43)).To(Succeed())
		_, err := p.Wait(ctx)
		diverged(player, err)
	})

	It("need not be spoken to: sizes alone are turns as well", func(ctx context.Context) {
		player := playText(`cassette 2
run
  argv "watch"
  pty 80x24
  out "small\r\n"
  out "large\r\n"
  exit 4
  tape 1o7 5000r132x43 1o7 9x
`)
		p, hear := watched(ctx, player, terminal(80, 24, "watch"))
		hear("small\r\n")
		Expect(p.Settled()).NotTo(BeClosed())
		Expect(p.Resize(132, 43)).To(Succeed())
		res, err := p.Wait(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveExited(4))
		Expect(res).To(HaveStdout("small\r\nlarge\r\n"))
		Expect(player.Check()).To(Succeed())
	})

	DescribeTable("is matched: a call with another, or with none, is another call",
		func(ctx context.Context, cmd *runner.Cmd, difference, cause string) {
			player := playText(terminalBody)
			_, err := runner.Run(ctx, player, cmd)
			m := missOf(err)
			Expect(m.Class).To(Equal(cassette.MissMismatch))
			Expect(m.Cause).To(Equal(cause))
			Expect(m.Error()).To(And(ContainSubstring(difference), ContainSubstring(cause)))
			Expect(m.Explain()).To(ContainSubstring("terminal: " + cause))
		},
		Entry("none", runner.Command("stty", "size"), "a terminal is recorded and not in the call",
			"it was recorded with a terminal of 100x30, and the call has none"),
		Entry("the usual one", terminal(0, 0, "stty", "size"), "the size of the terminal differs",
			"its terminal was 100x30 when it was recorded, and is 80x24"),
	)

	It("is matched in the other direction too", func(ctx context.Context) {
		player := playText("cassette 1\nrun\n  argv \"stty\"\n  exit 0\n")
		_, err := runner.Run(ctx, player, terminal(0, 0, "stty"))
		m := missOf(err)
		Expect(m.Cause).To(Equal("the call has a terminal of 80x24, and it was recorded without one"))
		Expect(m.Error()).To(ContainSubstring("the terminal of the call is not recorded"))
	})

	It("may have any size for those who say so, and none is still another thing", func(ctx context.Context) {
		any := cassette.WithMatchers("", cassette.IgnoreSize())
		player := playText(terminalBody, any)
		res, err := runner.Run(ctx, player, terminal(1, 2, "stty", "size"))
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveStdout("30 100\r\n"))
		res, err = top(ctx, player, runner.PTY{Cols: 9, Rows: 43})
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveSucceeded())
		Expect(player.Check()).To(Succeed())
		_, err = runner.Run(ctx, playText(terminalBody, any), runner.Command("stty", "size"))
		Expect(err).To(MatchError(cassette.ErrMiss))
	})

	It("is had again by a command that is made from the run, with its first size", func() {
		tape, err := cassette.Parse(sealed(terminalBody))
		Expect(err).NotTo(HaveOccurred())
		cmds, err := tape.Commands()
		Expect(err).NotTo(HaveOccurred())
		Expect(cmds[0].PTY).To(Equal(&runner.PTY{Cols: 80, Rows: 24}))
		Expect(cmds[0].Stdin.Kind()).To(Equal(runner.StdinInteractive))
		Expect(cmds[1].PTY).To(Equal(&runner.PTY{Cols: 100, Rows: 30}))
	})

	It("is compared by its sizes, and kept by what makes a new file of an old one", func() {
		parse := func(text string) *cassette.Tape {
			tape, err := cassette.Parse(sealed(text))
			Expect(err).NotTo(HaveOccurred())
			return tape
		}
		old, other := parse(terminalBody), parse(strings.Replace(terminalBody, "r132x43", "r132x44", 1))
		changes, err := cassette.Compare(old, other)
		Expect(err).NotTo(HaveOccurred())
		Expect(changes[0].Class).To(Equal(cassette.ClassOutput))
		Expect(changes[0].Fields).To(Equal([]string{"tape", "sizes"}))
		Expect(changes[1].Class).To(Equal(cassette.ClassSame))
		merged, err := cassette.Merge(old, old, other)
		Expect(err).NotTo(HaveOccurred())
		Expect(merged.Marshal()).To(Equal(other.Marshal()))
		broken, err := old.Derive(1, cassette.FaultKill(5))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(broken.Runs()[0].Text())).To(ContainSubstring("  pty 80x24\n"))
		Expect(string(broken.Runs()[0].Text())).To(ContainSubstring("tape 2o4 900r132x43 1o1 0x\n"))
		said := strings.Replace(terminalBody, `"q"`, `"--password=correct-horse-7\n"`, 1)
		clean, err := parse(strings.Replace(said, "i1", "i27", 1)).Scrub()
		Expect(err).NotTo(HaveOccurred())
		Expect(string(clean.Marshal())).To(And(HavePrefix("cassette 2\n"), ContainSubstring("<redacted:"), ContainSubstring("  pty 80x24\n"), ContainSubstring(" 900r132x43 ")))
	})

	It("is exported as what it is", func() {
		tape, err := cassette.Parse(sealed(terminalBody))
		Expect(err).NotTo(HaveOccurred())
		var b strings.Builder
		Expect(tape.Export(&b, cassette.Asciicast)).To(Succeed())
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		var header struct {
			Version int
			Term    struct{ Cols, Rows int }
		}
		Expect(json.Unmarshal([]byte(lines[0]), &header)).To(Succeed())
		Expect(header.Version).To(Equal(3))
		Expect(header.Term.Cols).To(Equal(80))
		Expect(header.Term.Rows).To(Equal(24))
		Expect(lines[1:]).To(Equal([]string{
			`[0,"m","run 1: top"]`, `[0.002,"o","24\r\n"]`, `[0.9,"r","132x43"]`, `[0.001,"o","43\r\n"]`, `[0.5,"i","q"]`, `[0.003,"o","\u001b[2Jbye"]`,
			`[0,"m","run 2: stty size"]`, `[0,"r","100x30"]`, `[0.001,"o","30 100\r\n"]`, `[0,"x","0"]`,
		}))
		b.Reset()
		Expect(tape.Export(&b, cassette.JSONLines)).To(Succeed())
		Expect(b.String()).To(And(ContainSubstring(`"event":"start","argv":["top"],"pty":"80x24"`), ContainSubstring(`"event":"resize","pty":"132x43","ms":900`)))
		b.Reset()
		Expect(tape.Export(&b, cassette.Txtar)).To(Succeed())
		Expect(b.String()).To(ContainSubstring("-- 1/terminal --\n80x24\n"))
	})

	It("does not trouble lint", func() {
		Expect(cassette.Lint(sealed(terminalBody))).To(BeEmpty())
	})

	DescribeTable("is refused where its text makes no sense",
		func(version int, text, problem string) {
			_, err := cassette.Parse([]byte(fmt.Sprintf("cassette %d\nrun\n  argv \"top\"\n", version) + text + "end 1 sha256:" + strings.Repeat("0", 64) + "\n"))
			var corrupt *cassette.CorruptError
			Expect(errors.As(err, &corrupt)).To(BeTrue(), "%v", err)
			Expect(corrupt.Reason).To(ContainSubstring(problem))
		},
		Entry("in a file of version 1", 1, "  pty 80x24\n  exit 0\n", "takes version 2"),
		Entry("without rows", 2, "  pty 80\n  exit 0\n", "columns and rows"),
		Entry("with no rows", 2, "  pty 80x0\n  exit 0\n", "columns and rows"),
		Entry("with a zero before", 2, "  pty 080x24\n  exit 0\n", "columns and rows"),
		Entry("with too many columns", 2, "  pty 65536x1\n  exit 0\n", "columns and rows"),
		Entry("with something behind", 2, "  pty 80x24 \n  exit 0\n", "columns and rows"),
		Entry("twice", 2, "  pty 80x24\n  pty 80x24\n  exit 0\n", "once"),
		Entry("behind the input", 2, "  in \"x\"\n  pty 80x24\n  exit 0\n", "out of order"),
		Entry("with standard error", 2, "  pty 80x24\n  err \"x\"\n  exit 0\n", "one stream"),
		Entry("with inherited input", 2, "  pty 80x24\n  stdin inherit\n  exit 0\n", "inherited input"),
		Entry("with a size on the tape and none before", 2, "  exit 0\n  tape 0r80x24 0x\n", "has none"),
		Entry("with half a size on the tape", 2, "  pty 80x24\n  exit 0\n  tape 0r80x 0x\n", "not a tape"),
		Entry("with a size of nothing on the tape", 2, "  pty 80x24\n  exit 0\n  tape 0r0x0 0x\n", "not a tape"),
		Entry("with a size that runs on", 2, "  pty 80x24\n  exit 0\n  tape 0r80x24x 0x\n", "not a tape"),
	)
})

// fakeOf is a runner whose one command does what the reply says.
func fakeOf(program string, parts ...fake.Reply) runner.Runner {
	r := fake.New()
	r.On(program).Reply(parts...)
	return r
}

// loadOne is the one run of a file.
func loadOne(path string) *cassette.Run {
	GinkgoHelper()
	tape, err := cassette.Load(path)
	Expect(err).NotTo(HaveOccurred())
	Expect(tape.Len()).To(Equal(1))
	return tape.Runs()[0]
}
