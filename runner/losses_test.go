//nolint:forbidigo // the clock of a testing/synctest bubble
package runner_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// failingReader gives what it has, and then a failure.
type failingReader struct {
	io.Reader
	err error
}

func (r failingReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if err == io.EOF {
		err = r.err
	}
	return n, err
}

func (failingReader) Close() error { return nil }

// failingOut is a stub whose standard output fails.
type failingOut struct {
	*stub
	out io.ReadCloser
}

func (b failingOut) Stdout() io.ReadCloser { return b.out }

// Ways in which runners have lost output, or told of an end that was not.
func TestNothingIsLost(t *testing.T) {
	onFakeClock(t, "a read error neither drops nor invents the end of the stream", func(g *WithT) {
		b := newStub()
		said := "whole\nhalf \xe6\x97"
		p := runner.Attach(runner.Command("x"), failingOut{b, failingReader{strings.NewReader(said), syscall.EIO}}, time.Now())
		b.finish(contain.ExitStatus{})
		res, _ := settled(p)
		g.Expect(res).To(HaveStdout(said))
		g.Expect(res).To(HaveTruncated(runner.Stdout), "nobody knows what came after")
		g.Expect(allLines(p)).To(Equal([]runner.Line{{Text: "whole", End: "\n"}, {Text: "half \xe6\x97"}}))
	})
	onFakeClock(t, "lines end with the run, although somebody outside the tree holds the pipe", func(g *WithT) {
		b := newStub()
		b.outsider = true
		p := runner.Attach(runner.Command("x"), b, time.Now())
		b.out.write([]byte("last"))
		b.exit(contain.ExitStatus{Code: 3})
		g.Expect(allLines(p)).To(Equal([]runner.Line{{Text: "last"}}))
		res, _ := settled(p)
		g.Expect(res).To(HaveExited(3))
		g.Expect(res.PipesHeld()).To(BeTrue())
	})
	onFakeClock(t, "a reader that takes all at once does not evade the cap", func(g *WithT) {
		b := newStub()
		b.out.most = 4
		cmd := capped(runner.Stream{MaxBytes: 10})
		p := runner.Attach(cmd, b, time.Now())
		pull, stop := iter.Pull2(p.Lines(context.Background()))
		defer stop()
		for range 3 {
			b.out.write([]byte("abc\n"))
			line, _, _ := pull()
			g.Expect(line.Text).To(Equal("abc"))
		}
		res, _ := settled(p)
		g.Expect(res).To(HaveOverflowed())
	})
	onFakeClock(t, "closing a run in its grace, or when it times out, ends the tree once and waits for that", func(g *WithT) {
		b := newStub()
		cmd := runner.Command("x")
		cmd.Timeout, cmd.Grace = time.Second, time.Minute
		p := runner.Attach(cmd, b, time.Now())
		time.Sleep(2 * time.Second)
		g.Expect(p.Close()).To(Succeed())
		g.Expect(p.Settled()).To(BeClosed())
		g.Expect(b.kills).To(Equal(1))
		g.Expect(b.terminated).To(HaveLen(1))
		res, _ := p.Result()
		g.Expect(res).To(HaveTimedOut())
		g.Expect(res.SettledAfter()).To(Equal(time.Second + time.Minute))
	})
	onFakeClock(t, "an end that a wait for a line saw first is no timeout", func(g *WithT) {
		b := newStub()
		cmd := runner.Command("x")
		cmd.Timeout = time.Second
		p := runner.Attach(cmd, b, time.Now())
		go func() { time.Sleep(time.Second - 1); b.finish(contain.ExitStatus{}) }()
		_, err := p.WaitForLine(context.Background(), func(runner.Line) bool { return false })
		notReady, ok := errors.AsType[*runner.NotReadyError](err)
		g.Expect(ok).To(BeTrue())
		g.Expect(notReady.Outcome).To(Equal(runner.Exited(0)))
		res, _ := settled(p)
		g.Expect(res).To(HaveSucceeded())
	})
	onFakeClock(t, "a line that is never redacted whole does not grow beyond its most", func(g *WithT) {
		b := newStub()
		p := runner.Attach(capped(runner.Stream{MaxLine: 16, Redact: func(l runner.Line) string { return l.Text }}), b, time.Now())
		for range 100 {
			b.out.write(bytes.Repeat([]byte("x"), 1<<10))
		}
		b.out.write([]byte("\nshort\n"))
		b.finish(contain.ExitStatus{})
		res, _ := settled(p)
		g.Expect(res).To(HaveStdout("\nshort\n"))
	})
}

