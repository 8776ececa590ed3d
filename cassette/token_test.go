package cassette_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("Tokens", func() {
	It("make a cassette portable: values become tokens, and live values again", func(ctx context.Context) {
		path := tempFile()
		const recorded, replayed = "/tmp/rec-1", "/tmp/some/other/place"
		echo := func(dir string) *runner.Cmd {
			cmd := runner.Command("tool", "--out="+dir+"/a", dir)
			cmd.Dir = dir
			cmd.Stdin = runner.StdinString("in " + dir + "\n")
			return cmd
		}
		inner := fake.New()
		inner.On("tool").Reply(fake.Stdout("made "+recorded+"/a\n"), fake.Stderr("in "+recorded+"\n"))
		recordTo(ctx, path, inner, []cassette.Option{cassette.WithToken("tmp", recorded)}, echo(recorded))
		Expect(contents(path)).To(HavePrefix(`cassette 1
tokens tmp:1
run
  argv "tool"
  argv "--out=<tmp:1>/a"
  argv "<tmp:1>"
  dir "<tmp:1>"
  in "in <tmp:1>\n"
  out "made <tmp:1>/a\n"
  err "in <tmp:1>\n"
  exit 0
`))
		res, err := runner.Run(ctx, play(path, cassette.WithToken("tmp", replayed)), echo(replayed))
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveStdout("made " + replayed + "/a\n"))
		Expect(res).To(HaveStderr("in " + replayed + "\n"))

		By("and a call with the old value is a miss: nothing is matched by luck")
		_, err = runner.Run(ctx, play(path, cassette.WithToken("tmp", replayed)), echo(recorded))
		Expect(missOf(err).Class).To(Equal(cassette.MissMismatch))
	})

	It("number the values of a name, and look for the longest first", func(ctx context.Context) {
		path := tempFile()
		inner := fake.New()
		inner.On("tool").Reply(fake.Stdout("/data/x /data/x/deep /other\n"))
		recordTo(ctx, path, inner, []cassette.Option{
			cassette.WithToken("d", "/data/x"), cassette.WithToken("d", "/data/x/deep"), cassette.WithToken("e", "/other"),
		}, runner.Command("tool"))
		Expect(contents(path)).To(ContainSubstring("tokens d:1 d:2 e:1\n"))
		Expect(contents(path)).To(ContainSubstring(`out "<d:1> <d:2> <e:1>\n"`))
	})

	It("leave a literal token apart", func(ctx context.Context) {
		path := tempFile()
		const output = "<tmp:1> <!tmp:1> <!!tmp:1> <tmp:2> <tmp:1 /live <other:1>"
		inner := fake.New()
		inner.On("tool").Reply(fake.Stdout(output))
		opts := []cassette.Option{cassette.WithToken("tmp", "/live")}
		recordTo(ctx, path, inner, opts, runner.Command("tool", "<tmp:1>"))
		Expect(contents(path)).To(ContainSubstring(`argv "<!tmp:1>"`))
		Expect(contents(path)).To(ContainSubstring(`out "<!tmp:1> <!!tmp:1> <!!!tmp:1> <tmp:2> <tmp:1 <tmp:1> <other:1>"`))
		res, err := runner.Run(ctx, play(path, opts...), runner.Command("tool", "<tmp:1>"))
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveStdout(output))
	})

	It("are nothing special where none is registered", func(ctx context.Context) {
		path := tempFile()
		inner := fake.New()
		inner.On("tool").Reply(fake.Stdout("<tmp:1> <!tmp:1>"))
		recordTo(ctx, path, inner, nil, runner.Command("tool"))
		Expect(contents(path)).To(ContainSubstring(`out "<tmp:1> <!tmp:1>"`))
		res, err := runner.Run(ctx, play(path, cassette.WithToken("tmp", "/elsewhere")), runner.Command("tool"))
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveStdout("<tmp:1> <!tmp:1>"))
	})

	It("are the inverse of themselves for any bytes, and move the chunks along", func() {
		rnd := random()
		values := []string{"abcd", "cdab", "<tmp", "tmp:1", "abcdcdab", "<!tmp:1>", "\x01\xff\n\r"}
		for range 3_000 {
			live := []cassette.Option{cassette.WithToken("tmp", values[0])}
			for _, v := range values[1:] {
				if rnd.IntN(2) == 0 {
					live = append(live, cassette.WithToken([]string{"tmp", "x"}[rnd.IntN(2)], v))
				}
			}
			var out []byte
			s := cassette.Sample{Argv: []string{"tool"}, Outcome: runner.Exited(0)}
			pieces := append([]string{"<", "!", "<tmp:1>", "<!tmp:1>", "<x:1>", "x", ">", "ab", "<!!tmp:2>"}, values...)
			for range rnd.IntN(12) {
				piece := pieces[rnd.IntN(len(pieces))]
				out = append(out, piece...)
			}
			for at := 0; at < len(out); {
				n := 1 + rnd.IntN(len(out)-at)
				s.Chunks = append(s.Chunks, cassette.SampleChunk{After: time.Duration(rnd.IntN(5)) * time.Millisecond, N: int64(n)})
				at += n
			}
			s.Out, s.Argv = out, append(s.Argv, string(out))
			total := time.Duration(0)
			for _, c := range s.Chunks {
				total += c.After
			}
			tape, err := cassette.Parse(cassette.File([]cassette.Sample{s}, live...))
			Expect(err).NotTo(HaveOccurred())
			Expect(tape.Runs()[0].Duration()).To(Equal(total), "no time is lost with a chunk")
			player, err := cassette.NewPlayer(tape, live...)
			Expect(err).NotTo(HaveOccurred())
			res, err := runner.Run(context.Background(), player, runner.Command("tool", string(out)))
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveStdout(string(out)))
		}
	})

	It("can stand in a chunk of their own and across two", func() {
		s := cassette.Sample{Argv: []string{"tool"}, Out: []byte("go to /live/dir now"), Outcome: runner.Exited(0), Exit: time.Millisecond}
		for _, n := range []int64{8, 2, 4, 5} {
			s.Chunks = append(s.Chunks, cassette.SampleChunk{After: time.Millisecond, N: n})
		}
		file := string(cassette.File([]cassette.Sample{s}, cassette.WithToken("tmp", "/live/dir")))
		Expect(file).To(ContainSubstring(`out "go to <tmp:1> now"`))
		Expect(file).To(ContainSubstring("tape 1o13 3o4 1x\n"))
	})

	It("are asked for when the cassette uses them", func() {
		tape, err := cassette.Parse(sealed("cassette 1\ntokens tmp:1 db:1\nrun\n  argv \"tool\"\n  exit 0\n"))
		Expect(err).NotTo(HaveOccurred())
		_, err = cassette.NewPlayer(tape, cassette.WithToken("tmp", "/live"))
		Expect(err).To(MatchError(cassette.ErrToken))
		Expect(err).To(MatchError(ContainSubstring("<db:1>")))
	})

	DescribeTable("are refused where they could not be told apart",
		func(opts ...cassette.Option) {
			_, err := cassette.NewRecorder(tempFile(), fake.New(), opts...)
			Expect(err).To(MatchError(cassette.ErrToken))
			Expect(err.Error()).NotTo(ContainSubstring("/live"), "no value in a message")
		},
		Entry("a short value", cassette.WithToken("tmp", "/")),
		Entry("the same value twice", cassette.WithToken("a", "/live"), cassette.WithToken("b", "/live")),
		Entry("no name", cassette.WithToken("", "/live")),
		Entry("a name with a colon", cassette.WithToken("a:1", "/live")),
		Entry("a name in capitals", cassette.WithToken("TMP", "/live")),
		Entry("a name without end", cassette.WithToken(strings.Repeat("a", 33), "/live")),
	)

	It("hold in a stream that is binary", func(ctx context.Context) {
		path := tempFile()
		binary := bytes.Repeat([]byte{0, 0xff, 0xfe, 1}, 50)
		inner := fake.New()
		inner.On("tool").Reply(fake.Stdout(append(append([]byte("/live"), binary...), "/live"...)))
		recordTo(ctx, path, inner, []cassette.Option{cassette.WithToken("tmp", "/live")}, runner.Command("tool"))
		Expect(contents(path)).To(ContainSubstring("out64 PHRtcDox"))
		res, err := runner.Run(ctx, play(path, cassette.WithToken("tmp", "/other/live")), runner.Command("tool"))
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveStdout(append(append([]byte("/other/live"), binary...), "/other/live"...)))
	})
})

