package runner

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"time"
)

// settledRun is all that a run which is over before it is played needs, in one allocation.
type settledRun struct {
	process Process
	sealed  Result
	result
	// chunks are what is kept of both streams.
	chunks [2][1][]byte
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
	r.order.spans = run.Arrival
	for id, s := range [...]*Stream{Stdout: &cmd.Output.Stdout, Stderr: &cmd.Output.Stderr} {
		r.lines[id].init(StreamID(id), s)
	}
	if cmd.merges() {
		run.Stdout, run.Stderr = r.order.merged(run.Stdout, run.Stderr), nil
		r.order.spans = nil
	}
	files, err := openFiles(cmd)
	if err != nil {
		r.fail(err)
	}
	taps := newTaps(cmd.taps)
	r.stdout = s.stream(Stdout, &cmd.Output.Stdout, run.Stdout, taps, files[Stdout].file)
	r.stderr = s.stream(Stderr, &cmd.Output.Stderr, run.Stderr, taps, files[Stderr].file)
	if r.outcome.natural() && (r.stdout.overflowed || r.stderr.overflowed) {
		r.outcome = Overflowed
	}
	s.sealed.open = r.self
	if len(cmd.observers) > 0 {
		seen := r.observation()
		observe(cmd.observers, Observation{Kind: ObservedStart, Program: r.program})
		if !r.outcome.natural() {
			observe(cmd.observers, seen.killed())
		}
		observe(cmd.observers, seen)
	}
	s.process.result = &s.sealed
	if cmd.Stdin.Kind() == StdinInteractive {
		in := newInputPipe(discarded{}, nil)
		s.process.stdin = func() *inputPipe { return in }
	}
	return &s.process
}

// fail ends a run that cannot be kept as it was asked for.
func (r *result) fail(cause error) {
	if r.outcome.natural() {
		r.outcome, r.cause = Cancelled, cause
	}
}

// stream passes one stream, whole, through all that the command has for it.
func (r *settledRun) stream(id StreamID, stream *Stream, data []byte, taps *taps, file *os.File) captured {
	kept := data
	if shape := newShaper(id, stream); shape != nil {
		kept = append(slices.Clone(shape.feed(data)), shape.flush()...)
		r.teeErr = cmp.Or(r.teeErr, shape.err)
		r.order.spans = nil // they count what came
	}
	if stream.Tee != nil || stream.OnLine != nil || taps != nil {
		var t tee
		t.init(id, stream, taps)
		if len(data) > 0 {
			t.feed(data)
		}
		t.end()
		r.teeErr = cmp.Or(r.teeErr, t.err)
	}
	if file != nil {
		w := fileWriter{r.program, id, file}
		if err := cmp.Or(w.write(kept), w.close()); err != nil {
			r.fail(err)
		}
	}
	r.heard[id] = kept
	var s sink
	s.init(stream, r.chunks[id][:0])
	s.add(kept)
	s.total = int64(len(data))
	return s.finish(id)
}

// describe is what the printers show.
func (f Finished) describe() string {
	return fmt.Sprintf("finished run: %s after %s, %d bytes on stdout, %d on stderr", f.Outcome,
		f.Duration.Round(time.Millisecond), len(f.Stdout), len(f.Stderr))
}
