package runner

import (
	"fmt"
	"time"
)

// settledRun is all that a run which is over before it is played needs, in one allocation.
type settledRun struct {
	process Process
	sealed  Result
	result
}

// Settle makes the settled Process of a run that is over before it is played, without a goroutine: the streams go
// through the policies, tees and taps of the command, standard output first, on the caller's goroutine. A stream that
// passes a cap which fails the run turns a natural outcome into [Overflowed], as in a live run. Interactive input goes nowhere,
// and no tap sees it.
func Settle(cmd *Cmd, run Finished) *Process {
	s := &settledRun{}
	r := &s.result
	r.program = cmd.Program()
	r.outcome = run.Outcome
	if run.Status != nil {
		r.status, r.statusKnown = *run.Status, true
	}
	r.timeout, r.idle = cmd.Timeout, cmd.IdleTimeout
	r.duration, r.settled = run.Duration, run.Duration
	r.pipesHeld, r.replayed, r.teardown = run.PipesHeld, run.Replayed, run.Teardown
	taps := newTaps(cmd.taps)
	r.order.spans = run.Arrival
	for id, s := range [...]*Stream{Stdout: &cmd.Output.Stdout, Stderr: &cmd.Output.Stderr} {
		r.lines[id].init(StreamID(id), s)
	}
	r.stdout = settleStream(r, Stdout, &cmd.Output.Stdout, run.Stdout, taps)
	r.stderr = settleStream(r, Stderr, &cmd.Output.Stderr, run.Stderr, taps)
	if r.outcome.natural() && (r.stdout.overflowed() || r.stderr.overflowed()) {
		r.outcome = Overflowed
	}
	s.sealed.open = r.self
	s.process.result = &s.sealed
	if cmd.Stdin.Kind() == StdinInteractive {
		in := newInputPipe(discarded{}, nil)
		s.process.stdin = func() *inputPipe { return in }
	}
	return &s.process
}

func settleStream(r *result, id StreamID, stream *Stream, data []byte, taps *taps) captured {
	if len(data) > 0 && (stream.Tee != nil || taps != nil) {
		t := tee{id: id, w: stream.Tee, tap: taps}
		t.feed(data)
		if r.teeErr == nil {
			r.teeErr = t.err
		}
	}
	var s sink
	s.init(*stream)
	s.add(data)
	return s.finish(id)
}

// describe is what the printers show.
func (f Finished) describe() string {
	return fmt.Sprintf("finished run: %s after %s, %d bytes on stdout, %d on stderr", f.Outcome,
		f.Duration.Round(time.Millisecond), len(f.Stdout), len(f.Stderr))
}
