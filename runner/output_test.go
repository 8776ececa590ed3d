package runner_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
	"github.com/boombox-go/boombox/runner/runnertest"
)

// stripped is what a settled run keeps of data, without terminal sequences.
func stripped(data []byte) string {
	cmd := capped(runner.Stream{StripVT: true})
	res, _ := runner.Settle(cmd, runner.Finished{Outcome: runner.Exited(0), Stdout: data}).Result()
	return string(res.Stdout())
}

var _ = Describe("terminal sequences", func() {
	DescribeTable("are stripped", func(in, want string) {
		Expect(stripped([]byte(in))).To(Equal(want))
	},
		Entry("colours", "\x1b[1;31mred\x1b[m", "red"),
		Entry("cursor movements, private modes and intermediate bytes", "a\x1b[2J\x1b[?25l\x1b[10;20H\x1b[0 qb", "ab"),
		Entry("a title, ended by BEL or by ST", "\x1b]0;secret\x07a\x1b]2;secret\x1b\\b", "ab"),
		Entry("a string with UTF-8 in it", "\x1bPq\xe2\x9c\x93\x1b\\a\x1b_x\x1b\\\x1b^y\x1b\\\x1bXz\x1b\\b", "ab"),
		Entry("character sets and two-byte escapes", "\x1b(B\x1b)0\x1b=\x1b>\x1b7a\x1b8\x1bMb", "ab"),
		Entry("a sequence that another one cuts short", "\x1b[31\x1b[32ma\x1b]0;t\x1b[1mb", "ab"),
		Entry("a sequence that CAN or SUB aborts", "\x1b[31\x18a\x1b]0;t\x1ab", "ab"),
		Entry("a line end within a sequence stays", "\x1b[3\n1ma", "\na"),
		Entry("bells, backspaces and shifts", "a\x07\x08\x0e\x0f\x7fb", "ab"),
		Entry("tabs, line ends and other control characters stay", "\ta\r\n\x00\x01b\x0c", "\ta\r\n\x00\x01b\x0c"),
		Entry("UTF-8 stays, also what looks like 8-bit controls", "\xc2\x9b31m\xe2\x9c\x93\xff", "\xc2\x9b31m\xe2\x9c\x93\xff"),
		Entry("a sequence at the end is dropped", "a\x1b[31", "a"),
	)

	It("are the same however the reads were cut", func() {
		seed := uint64(GinkgoRandomSeed())
		r := rand.New(rand.NewPCG(seed, 3))
		parts := []string{"\x1b", "[", "1m", "]0;", "\x07", "\\", "a", "\n", "P", "(", "B", "\x18", "é"}
		for round := range 300 {
			var data strings.Builder
			for range r.IntN(30) {
				data.WriteString(parts[r.IntN(len(parts))])
			}
			b := newStub()
			b.out.most = 1 + r.IntN(5)
			p := runner.Attach(capped(runner.Stream{StripVT: true}), b, time.Now())
			b.out.write([]byte(data.String()))
			b.finish(contain.ExitStatus{})
			<-p.Settled()
			res, _ := p.Result()
			Expect(res).To(HaveStdout(stripped([]byte(data.String()))), "seed %d, round %d: %q", seed, round, data.String())
		}
	})
})

func FuzzStripVT(f *testing.F) {
	f.Add([]byte("\x1b[1;31mred\x1b[m\x1b]0;t\x07"))
	f.Add([]byte("\x1b(B\x1bP\x1b\\\x1b\x1b\x18"))
	f.Fuzz(func(t *testing.T, data []byte) {
		once := stripped(data)
		if strings.Contains(once, "\x1b") {
			t.Fatalf("an escape is left of %q", data)
		}
		if stripped([]byte(once)) != once {
			t.Fatalf("%q is stripped further the second time", data)
		}
	})
}

var _ = Describe("a cap on lines", func() {
	It("depends on the bytes and not on how they were cut", func() {
		seed := uint64(GinkgoRandomSeed())
		r := rand.New(rand.NewPCG(seed, 4))
		for round := range 300 {
			var data strings.Builder
			for range 1 + r.IntN(30) {
				data.WriteString([]string{"a", "\n", "\r\n", "\r", "bcd"}[r.IntN(5)])
			}
			s := runner.Stream{
				Policy: []runner.Policy{runner.Fail, runner.Head, runner.Tail}[r.IntN(3)], MaxLines: int64(1 + r.IntN(5)),
				Framing: runner.Framing(r.IntN(2)),
			}
			about := fmt.Sprintf("seed %d, round %d: %q, %+v", seed, round, data.String(), s.MaxLines)
			settled := playSettled([]byte(data.String()), s)
			live := playLive([]byte(data.String()), s, r)
			Expect(live.Kept).To(Equal(settled.Kept), about)
			Expect(live.Outcome).To(Equal(settled.Outcome), about)
			lines := len(modelLines(settled.Kept, runner.Stream{Framing: s.Framing, MaxLine: 100}))
			Expect(lines).To(BeNumerically("<=", s.MaxLines), about)
			if all := len(modelLines(data.String(), runner.Stream{Framing: s.Framing, MaxLine: 100})); int64(all) > s.MaxLines {
				Expect(lines).To(BeEquivalentTo(s.MaxLines), about)
			} else {
				Expect(settled.Kept).To(Equal(data.String()), about)
			}
		}
	})

	It("is sealed by the first byte that it drops: nothing later is kept, however short", func() {
		s := runner.Stream{Policy: runner.Head, MaxBytes: 6}
		Expect(playSettled([]byte("one\ntoo long\nx\n"), s).Kept).To(Equal("one\nto"))
		s = runner.Stream{Policy: runner.Head, MaxLines: 1}
		Expect(playSettled([]byte("one\n\n\n"), s).Kept).To(Equal("one\n"))
	})
})

