package runnertest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/onsi/gomega"

	"github.com/boombox-go/boombox/runner"
)

func readyCases() []Case {
	says := func(text string) func(runner.Line) bool {
		return func(l runner.Line) bool { return strings.Contains(l.Text, text) }
	}
	never := func(context.Context) error { return errors.New("not yet") }
	server := Behaviour{Stdout: []byte("starting\nlistening on 80\n"), Pending: true}
	// notReady takes the error apart.
	notReady := func(s subject, err error) *runner.NotReadyError {
		s.tb.Helper()
		s.Expect(err).To(gomega.MatchError(runner.ErrNotReady))
		for _, other := range []error{runner.ErrTimedOut, runner.ErrIdleTimedOut, runner.ErrCancelled, runner.ErrUnsuccessful} {
			s.Expect(errors.Is(err, other)).To(gomega.BeFalse())
		}
		e, ok := errors.AsType[*runner.NotReadyError](err)
		s.Expect(ok).To(gomega.BeTrue())
		return e
	}
	return []Case{
		of("a line is waited for, on either stream, and again", func(s subject) {
			p := s.start(server, nil)
			for _, text := range []string{"listening", "starting", "listening"} {
				line, err := p.WaitForLine(s.ctx, says(text))
				s.Expect(err).NotTo(gomega.HaveOccurred())
				s.Expect(line.Text).To(gomega.ContainSubstring(text))
			}
			s.Expect(p.Settled()).NotTo(gomega.BeClosed())

			p = s.start(Behaviour{Stdout: []byte("out\n"), Stderr: []byte("hint\n")}, nil)
			line, err := p.WaitForLine(s.ctx, says("hint"))
			s.Expect(err).NotTo(gomega.HaveOccurred())
			s.Expect(line.Stream).To(gomega.Equal(runner.Stderr))
		}),
		of("a wait fails early when the run is over", func(s subject) {
			p := s.start(Behaviour{Stdout: []byte("no\n"), Code: 3}, nil)
			_, err := p.WaitForLine(s.ctx, says("listening"))
			s.Expect(notReady(s, err).Outcome).To(gomega.Equal(runner.Exited(3)))
			s.Expect(notReady(s, p.WaitFor(s.ctx, never)).Outcome).To(gomega.Equal(runner.Exited(3)))
			s.Expect(s.ctx.Err()).NotTo(gomega.HaveOccurred())
		}),
		of("a wait ends with its context, and the run lives on", func(s subject) {
			p := s.start(server, nil)
			ctx, cancel := context.WithTimeout(s.ctx, 30*time.Millisecond)
			defer cancel()
			_, err := p.WaitForLine(ctx, says("never"))
			s.Expect(err).To(gomega.MatchError(context.DeadlineExceeded))
			s.Expect(notReady(s, err).Outcome).To(gomega.BeZero())
			err = p.WaitFor(ctx, never)
			s.Expect(err).To(gomega.MatchError(context.DeadlineExceeded))
			s.Expect(notReady(s, err).Outcome).To(gomega.BeZero())
			s.Expect(p.Settled()).NotTo(gomega.BeClosed())
			_, err = p.WaitForLine(s.ctx, says("listening"))
			s.Expect(err).NotTo(gomega.HaveOccurred())
		}),
		of("a timeout of the run ends a wait as not ready, and is a timeout still", func(s subject) {
			p := s.start(server, func(c *runner.Cmd) { c.Timeout = 500 * time.Millisecond })
			_, err := p.WaitForLine(s.ctx, says("never"))
			s.Expect(notReady(s, err).Outcome).To(gomega.Equal(runner.TimedOut))
			res, err := p.Wait(s.ctx)
			s.Expect(err).NotTo(gomega.HaveOccurred())
			s.Expect(res.Outcome()).To(gomega.Equal(runner.TimedOut))
		}),
		of("what is waited for by asking is asked for until it is there, and once more in the end", func(s subject) {
			p := s.start(server, nil)
			asked := 0
			s.Expect(p.WaitFor(s.ctx, func(context.Context) error {
				if asked++; asked < 3 {
					return errors.New("not yet")
				}
				return nil
			})).To(gomega.Succeed())
			s.Expect(asked).To(gomega.Equal(3))

			p = s.start(Behaviour{}, nil)
			_, err := p.Wait(s.ctx)
			s.Expect(err).NotTo(gomega.HaveOccurred())
			s.Expect(p.WaitFor(s.ctx, func(ctx context.Context) error { return ctx.Err() })).To(gomega.Succeed())
		}),
	}
}
