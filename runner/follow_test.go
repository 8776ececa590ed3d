//nolint:forbidigo // the clock of a testing/synctest bubble
package runner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// capped is a command whose standard output is kept as s says.
func capped(s runner.Stream) *runner.Cmd {
	cmd := runner.Command("x")
	cmd.Output.Stdout = s
	return cmd
}

const aLine = "0123456789\n"

// fallBehind begins to read the lines of a child that then writes far more than is kept for a reader.
func fallBehind(g *WithT, ctx context.Context, configure func(*runner.Cmd)) (b *stub, p *runner.Process, pull func() (runner.Line, error, bool), stop func()) {
	b = newStub()
	b.out.most = len(aLine)
	cmd := capped(runner.Stream{Policy: runner.Tail, MaxBytes: 20})
	configure(cmd)
	p = runner.Attach(cmd, b, time.Now())
	pull, stop = iter.Pull2(p.Lines(ctx))
	b.out.write([]byte(aLine))
	_, err, ok := pull()
	g.Expect(ok).To(BeTrue())
	g.Expect(err).NotTo(HaveOccurred())
	for range 99 {
		b.out.write([]byte(aLine))
	}
	return b, p, pull, stop
}

func TestFollowers(t *testing.T) {
	plainly := func(*runner.Cmd) {}
	next := func(g *WithT, pull func() (runner.Line, error, bool)) runner.Line {
		line, err, ok := pull()
		g.Expect(ok).To(BeTrue())
		g.Expect(err).NotTo(HaveOccurred())
		return line
	}
	onFakeClock(t, "a slow reader within the cap does not hold the child up", func(g *WithT) {
		b := newStub()
		p := runner.Attach(capped(runner.Stream{Policy: runner.Head, MaxBytes: 1000}), b, time.Now())
		pull, stop := iter.Pull2(p.Lines(context.Background()))
		defer stop()
		b.out.write([]byte(aLine))
		next(g, pull)
		for range 50 {
			b.out.write([]byte(aLine))
			synctest.Wait()
		}
		g.Expect(b.out.unread()).To(BeZero())
		b.finish(contain.ExitStatus{})
		for range 50 {
			next(g, pull)
		}
	})
	onFakeClock(t, "a reader that is further behind makes the child wait, and loses nothing", func(g *WithT) {
		b, _, pull, stop := fallBehind(g, context.Background(), plainly)
		defer stop()
		synctest.Wait()
		waiting := b.out.unread()
		g.Expect(waiting).To(BeNumerically(">", 90*len(aLine)))
		for range 99 {
			next(g, pull)
		}
		synctest.Wait()
		g.Expect(b.out.unread()).To(BeZero())
		b.finish(contain.ExitStatus{})
		_, _, more := pull()
		g.Expect(more).To(BeFalse())
	})
	onFakeClock(t, "a reader that leaves, or whose context ends, lets the child go on", func(g *WithT) {
		for _, leave := range []func(stop, cancel func()){
			func(stop, _ func()) { stop() },
			func(_, cancel func()) { cancel() },
		} {
			ctx, cancel := context.WithCancel(context.Background())
			b, p, _, stop := fallBehind(g, ctx, plainly)
			synctest.Wait()
			g.Expect(b.out.unread()).NotTo(BeZero())
			leave(stop, cancel)
			synctest.Wait()
			g.Expect(b.out.unread()).To(BeZero())
			b.finish(contain.ExitStatus{})
			settled(p)
			cancel()
			stop()
		}
	})
	onFakeClock(t, "a stuck reader does not hold up the end of a run", func(g *WithT) {
		for _, own := range []bool{true, false} {
			b, p, pull, stop := fallBehind(g, context.Background(), func(cmd *runner.Cmd) { cmd.Timeout = time.Minute })
			if own {
				b.finish(contain.ExitStatus{})
			}
			res, took := settled(p)
			if own {
				g.Expect(took).To(BeZero())
			} else {
				g.Expect(took).To(Equal(time.Minute))
				g.Expect(res).To(HaveTimedOut())
			}
			g.Expect(res.StdoutTotal()).To(BeEquivalentTo(100 * len(aLine)))
			for range 99 {
				next(g, pull)
			}
			stop()
		}
	})
	onFakeClock(t, "the time that a reader takes is not the child's idleness", func(g *WithT) {
		b := newStub()
		cmd := capped(runner.Stream{Policy: runner.Tail, MaxBytes: 20})
		cmd.IdleTimeout = time.Second
		b.out.most = len(aLine)
		p := runner.Attach(cmd, b, time.Now())
		go func() {
			time.Sleep(time.Millisecond) // when the reader waits: one that comes late has missed what was not kept
			for range 4 {
				b.out.write([]byte(aLine))
			}
		}()
		lines := 0
		for _, err := range p.Lines(context.Background()) {
			g.Expect(err).NotTo(HaveOccurred())
			time.Sleep(time.Hour)
			if lines++; lines == 4 {
				b.finish(contain.ExitStatus{})
			}
		}
		res, _ := settled(p)
		g.Expect(res).To(HaveOutcome(runner.IdleTimedOut), "while it reads and nothing comes, the child is idle")
		g.Expect(res).To(HaveDuration(BeNumerically(">=", time.Hour)))
	})
	onFakeClock(t, "many readers each have all of it, whenever they come", func(g *WithT) {
		b := newStub()
		p := runner.Attach(runner.Command("x"), b, time.Now())
		var got [3]bytes.Buffer
		done := make(chan struct{}, len(got))
		for i := range got {
			go func() {
				defer func() { done <- struct{}{} }()
				time.Sleep(time.Duration(i) * 5 * time.Second)
				for line, err := range p.Lines(context.Background()) {
					if err == nil {
						got[i].WriteString(line.Text + line.End)
					}
				}
			}()
		}
		for i := range 10 {
			b.out.write(fmt.Appendf(nil, "line %d\nand ", i))
			time.Sleep(time.Second)
		}
		b.finish(contain.ExitStatus{})
		for range got {
			<-done
		}
		res, _ := settled(p)
		for i := range got {
			g.Expect(got[i].String()).To(Equal(string(res.Stdout())))
		}
	})
	onFakeClock(t, "a reader that comes late has the streams in the order of their arrival", func(g *WithT) {
		b := newStub()
		p := runner.Attach(runner.Command("x"), b, time.Now())
		var want []string
		for i := range 20 {
			to, name := b.out, "out"
			if i%3 == 0 {
				to, name = b.err, "err"
			}
			want = append(want, fmt.Sprint(name, i))
			to.write([]byte(want[i] + "\n"))
			synctest.Wait()
		}
		b.finish(contain.ExitStatus{})
		settled(p)
		var got []string
		for _, line := range allLines(p) {
			got = append(got, line.Text)
		}
		g.Expect(got).To(Equal(want))
	})
	onFakeClock(t, "with Discard the beginning waits for a reader, up to 256 KiB, and no more", func(g *WithT) {
		for _, size := range []int{200 << 10, 400 << 10} {
			b := newStub()
			p := runner.Attach(capped(runner.Stream{Policy: runner.Discard}), b, time.Now())
			b.out.write(bytes.Repeat([]byte("x"), size-1))
			b.out.write([]byte("\n"))
			synctest.Wait()
			pull, stop := iter.Pull2(p.Lines(context.Background()))
			if size < 256<<10 {
				g.Expect(next(g, pull).Text).To(HaveLen(size - 1))
			} else {
				_, err, _ := pull()
				missed, ok := errors.AsType[*runner.MissedError](err)
				g.Expect(ok).To(BeTrue())
				g.Expect(missed.Bytes).To(BeEquivalentTo(size))
			}
			b.out.write([]byte("later\n"))
			g.Expect(next(g, pull).Text).To(Equal("later"))
			stop()
			b.finish(contain.ExitStatus{})
			res, _ := settled(p)
			g.Expect(res).To(HaveStdout(""))
			g.Expect(res).To(HaveTruncated(runner.Stdout))
		}
	})
	onFakeClock(t, "with Tail a late reader hears how much is gone, and its end is not written over", func(g *WithT) {
		b := newStub()
		p := runner.Attach(capped(runner.Stream{Policy: runner.Tail, MaxBytes: 3000}), b, time.Now())
		b.out.write(bytes.Repeat([]byte("old\n"), 1000))
		synctest.Wait()
		pull, stop := iter.Pull2(p.Lines(context.Background()))
		defer stop()
		_, err, _ := pull()
		g.Expect(err).To(MatchError(runner.ErrMissed))
		b.out.write(bytes.Repeat([]byte("new\n"), 5000))
		b.finish(contain.ExitStatus{})
		var texts []string
		for line, err, ok := pull(); ok; line, err, ok = pull() {
			g.Expect(err).NotTo(HaveOccurred())
			texts = append(texts, line.Text)
		}
		g.Expect(strings.Count(strings.Join(texts, " "), "old")).To(Equal(750))
		g.Expect(strings.Count(strings.Join(texts, " "), "new")).To(Equal(5000))
	})
}

var _ = Describe("the lines of a real child", func() {
	It("come while it runs, whatever it does to the other stream", func(ctx SpecContext) {
		// The flood on standard error passes what any pipe holds, before and after the line that is waited for.
		cmd := shell("head -c 3000000 /dev/zero >&2; echo first; head -c 3000000 /dev/zero >&2; echo second; exec sleep 60")
		cmd.Output.Stderr = runner.Stream{Policy: runner.Discard}
		p, err := runner.Contained{}.Start(ctx, cmd)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(p.Close)
		var texts []string
		for line, err := range p.Lines(ctx) {
			if errors.Is(err, runner.ErrMissed) {
				continue
			}
			Expect(err).NotTo(HaveOccurred())
			if line.Stream == runner.Stdout {
				if texts = append(texts, line.Text); len(texts) == 2 {
					break
				}
			}
		}
		Expect(texts).To(Equal([]string{"first", "second"}))
		Expect(p.Settled()).NotTo(BeClosed())
	}, NodeTimeout(time.Minute))

	It("do not stall it when their reader walks away in the middle", func(ctx SpecContext) {
		const size = 20 << 20
		cmd := fixture("flood", fmt.Sprint(size))
		cmd.Output.Stdout = runner.Stream{Policy: runner.Tail, MaxBytes: 1 << 10, MaxLine: 10}
		p, err := runner.Contained{}.Start(ctx, cmd)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(p.Close)
		reading, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		for range p.Lines(reading) {
			break
		}
		res, err := p.Wait(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveSucceeded())
		Expect(res.StdoutTotal()).To(BeEquivalentTo(size))
	}, NodeTimeout(time.Minute))

	It("do not cost the tree when their reader panics", func(ctx SpecContext) {
		cmd := fixture("pipeholder")
		find := marked(cmd)
		p, err := runner.Contained{}.Start(ctx, cmd)
		Expect(err).NotTo(HaveOccurred())
		func() {
			defer func() { Expect(recover()).NotTo(BeNil()) }()
			defer func() { Expect(p.Close()).To(Succeed()) }()
			for range p.Lines(ctx) {
				panic("reader")
			}
		}()
		Expect(find()).NotTo(HaveSurvivors())
	}, NodeTimeout(time.Minute))
})