func TestOnlookers(t *testing.T) {
	onFakeClock(t, "a stuck redactor is abandoned, and lets nothing through", func(g *WithT) {
		b := newStub()
		cmd := capped(runner.Stream{})
		cmd.Timeout = time.Second
		release := make(chan struct{})
		cmd.Output.Stdout.Redact = func(l runner.Line) string {
			if l.Text == "stuck" {
				<-release
			}
			return l.Text
		}
		p := runner.Attach(cmd, b, time.Now())
		b.out.write([]byte("fine\n"))
		synctest.Wait()
		b.out.write([]byte("stuck\n"))
		synctest.Wait()
		b.out.write([]byte("secret\n"))
		res, took := settled(p)
		g.Expect(took).To(Equal(1500 * time.Millisecond))
		g.Expect(res).To(HaveStdout("fine\n"))
		g.Expect(res).To(HaveTruncated(runner.Stdout))
		g.Expect(res.TeeErr()).To(HaveOccurred())
		var lines []string
		for _, line := range allLines(p) {
			lines = append(lines, line.Text)
		}
		g.Expect(lines).To(Equal([]string{"fine"}))
		close(release)
		synctest.Wait()
		g.Expect(res).To(HaveStdout("fine\n"))
	})
	onFakeClock(t, "a stuck handler is abandoned as a stuck tee is, and costs no byte", func(g *WithT) {
		b := newStub()
		cmd := capped(runner.Stream{})
		cmd.Timeout = time.Second
		release := make(chan struct{})
		calls := 0
		cmd.Output.Stdout.OnLine = func(runner.Line) { calls++; <-release }
		p := runner.Attach(cmd, b, time.Now())
		b.out.write([]byte("one\ntwo\n"))
		synctest.Wait()
		b.out.write([]byte("three\n"))
		res, took := settled(p)
		g.Expect(took).To(Equal(1500 * time.Millisecond))
		g.Expect(res).To(HaveStdout("one\ntwo\nthree\n"))
		g.Expect(res).NotTo(HaveTruncated(runner.Stdout))
		g.Expect(res.TeeErr()).To(HaveOccurred())
		close(release)
		synctest.Wait()
		g.Expect(calls).To(Equal(1))
	})
	onFakeClock(t, "a handler does not hold back what comes after it is gone", func(g *WithT) {
		b := newStub()
		var tee bytes.Buffer
		p := runner.Attach(capped(runner.Stream{Tee: &tee, OnLine: func(runner.Line) { panic("gone") }}), b, time.Now())
		for i := range 10 {
			b.out.write(fmt.Appendln(nil, i))
			synctest.Wait()
		}
		b.finish(contain.ExitStatus{})
		res, _ := settled(p)
		g.Expect(tee.Bytes()).To(Equal(res.Stdout()))
		g.Expect(res.StdoutTotal()).To(BeEquivalentTo(20))
	})
}

