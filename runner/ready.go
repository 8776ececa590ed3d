package runner

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrNotReady: a run did not become ready. The error is a [*NotReadyError].
var ErrNotReady = errors.New("runner: not ready")

// NotReadyError reports that a run did not become what one of the WaitFor methods of [Process] waited for. The run
// itself was not touched. It is neither a timeout of the run nor a cancel.
type NotReadyError struct {
	// Program is the base name of the program.
	Program string
	// For is what was waited for, in words: a line, a port. It names no path.
	For string
	// Elapsed is how long it was waited for.
	Elapsed time.Duration
	// Outcome is how the run ended, which then cannot become ready any more. It is the zero Outcome when the run was not
	// over.
	Outcome Outcome
	// Err is the cause of the context that ended, or what the last attempt found; nil when the run's end says it all.
	Err error
}

// Error implements error.
func (e *NotReadyError) Error() string {
	s := fmt.Sprintf("runner: %q is not ready: no %s after %s", plain(e.Program), plain(e.For), e.Elapsed.Round(time.Millisecond))
	if e.Outcome != (Outcome{}) {
		s += ": it is over, " + e.Outcome.String()
	}
	if e.Err != nil {
		s += ": " + plain(e.Err.Error())
	}
	return s
}

// Is makes the error match [ErrNotReady].
func (e *NotReadyError) Is(target error) bool { return target == ErrNotReady }

// Unwrap gives Err.
func (e *NotReadyError) Unwrap() error { return e.Err }

// notReady makes the error of a wait that began then. last is what the last attempt found.
func (p *Process) notReady(ctx context.Context, what string, began time.Time, last error) error {
	e := &NotReadyError{Program: p.Program(), For: what, Elapsed: time.Since(began), Err: last}
	if o, over := p.outcome(); over {
		e.Outcome = o
	} else if ctx.Err() != nil {
		e.Err = context.Cause(ctx)
	}
	return e
}

// outcome is how the run ends, and false before that is decided.
func (p *Process) outcome() (Outcome, bool) {
	if p.live == nil {
		return p.result.Outcome(), true
	}
	o := p.live().current()
	return o, o != (Outcome{})
}

// decided is closed when it is decided how the run ends.
func (p *Process) decided() <-chan struct{} {
	if p.live == nil {
		return over
	}
	return p.live().decided
}

var errStreamsEnded = errors.New("both of its streams are at their end")

// WaitForLine waits for the first line that match accepts, looking at every line since the start of the run, whoever
// has read it before. match may be called for lines of both streams, in the order of [Process.Lines], in the caller's
// goroutine.
//
// Like all waits of this kind it never ends the run, reads on while it waits, and fails early, with a [*NotReadyError],
// when the run is over and so can never become ready. ctx bounds the wait.
func (p *Process) WaitForLine(ctx context.Context, match func(Line) bool) (Line, error) {
	const what = "such line"
	began := time.Now()
	for line, err := range p.Lines(ctx) {
		switch {
		case errors.Is(err, ErrMissed):
		case err != nil:
			return Line{}, p.notReady(ctx, what, began, nil)
		case match(line):
			return line, nil
		}
	}
	// The streams end a moment before it is known why, or else the child goes on without them.
	waitFor(p.decided(), exitPatience)
	if _, over := p.outcome(); over {
		return Line{}, p.notReady(ctx, what, began, nil)
	}
	return Line{}, p.notReady(ctx, what, began, errStreamsEnded)
}

// The times between two attempts, from the first to the longest.
const (
	firstPoll = 5 * time.Millisecond
	lastPoll  = 50 * time.Millisecond
)

// lastLook bounds the attempt that is made when the run is over.
const lastLook = time.Second

// WaitFor waits until ready returns nil, asking again and again, every 50 ms at last, in the caller's goroutine. The
// context that ready gets ends with ctx, or when the run is over; then it is asked once more, for what the run may
// have left behind. See [Process.WaitForLine] for what all waits promise. The [*NotReadyError] has the last error of
// ready.
func (p *Process) WaitFor(ctx context.Context, ready func(context.Context) error) error {
	return p.poll(ctx, "readiness", ready)
}

func (p *Process) poll(ctx context.Context, what string, ready func(context.Context) error) error {
	began := time.Now()
	while, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.decided():
			cancel()
		case <-while.Done():
		}
	}()
	var last error
	for pause := firstPoll; ; pause = min(2*pause, lastPoll) {
		over := closed(p.decided())
		if ctx.Err() != nil {
			return p.notReady(ctx, what, began, last)
		}
		attempt, done := while, func() {}
		if over {
			attempt, done = context.WithTimeout(ctx, lastLook)
		}
		err := ready(attempt)
		done()
		if err == nil {
			return nil
		}
		if !over && while.Err() != nil {
			// It was interrupted, which says nothing.
			continue
		}
		last = err
		if over {
			return p.notReady(ctx, what, began, last)
		}
		waitFor(while.Done(), pause)
	}
}