var _ = Describe("nothing is lost", func() {
	It("of a failed run's streams, however long they are", func(ctx SpecContext) {
		_, err := runner.Output(ctx, runner.Contained{}, shell("head -c 300000 /dev/zero >&2; exit 1"))
		exit, ok := errors.AsType[*runner.ExitError](err)
		Expect(ok).To(BeTrue())
		Expect(exit.Result().Stderr()).To(HaveLen(300_000))
	})

	It("of the time of a run that is read line by line in a shared group", func(ctx SpecContext) {
		p, err := floor().Start(ctx, func() *runner.Cmd {
			cmd := shell("echo begun; exec sleep 60")
			cmd.Timeout = 300 * time.Millisecond
			return cmd
		}())
		Expect(err).NotTo(HaveOccurred())
		for line, err := range p.Lines(ctx) {
			Expect(err).NotTo(HaveOccurred())
			Expect(line.Text).To(Equal("begun"))
		}
		res, err := p.Wait(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveTimedOut())
	}, NodeTimeout(time.Minute))

	It("of the kill at the end of a grace, although nobody holds the process any more", func(ctx SpecContext) {
		r := floor()
		cmd := fixture("sigtermignorer", "life=60s")
		control := cmd.Clone()
		cmd.Timeout, cmd.Grace = time.Second, 200*time.Millisecond
		find, findControl := marked(cmd), marked(control)
		for _, cmd := range []*runner.Cmd{cmd, control} {
			_, err := r.Start(ctx, cmd)
			Expect(err).NotTo(HaveOccurred())
		}
		runtime.GC()
		Eventually(find).WithTimeout(30 * time.Second).ShouldNot(HaveSurvivors())
		Expect(findControl()).NotTo(BeEmpty(), "the control: it has no deadline")
	}, NodeTimeout(time.Minute))

	It("of either stream to a second reader, nor of what the run came to", func(ctx SpecContext) {
		cmd := shell("echo out; echo err >&2; exec head -c 1000 /dev/zero")
		cmd.Output.Stdout.MaxBytes = 100
		p, err := runner.Contained{}.Start(ctx, cmd)
		Expect(err).NotTo(HaveOccurred())
		for range 2 {
			var first [2]string
			for line, err := range p.Lines(ctx) {
				if errors.Is(err, runner.ErrMissed) {
					continue // what passed the cap is told
				}
				Expect(err).NotTo(HaveOccurred())
				if first[line.Stream] == "" {
					first[line.Stream] = line.Text
				}
			}
			Expect(first).To(Equal([2]string{runner.Stdout: "out", runner.Stderr: "err"}))
			res, err := p.Wait(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveOverflowed())
			Expect(res).To(HaveStderr("err\n"))
		}
	}, NodeTimeout(time.Minute))

	It("of the end of a child whose grandchild holds the pipe, by a wait for a line", func(ctx SpecContext) {
		p, err := runner.Contained{}.Start(ctx, fixture("pipeholder"))
		Expect(err).NotTo(HaveOccurred())
		_, err = p.WaitForLine(ctx, func(l runner.Line) bool { return l.Text == "never" })
		notReady, ok := errors.AsType[*runner.NotReadyError](err)
		Expect(ok).To(BeTrue())
		Expect(notReady.Outcome).To(Equal(runner.Exited(0)))
		Expect(p.Close()).To(Succeed())
	}, NodeTimeout(time.Minute))
})

var _ = Describe("the request that begins a grace", func() {
	// What the child does shows which signal it got: it can only be told by one that it handles.
	script := `trap 'echo interrupted; exit 7' INT; trap 'echo terminated; exit 8' TERM; echo ready; while :; do sleep 0.05; done`

	stopped := func(ctx context.Context, configure func(*runner.Cmd)) *runner.Result {
		GinkgoHelper()
		cmd := shell(script)
		configure(cmd)
		p, err := runner.Contained{}.Start(ctx, cmd)
		Expect(err).NotTo(HaveOccurred())
		_, err = p.WaitForLine(ctx, func(l runner.Line) bool { return l.Text == "ready" })
		Expect(err).NotTo(HaveOccurred())
		Expect(p.Close()).To(Succeed())
		res, _ := p.Result()
		Expect(res).To(HaveBeenCancelled())
		return res
	}

	It("is the command's own, SIGTERM by default", func(ctx SpecContext) {
		res := stopped(ctx, func(c *runner.Cmd) { c.Grace, c.StopSignal = time.Minute, syscall.SIGINT })
		Expect(res).To(HaveStdout("ready\ninterrupted\n"))
		res = stopped(ctx, func(c *runner.Cmd) { c.Grace = time.Minute })
		Expect(res).To(HaveStdout("ready\nterminated\n"))
	}, NodeTimeout(time.Minute))

	It("does not come where a cancel has no grace, nor where nobody has one", func(ctx SpecContext) {
		for _, configure := range []func(*runner.Cmd){
			func(c *runner.Cmd) { c.Grace, c.CancelGrace = time.Minute, runner.NoGrace },
			func(*runner.Cmd) {},
		} {
			Expect(stopped(ctx, configure)).To(HaveStdout("ready\n"))
		}
	}, NodeTimeout(time.Minute))
})
