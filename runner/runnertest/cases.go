package runnertest

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"github.com/onsi/gomega/gstruct"

	"github.com/boombox-go/boombox/runner"
)

// Cases lists everything that every Runner does.
func Cases() []Case {
	return slices.Concat(outcomeCases(), endingCases(), startCases(), streamCases(), outputCases(), lineCases(),
		readyCases(), conversationCases(), sharedCases())
}

// patience bounds every wait of a case. Nothing here takes that long.
const patience = 30 * time.Second

// subject is one case under way.
type subject struct {
	*gomega.WithT
	tb  testing.TB
	ctx context.Context
	h   Harness
}

// of makes a Case of a check.
func of(name string, check func(s subject)) Case {
	return Case{Name: name, check: func(tb testing.TB, h Harness) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		check(subject{WithT: gomega.NewWithT(tb), tb: tb, ctx: ctx, h: h})
	}}
}

// prepare asks the harness, with what configure sets.
func (s subject) prepare(b Behaviour, configure func(*runner.Cmd)) (runner.Runner, *runner.Cmd) {
	s.tb.Helper()
	if configure == nil {
		configure = func(*runner.Cmd) {}
	}
	return s.h.Prepare(s.tb, b, configure)
}

// run runs one that must come to a Result.
func (s subject) run(b Behaviour, configure func(*runner.Cmd)) *runner.Result {
	s.tb.Helper()
	r, cmd := s.prepare(b, configure)
	res, err := runner.Run(s.ctx, r, cmd)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	return res
}

// start starts one, and sees to it that it is closed.
func (s subject) start(b Behaviour, configure func(*runner.Cmd)) *runner.Process {
	s.tb.Helper()
	r, cmd := s.prepare(b, configure)
	p, err := r.Start(s.ctx, cmd)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	s.tb.Cleanup(func() { _ = p.Close() })
	return p
}

func outcomeCases() []Case {
	return []Case{
		of("exit code 0 is success", func(s subject) {
			res := s.run(Behaviour{}, nil)
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Exited(0)))
			s.Expect(res.Success()).To(gomega.BeTrue())
			s.Expect(res.Check()).To(gomega.Succeed())
		}),
		of("another exit code is data", func(s subject) {
			res := s.run(Behaviour{Code: 3}, nil)
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Exited(3)))
			code, ok := res.ExitCode()
			s.Expect(code).To(gomega.Equal(3))
			s.Expect(ok).To(gomega.BeTrue())
			s.Expect(res.Success()).To(gomega.BeFalse())
			s.Expect(res.Check()).To(gomega.MatchError(runner.ErrUnsuccessful))
			s.Expect(res.Check()).NotTo(gomega.MatchError(runner.ErrTimedOut))
		}),
		of("a signal is data, and no exit code", func(s subject) {
			res := s.run(Behaviour{Signal: syscall.SIGKILL}, nil)
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Signalled(syscall.SIGKILL)))
			_, ok := res.ExitCode()
			s.Expect(ok).To(gomega.BeFalse())
			s.Expect(res.Check()).To(gomega.MatchError(runner.ErrUnsuccessful))
		}),
		of("Output is trimmed at its end, and requires success", func(s subject) {
			r, cmd := s.prepare(Behaviour{Stdout: []byte("  word \r\n\n"), Stderr: []byte("noise")}, nil)
			s.Expect(runner.Output(s.ctx, r, cmd)).To(gomega.Equal("  word"))

			r, cmd = s.prepare(Behaviour{Stdout: []byte("part"), Code: 4}, nil)
			out, err := runner.Output(s.ctx, r, cmd)
			s.Expect(out).To(gomega.BeEmpty())
			exit, ok := errors.AsType[*runner.ExitError](err)
			s.Expect(ok).To(gomega.BeTrue())
			s.Expect(string(exit.Result().Stdout())).To(gomega.Equal("part"))
		}),
		of("Output refuses what is not whole", func(s subject) {
			r, cmd := s.prepare(Behaviour{Stdout: []byte("0123456789")}, func(c *runner.Cmd) {
				c.Output.Stdout = runner.Stream{Policy: runner.Head, MaxBytes: 4}
			})
			_, err := runner.Output(s.ctx, r, cmd)
			s.Expect(err).To(gomega.MatchError(runner.ErrOverflowed))
		}),
		of("Probe takes 0 for true, 1 for false, and nothing else", func(s subject) {
			for code, want := range []bool{true, false} {
				r, cmd := s.prepare(Behaviour{Code: code}, nil)
				s.Expect(runner.Probe(s.ctx, r, cmd)).To(gomega.Equal(want))
			}
			r, cmd := s.prepare(Behaviour{Code: 2}, nil)
			_, err := runner.Probe(s.ctx, r, cmd)
			s.Expect(err).To(gomega.MatchError(runner.ErrUnsuccessful))
		}),
	}
}