var _ = Describe("an output file", func() {
	It("that the disk has no room for ends the run, loudly, with its tree", func(ctx SpecContext) {
		dir := fullDisk()
		cmd := fixture("flood")
		cmd.Output.Stdout = runner.Stream{Policy: runner.Discard, File: runner.NewFile(filepath.Join(dir, "out"))}
		find := marked(cmd)
		res, err := runner.Run(ctx, runner.Contained{}, cmd)
		Expect(err).To(MatchError(runner.ErrFile))
		Expect(err).To(MatchError(ContainSubstring("no space left on device")))
		failed, ok := errors.AsType[*runner.FileError](err)
		Expect(ok).To(BeTrue())
		Expect(failed.Stream).To(Equal(runner.Stdout))
		Expect(res).To(HaveBeenCancelled())
		Expect(find()).NotTo(HaveSurvivors())
		Expect(runnertest.Leaks(err, dir)).To(BeEmpty())
	}, NodeTimeout(time.Minute))

	It("that the last bytes do not fit into is no success either", func(ctx SpecContext) {
		dir := fullDisk()
		cmd := fixture("flood", "200000")
		cmd.Output.Stdout.File = runner.NewFile(filepath.Join(dir, "out"))
		res, err := runner.Run(ctx, runner.Contained{}, cmd)
		Expect(err).To(MatchError(runner.ErrFile))
		Expect(res).NotTo(HaveSucceeded())
		// The same, told by a run that is over from the start.
		cmd = runner.Command("x")
		cmd.Output.Stdout.File = runner.NewFile(filepath.Join(dir, "other"))
		_, err = runner.Settle(cmd, runner.Finished{Outcome: runner.Exited(0), Stdout: make([]byte, 200_000)}).Wait(ctx)
		Expect(err).To(MatchError(runner.ErrFile))
	}, NodeTimeout(time.Minute))

	It("refuses the start where it exists, or is a link or a pipe, and nothing is started or left", func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		there, link, missing := filepath.Join(dir, "there"), filepath.Join(dir, "link"), filepath.Join(dir, "no", "such")
		Expect(os.WriteFile(there, []byte("mine"), 0o600)).To(Succeed())
		Expect(os.Symlink(there, link)).To(Succeed())
		for _, f := range []runner.OutputFile{
			runner.NewFile(there), runner.NewFile(link), runner.AppendFile(link), runner.AppendFile(dir), runner.NewFile(missing),
		} {
			marker := filepath.Join(dir, "started")
			cmd := shell(`: >"$MARKER"`)
			cmd.Env = cmd.Env.Set("MARKER", marker)
			cmd.Output.Stdout.File = f
			_, err := runner.Contained{}.Start(ctx, cmd)
			Expect(err).To(beStartError(runner.StartBadOutput))
			Expect(runnertest.Leaks(err, dir)).To(BeEmpty())
			Expect(runnertest.Leaks(cmd, dir)).To(BeEmpty())
			Expect(runnertest.Leaks(f, dir)).To(BeEmpty())
			Expect(marker).NotTo(BeAnExistingFile())
		}
		Expect(os.ReadFile(there)).To(BeEquivalentTo("mine"))
	})

	It("is not left by a start that fails", func(ctx SpecContext) {
		path := filepath.Join(GinkgoT().TempDir(), "out")
		cmd := fixture("exit")
		cmd.Output.Stdout.File, cmd.Output.Stderr.File = runner.NewFile(path), runner.NewFile(path)
		_, err := runner.Contained{}.Start(ctx, cmd)
		Expect(err).To(beStartError(runner.StartBadOutput))
		Expect(path).NotTo(BeAnExistingFile())
	})
})

var _ = Describe("merged streams", func() {
	It("keep the order in which a real child wrote them", func(ctx SpecContext) {
		cmd := shell("for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done")
		cmd.Output.Merge = true
		out, err := runner.Output(ctx, runner.Contained{}, cmd)
		Expect(err).NotTo(HaveOccurred())
		var want []string
		for i := range 9 {
			want = append(want, fmt.Sprint("out ", i+1), fmt.Sprint("err ", i+1))
		}
		Expect(out).To(Equal(strings.Join(want, "\n")))
	})
})

var _ = Describe("output to nowhere but a reader", func() {
	It("keeps sentinel secrets out of every printer of what streams", func(ctx SpecContext) {
		const secret = "sentinel-0815"
		cmd := shell("echo " + secret + "; echo " + secret + " >&2; cat >&2")
		cmd.Env = cmd.Env.Set("TOKEN", secret)
		cmd.Stdin = runner.StdinString(secret)
		cmd.Output.Stdout.File = runner.NewFile(filepath.Join(GinkgoT().TempDir(), secret))
		p, err := runner.Contained{}.Start(ctx, cmd)
		Expect(err).NotTo(HaveOccurred())
		for e, err := range p.Events(ctx) {
			Expect(err).NotTo(HaveOccurred())
			for _, text := range []string{e.String(), e.Line.String(), fmt.Sprintf("%+v %#v %s %x", e, e, e.Line, e.Line)} {
				Expect(text).NotTo(ContainSubstring(secret))
			}
			if e.Kind != runner.EventLine {
				Expect(runnertest.Leaks(e, secret)).To(BeEmpty())
			}
		}
		for _, err := range []error{
			&runner.MissedError{Program: "p", Bytes: 3},
			&runner.FileError{Program: "p\n", Err: errors.New("a\x1b[2Jb\n")},
			&runner.NotReadyError{Program: "p\n", For: "x\ny", Err: errors.New("a\u202e\nb")},
		} {
			Expect(err.Error()).NotTo(MatchRegexp(`[\x00-\x1f\x{202e}]`))
		}
		Expect(p.Close()).To(Succeed())
	})
})
