package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/boombox-go/boombox/internal/signame"
	"github.com/boombox-go/boombox/runner"
)

// endSignals end us. SIGPIPE is not among them: a closed stdout is told by the write that fails.
var endSignals = []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// session is one run with our own streams: its end comes from the program, from a signal, or from an output of ours
// that cannot be written any more.
type session struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	again  chan struct{} // closed by the second signal: no more grace
	stop   func()
	// result is how the program ended, nil when it was not started.
	result *runner.Result
}

// caughtError is the cause of a cancel by a signal.
type caughtError struct{ sig syscall.Signal }

func (e *caughtError) Error() string { return "ended by " + signame.Shown(e.sig) }

// newSession catches the signals that would end us, so that no tree is left behind. A signal that was ignored when we
// were started stays ignored, as nohup and background jobs of a shell expect.
func newSession() *session {
	ctx, cancel := context.WithCancelCause(context.Background())
	s := &session{ctx: ctx, cancel: cancel, again: make(chan struct{})}
	caught := make(chan os.Signal, 8)
	for _, sig := range endSignals {
		if !signal.Ignored(sig) {
			signal.Notify(caught, sig)
		}
	}
	// With a handler for SIGPIPE, writing to a closed stdout is an error like any other and does not end us on the spot.
	// To ignore the signal instead would make the program ignore it too.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	done := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case sig := <-caught:
				cancel(&caughtError{sig.(syscall.Signal)})
				if n == 1 {
					close(s.again)
				}
			case <-done:
				return
			}
		}
	}()
	s.stop = func() {
		signal.Stop(caught)
		signal.Stop(pipes)
		close(done)
		cancel(nil)
	}
	return s
}

// play starts cmd on r with the session's streams, waits for its end and writes the report. The error is how boombox
// ends.
func (s *session) play(r runner.Runner, cmd *runner.Cmd, out *reportFile) error {
	cmd.Output.Stdout.Tee = newOutlet("standard output", os.Stdout, s, cmd.Output.Stdout)
	cmd.Output.Stderr.Tee = newOutlet("standard error", os.Stderr, s, cmd.Output.Stderr)

	process, err := r.Start(s.ctx, cmd)
	if err != nil {
		told := notStarted(cmd.Limits)
		if errors.Is(err, runner.ErrCancelled) {
			told.Outcome = runner.KindCancelled.String()
		}
		return s.end(startError(err), out, told)
	}
	defer context.AfterFunc(s.ctx, func() { process.Cancel(context.Cause(s.ctx)) })()
	go func() {
		select {
		case <-s.again:
			_ = process.Kill()
		case <-process.Settled():
		}
	}()
	<-process.Settled()
	s.result, _ = process.Result()
	told := finished(s.result, cmd.Limits)
	if err := s.result.Teardown().Err; err != nil {
		return out.end(refused("%w", err), told) // what is left of the tree matters more than why it was ended
	}
	return s.end(outcomeError(s.result), out, told)
}

// end writes the report. What ended the session from outside beats err, and a report that cannot be written beats both.
func (s *session) end(err error, out *reportFile, r report) error {
	var caught *caughtError
	var broken *brokenError
	switch cause := context.Cause(s.ctx); {
	case errors.As(cause, &caught):
		err = signalled(caught.sig)
	case errors.As(cause, &broken):
		err = broken.end()
	}
	return out.end(err, r)
}
