package cassette_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/fixtures"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("A recorder", func() {
	It("writes what was run, what it wrote and how it ended", func(ctx context.Context) {
		path := tempFile()
		inner := fake.New()
		inner.On("git", "commit").Reply(fake.Stdout("[main 1a2b3c4] first\n 1 file changed\n"), fake.Stderr("warning: \xff\r\n"), fake.Exit(1))
		inner.On("git", "log").Reply(fake.Signal(9))
		inner.On("gone").Reply(fake.StartError(runner.StartNotFound))
		commit := runner.Command("/usr/bin/git", "commit", "-F", "-")
		commit.Dir = "/repo"
		commit.Env = commit.Env.Set("GIT_DIR", "secret-value").Set("A", "secret").Remove("LANG")
		commit.Stdin = runner.StdinString("first\n\nbody")
		recordTo(ctx, path, inner, nil, commit, runner.Command("git", "log"), runner.Command("gone"))
		Expect(timeless(runsOf(path))).To(Equal(`run
  argv "/usr/bin/git"
  argv "commit"
  argv "-F"
  argv "-"
  dir "/repo"
  env A GIT_DIR LANG
  in "first\n"
  in "\n"
  in "body"
  out "[main 1a2b3c4] first\n"
  out " 1 file changed\n"
  err "warning: \xff\r\n"
  exit 1
  tape 0o37 0e12 0x
run
  argv "git"
  argv "log"
  signal SIGKILL
  tape 0x
run
  argv "gone"
  start not-found
`))
		Expect(contents(path)).NotTo(ContainSubstring("secret"))
	})

	It("gives its caller the inner runner's process and its own tees", func(ctx context.Context) {
		rec, err := cassette.NewRecorder(tempFile(), runner.Contained{})
		Expect(err).NotTo(HaveOccurred())
		defer rec.Close()
		argv := fixtures.Argv("lines", "3")
		var tee bytes.Buffer
		cmd := runner.Command(argv[0], argv[1:]...)
		cmd.Output.Stdout.Tee = &tee
		p, err := rec.Start(ctx, cmd)
		Expect(err).NotTo(HaveOccurred())
		_, real := p.PID()
		Expect(real).To(BeTrue())
		res, err := p.Wait(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).NotTo(HaveBeenReplayed())
		Expect(tee.String()).To(Equal(string(res.Stdout())))
	})

	It("keeps the order of starts, not of ends", func(ctx context.Context) {
		path := tempFile()
		inner := fake.New()
		inner.On("slow").Reply(fake.Pending())
		inner.On("fast").Reply()
		rec, err := cassette.NewRecorder(path, inner)
		Expect(err).NotTo(HaveOccurred())
		defer rec.Close()
		slow, err := rec.Start(ctx, runner.Command("slow"))
		Expect(err).NotTo(HaveOccurred())
		_, err = runner.Run(ctx, rec, runner.Command("fast"))
		Expect(err).NotTo(HaveOccurred())

		By("and does not save while a run is open")
		err = rec.Save()
		Expect(err).To(MatchError(cassette.ErrOpenRun))
		Expect(err).To(MatchError(`cassette: recorded run 1, of "slow", cannot be saved: cassette: run is not over`))
		Expect(names(filepath.Dir(path))).NotTo(ContainElement("x.cassette"))

		Expect(slow.Kill()).To(Succeed())
		_, err = slow.Wait(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(rec.Save()).To(Succeed())
		Expect(runsOf(path)).To(MatchRegexp(`(?s)argv "slow".*signal SIGKILL.*argv "fast"`))
	})

	It("drops what was cancelled, unless it is asked to keep it", func(ctx context.Context) {
		path := tempFile()
		inner := fake.New()
		inner.On("tool").Reply(fake.Lines("begun"), fake.Pending())
		run := func(opts ...cassette.Option) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			cmd := runner.Command("tool")
			cmd.Output.Stdout.Tee = writer(func([]byte) { cancel() })
			recordTo(ctx, path, inner, opts, cmd)
		}
		run()
		Expect(runsOf(path)).To(BeEmpty())
		run(cassette.WithCancelled())
		Expect(runsOf(path)).To(ContainSubstring("  out \"begun\\n\"\n  cancelled"))

		By("and plays it until its caller gives up again")
		said := make(chan struct{})
		cmd := runner.Command("tool")
		cmd.Output.Stdout.Tee = writer(func([]byte) { close(said) })
		p, err := play(path).Start(ctx, cmd)
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, said).Should(BeClosed())
		Expect(p.Settled()).NotTo(BeClosed())
		Expect(p.Kill()).To(Succeed())
		res, err := p.Wait(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveStdout("begun\n"))
	})

	It("records nothing of a start that was refused", func(ctx context.Context) {
		path := tempFile()
		refusal := errors.New("this runner refuses")
		inner := fake.New()
		inner.On("tool").Reply(fake.Refuse(refusal))
		rec, err := cassette.NewRecorder(path, inner)
		Expect(err).NotTo(HaveOccurred())
		defer rec.Close()
		_, err = rec.Start(ctx, runner.Command("tool"))
		Expect(err).To(MatchError(refusal))
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_, err = rec.Start(ended, runner.Command("tool"))
		Expect(err).To(MatchError(runner.ErrCancelled))
		Expect(rec.Save()).To(Succeed())
		Expect(runsOf(path)).To(BeEmpty())
	})

	It("reads input of every kind, once, and passes it on", func(ctx context.Context) {
		path := tempFile()
		file := filepath.Join(GinkgoT().TempDir(), "input")
		Expect(os.WriteFile(file, []byte("from a file"), 0o600)).To(Succeed())
		argv := fixtures.Argv("cat")
		command := func(in runner.Stdin) *runner.Cmd {
			cmd := runner.Command(argv[0], argv[1:]...)
			cmd.Stdin = in
			return cmd
		}
		rec, err := cassette.NewRecorder(path, runner.Contained{})
		Expect(err).NotTo(HaveOccurred())
		defer rec.Close()
		for _, in := range []runner.Stdin{
			runner.StdinString("from a string"), runner.StdinFrom(file), runner.StdinStream(strings.NewReader("from a reader")), {},
		} {
			_, err := runner.Output(ctx, rec, command(in))
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(rec.Save()).To(Succeed())
		for _, want := range []string{"from a string", "from a file", "from a reader"} {
			Expect(contents(path)).To(ContainSubstring("  in \"" + want + "\"\n  out \"" + want + "\"\n"))
		}
		player := play(path)
		out, err := runner.Output(ctx, player, command(runner.StdinStream(strings.NewReader("from a reader"))))
		Expect(err).NotTo(HaveOccurred())
		Expect(out).To(Equal("from a reader"))
		_, err = runner.Run(ctx, player, command(runner.StdinFrom(file)))
		Expect(err).NotTo(HaveOccurred())
	})

	It("gives up on input that never ends when its context does", func(ctx context.Context) {
		r, w := io.Pipe()
		defer w.Close()
		rec, err := cassette.NewRecorder(tempFile(), fake.New())
		Expect(err).NotTo(HaveOccurred())
		defer rec.Close()
		ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		cmd := runner.Command("tool")
		cmd.Stdin = runner.StdinStream(r)
		_, err = rec.Start(ctx, cmd)
		Expect(err).To(MatchError(runner.ErrCancelled))
		Expect(err).To(MatchError(context.DeadlineExceeded))
	})

	It("says of a recording what it is", func(ctx context.Context) {
		inner := fake.New()
		inner.On("tool").Reply(fake.Lines("x"))
		rec, err := cassette.NewRecorder(tempFile(), inner)
		Expect(err).NotTo(HaveOccurred())
		defer rec.Close()
		_, err = runner.Run(ctx, rec, runner.Command("tool"))
		Expect(err).NotTo(HaveOccurred())
		tape, err := rec.Tape()
		Expect(err).NotTo(HaveOccurred())
		Expect(tape.Runs()[0].Stdout()).To(BeEquivalentTo("x\n"))
		Expect(tape.Runs()[0].Line()).To(Equal(2))
	})

	It("adds to a file when it is told to", func(ctx context.Context) {
		path := tempFile()
		inner := fake.New()
		inner.On().Reply()
		extend := []cassette.Option{cassette.WithExtend()}
		recordTo(ctx, path, inner, extend, runner.Command("one"))
		recordTo(ctx, path, inner, extend, runner.Command("two"))
		recordTo(ctx, path, inner, extend, runner.Command("one"))
		Expect(strings.Count(contents(path), `argv "one"`)).To(Equal(2))
		Expect(strings.Count(contents(path), "run\n")).To(Equal(3))

		By("with another token, once it is used")
		tmp := cassette.WithToken("tmp", "/live")
		recordTo(ctx, path, inner, []cassette.Option{cassette.WithExtend(), tmp}, runner.Command("three"))
		Expect(contents(path)).NotTo(ContainSubstring("tokens"))
		recordTo(ctx, path, inner, []cassette.Option{cassette.WithExtend(), tmp}, runner.Command("three", "/live"))
		Expect(contents(path)).To(HavePrefix("cassette 1\ntokens tmp:1\n"))

		By("but not without a token that is in it, nor with one that its text reads like, nor to what was edited")
		_, err := cassette.NewRecorder(path, inner, cassette.WithExtend())
		Expect(err).To(MatchError(cassette.ErrToken))
		recordTo(ctx, path, inner, []cassette.Option{}, runner.Command("four", "<tmp:1>"))
		rec, err := cassette.NewRecorder(path, inner, cassette.WithExtend(), tmp)
		Expect(err).NotTo(HaveOccurred())
		_, err = runner.Run(ctx, rec, runner.Command("five", "/live"))
		Expect(err).NotTo(HaveOccurred())
		Expect(rec.Save()).To(MatchError(cassette.ErrToken))
		Expect(rec.Close()).To(Succeed())
		Expect(os.WriteFile(path, []byte(strings.Replace(contents(path), "exit 0", "exit 1", 1)), 0o600)).To(Succeed())
		_, err = cassette.NewRecorder(path, inner, cassette.WithExtend())
		Expect(err).To(MatchError(cassette.ErrChecksum))

		By("and otherwise begins anew")
		recordTo(ctx, path, inner, nil, runner.Command("two"))
		Expect(runsOf(path)).To(HavePrefix("run\n  argv \"two\"\n  exit 0\n"))
	})

	It("leaves the text of what is recorded again alone, arrival times and extensions included", func(ctx context.Context) {
		path := tempFile()
		text := "cassette 1\nx-note ours\nrun\n  argv \"/old/place/tool\"\n  argv \"a\"\n  x-why because\n  out \"x\\n\"\n  exit 0\n  tape 500o2 9x\nrun\n  argv \"tool\"\n  argv \"b\"\n  exit 0\n  tape 70x\n"
		before := sealed(text)
		Expect(os.WriteFile(path, before, 0o644)).To(Succeed())
		past := time.Now().Add(-time.Hour).Truncate(time.Second)
		Expect(os.Chtimes(path, past, past)).To(Succeed())
		inner := fake.New()
		inner.On("tool", "a").Reply(fake.Lines("x"))
		inner.On("tool").Reply()
		a, b := runner.Command("tool", "a"), runner.Command("tool", "b")
		recordTo(ctx, path, inner, nil, a, b)
		Expect(contents(path)).To(Equal(string(before)))
		info, err := os.Stat(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(info.ModTime()).To(Equal(past), "a file that would not change is not touched")

		By("and writes what is different")
		inner = fake.New()
		inner.On("tool").Reply(fake.Exit(1))
		recordTo(ctx, path, inner, nil, b)
		Expect(timeless(contents(path))).To(HavePrefix("cassette 1\nx-note ours\nrun\n  argv \"tool\"\n  argv \"b\"\n  exit 1\n  tape 0x\nend 1 "))
	})

	It("keeps of a long stream what its policy keeps, and how long it was", func(ctx context.Context) {
		const total = 3 << 20
		out := make([]byte, total)
		for i := range out {
			out[i] = "0123456789\n"[i%11]
		}
		inner := fake.New()
		inner.On("tool").Reply(fake.Stdout(out))
		for _, policy := range []runner.Policy{runner.Fail, runner.Head, runner.Tail, runner.Discard} {
			path := tempFile()
			cmd := runner.Command("tool")
			cmd.Output.Stdout = runner.Stream{Policy: policy, MaxBytes: 1000}
			rec, err := cassette.NewRecorder(path, inner)
			Expect(err).NotTo(HaveOccurred())
			live, err := runner.Run(ctx, rec, cmd)
			Expect(err).NotTo(HaveOccurred())
			Expect(rec.Save()).To(Succeed())
			Expect(rec.Close()).To(Succeed())
			Expect(len(contents(path))).To(BeNumerically("<", 2<<20))

			again, err := runner.Run(ctx, play(path), cmd)
			Expect(err).NotTo(HaveOccurred())
			Expect(again).To(HaveOutcome(live.Outcome()))
			Expect(again).To(HaveStdout(live.Stdout()))
			Expect(again.StdoutTotal()).To(Equal(live.StdoutTotal()))
			Expect(again).To(HaveTruncated(runner.Stdout))

			By("and refuses to make up the rest")
			whole := runner.Command("tool")
			_, err = runner.Run(ctx, play(path), whole)
			Expect(missOf(err).Class).To(Equal(cassette.MissTruncated))
			teed := cmd.Clone()
			teed.Output.Stdout.Tee = io.Discard
			_, err = runner.Run(ctx, play(path), teed)
			Expect(missOf(err).Class).To(Equal(cassette.MissTruncated))
		}

		By("while a tee, or a cap that is not reached, keeps all of it")
		path := tempFile()
		cmd := runner.Command("tool")
		cmd.Output.Stdout = runner.Stream{Policy: runner.Discard, Tee: io.Discard}
		recordTo(ctx, path, inner, nil, cmd)
		res, err := runner.Run(ctx, play(path), runner.Command("tool"))
		Expect(err).NotTo(HaveOccurred())
		Expect(bytes.Equal(res.Stdout(), out)).To(BeTrue())
	})

	It("refuses to save what no cassette can hold", func(ctx context.Context) {
		path := tempFile()
		inner := fake.New()
		inner.On().Reply()
		rec, err := cassette.NewRecorder(path, inner)
		Expect(err).NotTo(HaveOccurred())
		defer rec.Close()
		_, err = runner.Run(ctx, rec, runner.Command("tool", strings.Repeat("\x01", 300_000)))
		Expect(err).NotTo(HaveOccurred())
		err = rec.Save()
		Expect(err).To(MatchError(cassette.ErrTooLarge))
		Expect(err).To(MatchError(ContainSubstring(`recorded run 1, of "tool", cannot be saved`)))
		Expect(names(filepath.Dir(path))).NotTo(ContainElement("x.cassette"))
	})

	It("bounds the arrival times it keeps of a chatty run", func(ctx context.Context) {
		path := tempFile()
		const chunks = 30_000
		script := fake.Script{}
		for i := range chunks {
			c := fake.Chunk{Stream: runner.StreamID(i % 2), Data: []byte("x")}
			if i%10_000 == 0 {
				c.After = time.Millisecond
			}
			script.Chunks = append(script.Chunks, c)
		}
		inner := fake.New()
		inner.On("tool").Reply(fake.Scripted(script))
		recordTo(ctx, path, inner, nil, runner.Command("tool"))
		Expect(len(contents(path))).To(BeNumerically("<", 100<<10))
		res, err := runner.Run(ctx, play(path), runner.Command("tool"))
		Expect(err).NotTo(HaveOccurred())
		Expect(res.StdoutTotal()).To(BeEquivalentTo(chunks / 2))
		Expect(res.StderrTotal()).To(BeEquivalentTo(chunks / 2))
	})

	It("takes nothing after it is closed, and does not save by itself", func(ctx context.Context) {
		path := tempFile()
		inner := fake.New()
		inner.On().Reply()
		rec, err := cassette.NewRecorder(path, inner)
		Expect(err).NotTo(HaveOccurred())
		_, err = runner.Run(ctx, rec, runner.Command("tool"))
		Expect(err).NotTo(HaveOccurred())
		Expect(rec.Close()).To(Succeed())
		Expect(rec.Close()).To(Succeed())
		_, err = rec.Start(ctx, runner.Command("tool"))
		Expect(err).To(MatchError(cassette.ErrClosed))
		Expect(rec.Save()).To(MatchError(cassette.ErrClosed))
		Expect(names(filepath.Dir(path))).To(BeEmpty())
	})
})

// writer is a tee.
type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }
