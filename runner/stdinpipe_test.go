package runner_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("StdinPipe", func() {
	start := func(ctx SpecContext, cmd *runner.Cmd) *runner.Process {
		GinkgoHelper()
		cmd.Stdin = runner.StdinPipe()
		p, err := runner.Contained{}.Start(ctx, cmd)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(p.Close)
		return p
	}
	// flood writes until it cannot.
	flood := func(w io.Writer) error {
		for piece := bytes.Repeat([]byte("x"), 64<<10); ; {
			if _, err := w.Write(piece); err != nil {
				return err
			}
		}
	}

	It("can be started again, each time with a pipe of its own", func(ctx SpecContext) {
		cmd := fixture("cat")
		cmd.Stdin = runner.StdinPipe()
		one, two := start(ctx, cmd), start(ctx, cmd)
		for text, p := range map[string]*runner.Process{"one": one, "two": two} {
			_, err := io.WriteString(p.Stdin(), text)
			Expect(err).NotTo(HaveOccurred())
			Expect(p.Stdin().Close()).To(Succeed())
			res, err := p.Wait(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveStdout(text))
		}
	})

	It("brings pieces that are written at once whole, one after the other", func(ctx SpecContext) {
		p := start(ctx, fixture("cat"))
		var all sync.WaitGroup
		for i := range 8 {
			// Each is larger than a pipe, so that its write blocks in between.
			piece := strings.Repeat(string(rune('a'+i)), 200_000) + "\n"
			all.Go(func() {
				defer GinkgoRecover()
				_, err := io.WriteString(p.Stdin(), piece)
				Expect(err).NotTo(HaveOccurred())
			})
		}
		all.Wait()
		Expect(p.Stdin().Close()).To(Succeed())
		res, err := p.Wait(ctx)
		Expect(err).NotTo(HaveOccurred())
		lines := strings.Split(strings.TrimSpace(string(res.Stdout())), "\n")
		Expect(lines).To(HaveLen(8))
		for _, line := range lines {
			Expect(line).To(HaveLen(200_000))
			Expect(strings.Count(line, line[:1])).To(Equal(200_000), "two pieces are mixed")
		}
	})

	It("tells the writer, and no error, of a child that ends early", func(ctx SpecContext) {
		p := start(ctx, fixture("exit"))
		Expect(flood(p.Stdin())).To(MatchError(io.ErrClosedPipe))
		res, err := p.Wait(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(res.Check()).To(Succeed())
		Expect(res.StdinErr()).NotTo(HaveOccurred())
		_, err = p.Stdin().Write([]byte("late"))
		Expect(err).To(MatchError(io.ErrClosedPipe), "when the run is over, too")
	})

	It("lets go of a blocked writer when the run is ended", func(ctx SpecContext) {
		cmd := fixture("nostdin")
		cmd.Timeout = 300 * time.Millisecond
		p := start(ctx, cmd)
		Expect(flood(p.Stdin())).To(MatchError(io.ErrClosedPipe))
		res, err := p.Wait(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveTimedOut())
	})

	It("lets go of a blocked writer when it is closed", func(ctx SpecContext) {
		p := start(ctx, fixture("nostdin"))
		done := make(chan error, 1)
		go func() { done <- flood(p.Stdin()) }()
		Consistently(done).WithTimeout(100*time.Millisecond).ShouldNot(Receive(), "the control: it is blocked")
		Expect(p.Stdin().Close()).To(Succeed())
		Eventually(done).WithTimeout(10 * time.Second).Should(Receive(MatchError(os.ErrClosed)))
	})

	It("stays open when nobody has asked for it, and a Wait gives up", func(ctx SpecContext) {
		p := start(ctx, fixture("cat"))
		Consistently(p.Settled()).WithTimeout(100 * time.Millisecond).ShouldNot(BeClosed())
		Expect(p.Stdin().Close()).To(Succeed())
		Eventually(p.Settled()).WithTimeout(10 * time.Second).Should(BeClosed())
	})

	It("is not left open by a start that failed", func(ctx SpecContext) {
		cmd := runner.Command("boombox-no-such-program")
		cmd.Stdin = runner.StdinPipe()
		_, err := runner.Contained{}.Start(ctx, cmd)
		Expect(err).To(beStartError(runner.StartNotFound)) // the suite counts descriptors
	})

	It("can be opened by nobody", func() {
		_, err := runner.StdinPipe().Open()
		Expect(err).To(HaveOccurred())
		Expect(runner.StdinPipe().Kind().String()).To(Equal("interactive"))
	})

	Describe("of a backend", func() {
		attach := func(b runner.Backend, tap func([]byte)) *runner.Process {
			cmd := runner.Command("tool")
			cmd.Stdin = runner.StdinPipe()
			if tap != nil {
				cmd = cmd.TappedStdin(tap)
			}
			p := runner.Attach(cmd, b, time.Now())
			DeferCleanup(p.Close)
			return p
		}
		failure := errors.New("no more room")

		for code, want := range []error{failure, nil} {
			It("tells of a writer that fails if nothing else has: exit code "+string(rune('0'+code)), func(ctx SpecContext) {
				b := &talkative{stub: newStub(), err: failure}
				p := attach(b, nil)
				_, err := p.Stdin().Write([]byte("x"))
				Expect(err).To(MatchError(failure))
				b.finish(contain.ExitStatus{Code: code})
				res, err := p.Wait(ctx)
				Expect(err).NotTo(HaveOccurred())
				if want == nil {
					Expect(res.StdinErr()).NotTo(HaveOccurred())
					return
				}
				Expect(res.StdinErr()).To(MatchError(failure))
				Expect(res.Check()).To(MatchError(failure))
			})
		}

		It("takes a broken pipe for a child that takes no more", func(ctx SpecContext) {
			b := &talkative{stub: newStub(), err: syscall.EPIPE}
			p := attach(b, nil)
			_, err := p.Stdin().Write([]byte("x"))
			Expect(err).To(MatchError(io.ErrClosedPipe))
			b.finish(contain.ExitStatus{})
			res, err := p.Wait(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(res.Check()).To(Succeed())
		})

		It("fails loudly where there is none", func(ctx SpecContext) {
			b := newStub()
			p := attach(b, nil)
			_, err := p.Stdin().Write([]byte("lost"))
			Expect(err).To(HaveOccurred())
			b.finish(contain.ExitStatus{})
			res, err := p.Wait(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(res.Check()).To(HaveOccurred())
		})

		It("is tapped behind the output that its writer has seen, however he saw it", func(ctx SpecContext) {
			const turns = 50_000
			b := echoing{newStub()}
			var seen []byte
			cmd := runner.Command("tool").Tapped(func(runner.StreamID, []byte) { seen = append(seen, 'o') })
			cmd = cmd.TappedStdin(func([]byte) { seen = append(seen, 'i') })
			cmd.Stdin = runner.StdinPipe()
			p := runner.Attach(cmd, b, time.Now())
			say := func() {
				_, err := p.Stdin().Write([]byte("x\n"))
				Expect(err).NotTo(HaveOccurred())
			}
			say()
			n := 0
			for range p.Lines(ctx) {
				if n++; n == turns {
					break
				}
				say()
			}
			b.finish(contain.ExitStatus{})
			_, err := p.Wait(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(strings.ReplaceAll(string(seen), "io", "")).To(BeEmpty())
		})

		It("survives a tap that panics, and one that is stuck", func(ctx SpecContext) {
			b := &talkative{stub: newStub()}
			p := attach(b, func([]byte) { panic(failure) })
			for range 2 {
				_, err := p.Stdin().Write([]byte("x"))
				Expect(err).NotTo(HaveOccurred())
			}
			b.finish(contain.ExitStatus{})
			res, err := p.Wait(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(res.TeeErr()).To(MatchError(failure))

			release := make(chan struct{})
			b = &talkative{stub: newStub()}
			p = attach(b, func([]byte) { <-release })
			wrote := make(chan struct{})
			go func() { defer close(wrote); _, _ = p.Stdin().Write([]byte("x")) }()
			Consistently(wrote).WithTimeout(50 * time.Millisecond).ShouldNot(BeClosed())
			b.finish(contain.ExitStatus{})
			Eventually(p.Settled()).WithTimeout(10 * time.Second).Should(BeClosed())
			close(release)
			Eventually(wrote).Should(BeClosed())
		})
	})

	It("takes anything where the run is over from the start", func() {
		cmd := runner.Command("tool")
		cmd.Stdin = runner.StdinPipe()
		p := runner.Settle(cmd, runner.Finished{Outcome: runner.Exited(0)})
		Expect(p.Stdin().Write([]byte("x"))).To(Equal(1))
		Expect(p.Stdin().Close()).To(Succeed())
		_, err := p.Stdin().Write([]byte("x"))
		Expect(err).To(MatchError(os.ErrClosed))
	})
})

// echoing is a backend that says what it is told.
type echoing struct{ *stub }

func (b echoing) Stdin() io.WriteCloser { return echo{b.stub} }

type echo struct{ b *stub }

func (e echo) Write(p []byte) (int, error) {
	e.b.out.write(bytes.Clone(p))
	return len(p), nil
}

func (echo) Close() error { return nil }

// talkative is a backend with an input.
type talkative struct {
	*stub
	err error
}

func (b *talkative) Stdin() io.WriteCloser { return stubInput{b} }

type stubInput struct{ b *talkative }

func (s stubInput) Write(p []byte) (int, error) {
	if s.b.err != nil {
		return 0, s.b.err
	}
	return len(p), nil
}

func (stubInput) Close() error { return nil }