func endingCases() []Case {
	pending := Behaviour{Stdout: []byte("begun\n"), Pending: true}
	return []Case{
		of("the command's timeout ends it, and is data", func(s subject) {
			res := s.run(pending, func(c *runner.Cmd) { c.Timeout = 500 * time.Millisecond })
			s.Expect(res.Outcome()).To(gomega.Equal(runner.TimedOut))
			s.Expect(res.Timeout()).To(gomega.Equal(500 * time.Millisecond))
			s.Expect(string(res.Stdout())).To(gomega.Equal("begun\n"))
			s.Expect(res.Check()).To(gomega.MatchError(runner.ErrTimedOut))
			s.Expect(res.Check()).NotTo(gomega.MatchError(runner.ErrIdleTimedOut))
			s.Expect(res.Check()).NotTo(gomega.MatchError(runner.ErrCancelled))
		}),
		of("a grace after the timeout does not change what it is", func(s subject) {
			res := s.run(pending, func(c *runner.Cmd) { c.Timeout, c.Grace = 500*time.Millisecond, patience })
			s.Expect(res.Outcome()).To(gomega.Equal(runner.TimedOut))
			s.Expect(res.SettledAfter()).To(gomega.BeNumerically("<", patience))
		}),
		of("the command's idle timeout ends it, and is another thing", func(s subject) {
			res := s.run(pending, func(c *runner.Cmd) { c.Timeout, c.IdleTimeout = patience, 500*time.Millisecond })
			s.Expect(res.Outcome()).To(gomega.Equal(runner.IdleTimedOut))
			s.Expect(res.IdleTimeout()).To(gomega.Equal(500 * time.Millisecond))
			s.Expect(res.Check()).To(gomega.MatchError(runner.ErrIdleTimedOut))
			s.Expect(res.Check()).NotTo(gomega.MatchError(runner.ErrTimedOut))
		}),
		of("the signal that begins a grace is the command's", func(s subject) {
			res := s.run(pending, func(c *runner.Cmd) {
				c.Timeout, c.Grace, c.StopSignal = 500*time.Millisecond, patience, syscall.SIGINT
			})
			s.Expect(res.Outcome()).To(gomega.Equal(runner.TimedOut))
			if status, known := res.Status(); known {
				s.Expect(status.Signal).To(gomega.Equal(syscall.SIGINT))
			}
		}),
		of("a cancel has a grace of its own", func(s subject) {
			for want, set := range map[syscall.Signal]func(c *runner.Cmd){
				syscall.SIGKILL: func(c *runner.Cmd) { c.Grace, c.CancelGrace = patience, runner.NoGrace },
				syscall.SIGTERM: func(c *runner.Cmd) { c.CancelGrace = patience },
			} {
				p := s.start(pending, set)
				_, err := p.WaitForLine(s.ctx, func(runner.Line) bool { return true })
				s.Expect(err).NotTo(gomega.HaveOccurred())
				s.Expect(p.Close()).To(gomega.Succeed())
				res, _ := p.Result()
				s.Expect(res.Outcome()).To(gomega.Equal(runner.Cancelled))
				status, known := res.Status()
				s.Expect(known).To(gomega.BeTrue())
				s.Expect(status.Signal).To(gomega.Equal(want))
			}
		}),
		of("a context that ends cancels the run", func(s subject) {
			cause := errors.New("enough")
			ctx, cancel := context.WithCancelCause(s.ctx)
			defer cancel(nil)
			r, cmd := s.prepare(pending, func(c *runner.Cmd) {
				c.Output.Stdout.Tee = writerFunc(func([]byte) { cancel(cause) })
			})
			res, err := runner.Run(ctx, r, cmd)
			s.Expect(err).To(gomega.MatchError(runner.ErrCancelled))
			s.Expect(err).To(gomega.MatchError(cause))
			s.Expect(err).NotTo(gomega.MatchError(runner.ErrTimedOut))
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Cancelled))
			s.Expect(string(res.Stdout())).To(gomega.Equal("begun\n"))
			stopped, ok := errors.AsType[*runner.CancelError](err)
			s.Expect(ok).To(gomega.BeTrue())
			s.Expect(stopped.Result()).To(gomega.BeIdenticalTo(res))
		}),
		of("a context's deadline is a cancel, not a timeout", func(s subject) {
			// The preparing may take longer than the deadline: it may well be a recording.
			r, cmd := s.prepare(pending, func(c *runner.Cmd) { c.Timeout = patience })
			ctx, cancel := context.WithTimeout(s.ctx, 200*time.Millisecond)
			defer cancel()
			res, err := runner.Run(ctx, r, cmd)
			s.Expect(err).To(gomega.MatchError(runner.ErrCancelled))
			s.Expect(err).To(gomega.MatchError(context.DeadlineExceeded))
			s.Expect(res).NotTo(gomega.BeNil(), "it was started")
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Cancelled))
		}),
		of("Kill ends it as signalled", func(s subject) {
			p := s.start(pending, nil)
			s.Expect(p.Kill()).To(gomega.Succeed())
			res, err := p.Wait(s.ctx)
			s.Expect(err).NotTo(gomega.HaveOccurred())
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Signalled(syscall.SIGKILL)))
		}),
		of("a signal that it does not handle ends it as signalled", func(s subject) {
			p := s.start(pending, nil)
			s.Expect(p.Signal(syscall.SIGTERM)).To(gomega.Succeed())
			res, err := p.Wait(s.ctx)
			s.Expect(err).NotTo(gomega.HaveOccurred())
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Signalled(syscall.SIGTERM)))
		}),
		of("Close cancels what is not over, and can be repeated", func(s subject) {
			p := s.start(pending, nil)
			s.Expect(p.Close()).To(gomega.Succeed())
			s.Expect(p.Settled()).To(gomega.BeClosed())
			s.Expect(p.Close()).To(gomega.Succeed())
			res, err := p.Wait(s.ctx)
			s.Expect(err).To(gomega.MatchError(runner.ErrCancelled))
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Cancelled))
		}),
		of("Wait gives up with its context, and the process lives on", func(s subject) {
			p := s.start(pending, nil)
			cause := errors.New("no patience")
			ctx, cancel := context.WithCancelCause(s.ctx)
			cancel(cause)
			_, err := p.Wait(ctx)
			s.Expect(err).To(gomega.MatchError(cause))
			s.Expect(err).NotTo(gomega.MatchError(runner.ErrCancelled))
			_, ok := p.Result()
			s.Expect(ok).To(gomega.BeFalse())
			s.Expect(p.Settled()).NotTo(gomega.BeClosed())
		}),
		of("a run that is over stays as it is", func(s subject) {
			p := s.start(Behaviour{Code: 5}, nil)
			res, err := p.Wait(s.ctx)
			s.Expect(err).NotTo(gomega.HaveOccurred())
			s.Expect(p.Kill()).To(gomega.MatchError(os.ErrProcessDone))
			s.Expect(p.Signal(syscall.SIGTERM)).To(gomega.MatchError(os.ErrProcessDone))
			p.Cancel(errors.New("too late"))
			s.Expect(p.Close()).To(gomega.Succeed())
			again, err := p.Wait(s.ctx)
			s.Expect(err).NotTo(gomega.HaveOccurred())
			s.Expect(again).To(gomega.BeIdenticalTo(res))
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Exited(5)))
		}),
	}
}