// FuzzToken: whatever is registered and written, what is played is what was recorded.
func FuzzToken(f *testing.F) {
	f.Add("/tmp/x", "/tmp/x/y", []byte("in /tmp/x/y and <tmp:1> and <!tmp:2>"), 3)
	f.Add("<tmp:1>", "tmp:1>", []byte("<<tmp:1>!<tmp:1"), 1)
	f.Add("\x00\xff\x00\xff", "aaaa", []byte("aaaaaaa\x00\xff\x00\xff"), 0)
	f.Fuzz(func(t *testing.T, one, two string, out []byte, cut int) {
		opts := []cassette.Option{cassette.WithToken("tmp", one), cassette.WithToken("tmp", two)}
		if len(one) < 4 || len(two) < 4 || one == two {
			return
		}
		s := cassette.Sample{Argv: []string{"tool"}, Out: out, Outcome: runner.Exited(0)}
		if cut > 0 && cut < len(out) {
			s.Chunks = []cassette.SampleChunk{{N: int64(cut)}, {N: int64(len(out) - cut)}}
		}
		tape, err := cassette.Parse(cassette.File([]cassette.Sample{s}, opts...))
		if err != nil {
			t.Fatal(err)
		}
		player, err := cassette.NewPlayer(tape, opts...)
		if err != nil {
			t.Fatal(err)
		}
		res, err := runner.Run(t.Context(), player, runner.Command("tool"))
		if err != nil || !bytes.Equal(res.Stdout(), out) {
			t.Fatalf("played %q, %v", res.Stdout(), err)
		}
	})
}
