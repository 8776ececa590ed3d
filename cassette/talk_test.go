package cassette_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// talker is a runner whose command asks and answers.
func talker(parts ...fake.Reply) runner.Runner {
	r := fake.New()
	r.On("talk").Reply(parts...)
	return r
}

func talkCmd(args ...string) *runner.Cmd {
	cmd := runner.Command("talk", args...)
	cmd.Stdin = runner.StdinPipe()
	return cmd
}

// step is a piece to write, and how much output there is in all before the next one.
type step struct {
	write string
	heard string
}

// converse goes through the steps, closes the input, and returns how it ended.
func converse(ctx context.Context, r runner.Runner, cmd *runner.Cmd, steps ...step) (*runner.Result, error) {
	GinkgoHelper()
	out := make(chan byte, 1<<16)
	cmd.Output.Stdout.Tee = writer(func(p []byte) {
		for _, c := range p {
			out <- c
		}
	})
	p, err := r.Start(ctx, cmd)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = p.Close() }()
	heard := ""
	for _, s := range steps {
		_, err := io.WriteString(p.Stdin(), s.write)
		Expect(err).NotTo(HaveOccurred())
		for len(heard) < len(s.heard) {
			select {
			case c := <-out:
				heard += string(c)
			case <-p.Settled():
				return p.Wait(ctx)
			case <-ctx.Done():
				Fail(fmt.Sprintf("heard %q, want %q", heard, s.heard))
			}
		}
		Expect(heard).To(Equal(s.heard))
	}
	Expect(p.Stdin().Close()).To(Succeed())
	return p.Wait(ctx)
}

var _ = Describe("A conversation", func() {
	two := []step{{"", "name? "}, {"bob\n", "name? age? "}, {"42\n", "name? age? bye\n"}}
	script := []fake.Reply{
		fake.Stdout("name? "), fake.Reads("bob\n"), fake.Stdout("age? "), fake.Reads("42\n"), fake.Stdout("bye\n"), fake.ReadsEOF(), fake.Exit(3),
	}
	// recorded is the path of a cassette of one conversation.
	recorded := func(ctx context.Context, script []fake.Reply, steps []step, opts ...cassette.Option) string {
		GinkgoHelper()
		path := tempFile()
		rec, err := cassette.NewRecorder(path, talker(script...), opts...)
		Expect(err).NotTo(HaveOccurred())
		defer func() { Expect(rec.Close()).To(Succeed()) }()
		_, err = converse(ctx, rec, talkCmd(), steps...)
		Expect(err).NotTo(HaveOccurred())
		Expect(rec.Save()).To(Succeed())
		return path
	}
	miss := func(player *cassette.Player, err error) *cassette.MissError {
		GinkgoHelper()
		Expect(err).To(And(MatchError(runner.ErrCancelled), MatchError(cassette.ErrMiss)))
		Expect(player.Misses()).To(HaveLen(1))
		Expect(player.Check()).To(MatchError(cassette.ErrMiss))
		m := missOf(err)
		Expect(m.Class).To(Equal(cassette.MissInput))
		return m
	}

	It("is written with its turns on the tape, and content apart from it", func(ctx context.Context) {
		Expect(timeless(runsOf(recorded(ctx, script, two)))).To(Equal(`run
  argv "talk"
  stdin interactive
  in "bob\n"
  in "42\n"
  out "name? age? bye\n"
  exit 3
  tape 0o6 0i4 0o5 0i3 0o4 0c 0x
`))
	})

	It("is played turn by turn, however the input is cut", func(ctx context.Context) {
		path := recorded(ctx, script, two)
		for _, pace := range []cassette.Pace{cassette.Instant, cassette.Scaled(1000)} {
			for _, steps := range [][]step{two, {{"", "name? "}, {"b", "name? "}, {"ob\n4", "name? age? "}, {"2", "name? age? "}, {"\n", "name? age? bye\n"}}} {
				player := play(path, cassette.WithPace(pace))
				res, err := converse(ctx, player, talkCmd(), steps...)
				Expect(err).NotTo(HaveOccurred())
				Expect(res).To(HaveExited(3))
				Expect(res).To(HaveStdout("name? age? bye\n"))
				Expect(res).To(HaveBeenReplayed())
				Expect(player.Check()).To(Succeed())
			}
		}
	})

	It("that goes another way is a miss, which the player keeps and which shows no input", func(ctx context.Context) {
		player := play(recorded(ctx, script, two))
		res, err := converse(ctx, player, talkCmd(), step{"", "name? "}, step{"bob\n", "name? age? "}, step{"sesame\n", "name? age? more"})
		Expect(res).To(HaveBeenCancelled())
		m := miss(player, err)
		Expect(m.Call).To(Equal(1))
		Expect(m.Nearest).To(Equal([]cassette.Candidate{{Run: 1, Line: 2, Played: 1, Differences: []cassette.Difference{
			{Field: cassette.FieldStdin, Recorded: 7, Called: 4},
		}}}))
		Expect(m.Error()).To(And(ContainSubstring("input diverged"), ContainSubstring("after 4 bytes it went on differently"), Not(ContainSubstring("sesame"))))
		Expect(m.Explain()).To(And(ContainSubstring(`want      "42\n"`), ContainSubstring(`written   "sesame\n"`)))
	})

	DescribeTable("is a miss as well",
		func(ctx context.Context, cause string, steps ...step) {
			player := play(recorded(ctx, script, two))
			_, err := converse(ctx, player, talkCmd(), steps...)
			Expect(miss(player, err).Cause).To(ContainSubstring(cause))
		},
		Entry("when it is closed too early", "closed after 4 bytes", step{"bob\n", "name? age? "}),
		Entry("when it goes on too long", "after 7 bytes", two[0], two[1], two[2], step{"more\n", "name? age? bye\n."}),
	)

	It("in which nothing was said takes no word", func(ctx context.Context) {
		player := playText(`cassette 1
run
  argv "talk"
  stdin interactive
  out "bye\n"
  timeout 30s then signal SIGKILL
  tape 0o4 30000x
`, cassette.WithPace(cassette.RealTime))
		_, err := converse(ctx, player, talkCmd(), step{"hello?\n", "bye\n."})
		miss(player, err)
	})

	It("that ended in a deadline ends at once, unless it keeps its pace", func(ctx context.Context) {
		player := playText(`cassette 1
run
  argv "talk"
  stdin interactive
  in "a\n"
  out "bye\n"
  timeout 3h0m0s then signal SIGKILL
  tape 0i2 0o4 10800000x
`)
		res, err := converse(ctx, player, talkCmd(), step{"a\n", "bye\n"})
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveTimedOut())
	})

	It("keeps a password out of the file, and takes another one at replay", func(ctx context.Context) {
		answers := func(password string) []step {
			return []step{{"", "password: "}, {"--password=" + password + "\n", "password: ok "}, {"quit\n", "password: ok bye"}}
		}
		script := func(password string) []fake.Reply {
			return []fake.Reply{
				fake.Stdout("password: "), fake.Reads("--password=" + password + "\n"), fake.Stdout("ok "), fake.Reads("quit\n"), fake.Stdout("bye"), fake.ReadsEOF(),
			}
		}
		path := recorded(ctx, script("correct-horse-7"), answers("correct-horse-7"), cassette.WithSecret("pw", "correct-horse-7"))
		Expect(contents(path)).To(And(Not(ContainSubstring("correct")), ContainSubstring("<redacted:")))

		player := play(path, cassette.WithSecret("pw", "battery-staple-8"))
		_, err := converse(ctx, player, talkCmd(), answers("battery-staple-8")...)
		Expect(err).NotTo(HaveOccurred())
		Expect(player.Check()).To(Succeed())

		By("whatever else is said must be right")
		player = play(path, cassette.WithSecret("pw", "battery-staple-8"))
		steps := answers("battery-staple-8")
		steps[2].write = "battery-staple-8\n"
		_, err = converse(ctx, player, talkCmd(), steps...)
		m := miss(player, err)
		Expect(m.Explain()).To(And(ContainSubstring(`"quit\n"`), Not(ContainSubstring("battery"))))
	})

	It("has tokens in both directions", func(ctx context.Context) {
		dir := "/recorded/dir"
		script := []fake.Reply{fake.Reads("cd /recorded/dir\n"), fake.Stdout("in /recorded/dir\n"), fake.ReadsEOF()}
		path := recorded(ctx, script, []step{{"cd " + dir + "\n", "in " + dir + "\n"}}, cassette.WithToken("tmp", dir))
		Expect(contents(path)).NotTo(ContainSubstring(dir))
		player := play(path, cassette.WithToken("tmp", "/here"))
		_, err := converse(ctx, player, talkCmd(), step{"cd /here\n", "in /here\n"})
		Expect(err).NotTo(HaveOccurred())
		Expect(player.Check()).To(Succeed())
	})

	DescribeTable("is compared by matchers, line by line",
		func(ctx context.Context, m cassette.Matcher, said string, same bool) {
			script := []fake.Reply{fake.Reads("{\"a\":1, \"b\":2}\n"), fake.Stdout("1\n"), fake.Reads("{}\n"), fake.Stdout("2\n"), fake.ReadsEOF()}
			path := recorded(ctx, script, []step{{"{\"a\":1, \"b\":2}\n", "1\n"}, {"{}\n", "1\n2\n"}})
			player := play(path, cassette.WithMatchers("talk", m))
			_, err := converse(ctx, player, talkCmd(), step{said, "1\n"}, step{"{}\n", "1\n2\n"})
			if !same {
				Expect(miss(player, err).Matchers).To(Equal([]string{m.Name}))
				return
			}
			Expect(err).NotTo(HaveOccurred())
			Expect(player.Check()).To(Succeed())
		},
		Entry("of which one knows JSON", cassette.JSONStdin(), "{\"b\":2,\"a\":1}\n", true),
		Entry("which is not the same JSON", cassette.JSONStdin(), "{\"b\":3,\"a\":1}\n", false),
		Entry("of which one takes anything", cassette.IgnoreStdin(), "whatever\n", true),
	)

	It("is another call than one whose input is known before", func(ctx context.Context) {
		player := play(recorded(ctx, script, two))
		_, err := runner.Run(ctx, player, runner.Command("talk"))
		Expect(missOf(err).Cause).To(ContainSubstring("interactive"))
	})

	It("keeps its text when it goes the same way again, and changes when its turns do", func(ctx context.Context) {
		path := recorded(ctx, script, two)
		edit(path, "  exit 3\n", "  exit 3\n  x-note mine\n")
		before := contents(path)
		again := func(script []fake.Reply, steps []step) string {
			rec, err := cassette.NewRecorder(path, talker(script...))
			Expect(err).NotTo(HaveOccurred())
			defer func() { Expect(rec.Close()).To(Succeed()) }()
			_, err = converse(ctx, rec, talkCmd(), steps...)
			Expect(err).NotTo(HaveOccurred())
			Expect(rec.Save()).To(Succeed())
			return contents(path)
		}
		cut := []step{{"", "name? "}, {"b", "name? "}, {"ob\n", "name? age? "}, {"42\n", "name? age? bye\n"}}
		Expect(again(script, cut)).To(Equal(before))
		late := []fake.Reply{fake.Stdout("name? "), fake.Reads("bob\n"), fake.Reads("42\n"), fake.Stdout("age? bye\n"), fake.ReadsEOF(), fake.Exit(3)}
		steps := []step{{"", "name? "}, {"bob\n", "name? "}, {"42\n", "name? age? bye\n"}}
		Expect(timeless(again(late, steps))).To(ContainSubstring("tape 0o6 0i4 0i3 0o9 0c 0x"))
	})

	It("is exported as events in their order", func(ctx context.Context) {
		tape, err := cassette.Load(recorded(ctx, script, two))
		Expect(err).NotTo(HaveOccurred())
		Expect(tape.Runs()[0].Interactive()).To(BeTrue())
		var b strings.Builder
		Expect(tape.Export(&b, cassette.JSONLines)).To(Succeed())
		events := regexp.MustCompile(`"event":"(\w+)"`).FindAllStringSubmatch(b.String(), -1)
		var kinds []string
		for _, e := range events {
			kinds = append(kinds, e[1])
		}
		Expect(kinds).To(Equal([]string{"start", "out", "in", "out", "in", "out", "eof", "end"}))
		b.Reset()
		Expect(tape.Export(&b, cassette.Asciicast)).To(Succeed())
		Expect(b.String()).To(ContainSubstring(`"i","bob\r"`))
	})

	DescribeTable("is refused where its text makes no sense",
		func(text, problem string) {
			_, err := cassette.Parse([]byte("cassette 1\nrun\n  argv \"talk\"\n" + text + "end 1 sha256:" + strings.Repeat("0", 64) + "\n"))
			var corrupt *cassette.CorruptError
			Expect(errors.As(err, &corrupt)).To(BeTrue(), "%v", err)
			Expect(corrupt.Reason).To(ContainSubstring(problem))
		},
		Entry("without a tape", "  stdin interactive\n  in \"x\"\n  exit 0\n", "without a tape"),
		Entry("with counts that do not fit", "  stdin interactive\n  in \"x\"\n  exit 0\n  tape 0i2 0x\n", "byte counts"),
		Entry("with input behind its end", "  stdin interactive\n  in \"x\"\n  exit 0\n  tape 0c 0i1 0x\n", "behind the end"),
		Entry("with two ends", "  stdin interactive\n  exit 0\n  tape 0c 0c 0x\n", "behind the end"),
		Entry("with turns in a run that has none", "  in \"x\"\n  exit 0\n  tape 0i1 0x\n", "not interactive"),
		Entry("with an end in a run that has none", "  exit 0\n  tape 0c 0x\n", "not interactive"),
		Entry("with two lines of its kind", "  stdin interactive\n  stdin interactive\n  exit 0\n  tape 0x\n", "behind other input"),
		Entry("with a text behind its end", "  stdin interactive\n  exit 0\n  tape 0c1 0x\n", "not a tape"),
		Entry("never started and yet told something", "  stdin interactive\n  in \"x\"\n  start not-found ENOENT\n", "never started"),
	)
})