func startCases() []Case {
	startError := func(name string, kind runner.StartKind, is error) Case {
		return of(name, func(s subject) {
			r, cmd := s.prepare(Behaviour{StartError: kind}, nil)
			p, err := r.Start(s.ctx, cmd)
			s.Expect(p).To(gomega.BeNil())
			failed, ok := errors.AsType[*runner.StartError](err)
			s.Expect(ok).To(gomega.BeTrue(), "not a *runner.StartError")
			s.Expect(*failed).To(gstruct.MatchFields(gstruct.IgnoreExtras, gstruct.Fields{
				"Kind": gomega.Equal(kind), "Program": gomega.Equal(cmd.Program()),
			}))
			for _, other := range []error{runner.ErrNotFound, runner.ErrNotExecutable, runner.ErrBadDir} {
				s.Expect(errors.Is(err, other)).To(gomega.Equal(other == is))
			}
		})
	}
	return []Case{
		startError("a program that is not there is not found", runner.StartNotFound, runner.ErrNotFound),
		startError("a program that cannot be executed is something else", runner.StartNotExecutable, runner.ErrNotExecutable),
		startError("a bad directory is not blamed on the program", runner.StartBadDir, runner.ErrBadDir),
		of("a context that has ended starts nothing", func(s subject) {
			cause := errors.New("before it began")
			ctx, cancel := context.WithCancelCause(s.ctx)
			cancel(cause)
			for _, b := range []Behaviour{{}, {StartError: runner.StartNotFound}} {
				r, cmd := s.prepare(b, nil)
				res, err := runner.Run(ctx, r, cmd)
				s.Expect(res).To(gomega.BeNil())
				s.Expect(err).To(gomega.MatchError(runner.ErrCancelled))
				p, err := r.Start(ctx, cmd)
				s.Expect(p).To(gomega.BeNil())
				s.Expect(err).To(gomega.MatchError(runner.ErrCancelled))
				s.Expect(err).To(gomega.MatchError(cause))
			}
		}),
		of("a command that makes no sense is refused", func(s subject) {
			for field, spoil := range map[string]func(*runner.Cmd){
				"Timeout":     func(c *runner.Cmd) { c.Timeout = -1 },
				"IdleTimeout": func(c *runner.Cmd) { c.IdleTimeout = -1 },
				"Grace":       func(c *runner.Cmd) { c.Grace = -1 },
				"CancelGrace": func(c *runner.Cmd) { c.CancelGrace = -2 },
				"StopSignal":  func(c *runner.Cmd) { c.StopSignal = -1 },
				"Output":      func(c *runner.Cmd) { c.Output.Stderr.MaxBytes = -1 },
				"Env":         func(c *runner.Cmd) { c.Env = c.Env.Set("A=B", "C") },
				"Dir":         func(c *runner.Cmd) { c.Dir = "a\x00b" },
			} {
				r, cmd := s.prepare(Behaviour{}, nil)
				spoil(cmd)
				p, err := r.Start(s.ctx, cmd)
				s.Expect(p).To(gomega.BeNil())
				s.Expect(err).To(gomega.MatchError(runner.ErrInvalid))
				invalid, ok := errors.AsType[*runner.InvalidError](err)
				s.Expect(ok).To(gomega.BeTrue())
				s.Expect(invalid.Field).To(gomega.Equal(field))
			}
		}),
	}
}

func sharedCases() []Case {
	return []Case{
		of("one command may be started many times at once", func(s subject) {
			const starts = 8
			r, cmd := s.prepare(Behaviour{Stdout: []byte("same"), Code: 1, Starts: starts}, nil)
			results := make([]*runner.Result, starts)
			errs := make([]error, starts)
			var all sync.WaitGroup
			for i := range starts {
				all.Go(func() { results[i], errs[i] = runner.Run(s.ctx, r, cmd) })
			}
			all.Wait()
			for i := range starts {
				s.Expect(errs[i]).NotTo(gomega.HaveOccurred())
				s.Expect(results[i].Outcome()).To(gomega.Equal(runner.Exited(1)))
				s.Expect(string(results[i].Stdout())).To(gomega.Equal("same"))
			}
		}),
		of("a command is not kept", func(s subject) {
			r, cmd := s.prepare(Behaviour{Stdout: []byte("out"), Code: 6}, func(c *runner.Cmd) { c.Timeout = patience })
			p, err := r.Start(s.ctx, cmd)
			s.Expect(err).NotTo(gomega.HaveOccurred())
			cmd.Timeout, cmd.Output = time.Nanosecond, runner.Both(runner.Stream{Policy: runner.Discard})
			res, err := p.Wait(s.ctx)
			s.Expect(err).NotTo(gomega.HaveOccurred())
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Exited(6)))
			s.Expect(string(res.Stdout())).To(gomega.Equal("out"))
			s.Expect(res.Timeout()).To(gomega.Equal(patience))
		}),
		of("no printer shows what a command is given or says", secretCase),
	}
}

// writerFunc is a Tee.
type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }
