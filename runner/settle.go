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
		run.read()
		run.Stdout, run.Stderr = r.order.merged(run.Stdout, run.Stderr), nil
		r.order.spans = nil
	}
	files, err := openFiles(cmd)
	if err != nil {
		r.fail(err)
	}
	taps := newTaps(cmd.taps)
	if taps != nil || files[Stdout].file != nil || files[Stderr].file != nil {
		run.read()
	}
	r.stdout = s.stream(Stdout, &cmd.Output.Stdout, run.Stdout, run.Late[Stdout], taps, files[Stdout].file)
	r.stderr = s.stream(Stderr, &cmd.Output.Stderr, run.Stderr, run.Late[Stderr], taps, files[Stderr].file)
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

// read reads what is late.
func (f *Finished) read() {
	for id, stream := range [...]*[]byte{Stdout: &f.Stdout, Stderr: &f.Stderr} {
		if late := f.Late[id]; late != nil {
			*stream, f.Late[id] = late.Read(), nil
		}
	}
}

// plain reports whether nothing is done with the first n bytes of a stream but to keep them.
func (s *Stream) plain(n int) bool {
	return s.Policy != Discard && int64(n) <= s.max() && s.MaxLines == 0 && s.Tee == nil && s.OnLine == nil && !s.StripVT && s.Redact == nil
}

// stream passes one stream, whole, through all that the command has for it.
func (r *settledRun) stream(id StreamID, stream *Stream, data []byte, late Late, taps *taps, file *os.File) captured {
	if late != nil {
		if n := late.Len(); stream.plain(n) {
			return captured{id: id, max: stream.max(), late: late, held: int64(n), total: int64(n), offered: int64(n)}
		}
		data = late.Read()
	}
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

// whole is all of a stream, whatever is kept of it.
func (r *result) whole(id StreamID, kept *captured) captured {
	if kept.late != nil {
		return whole(id, kept.late.Read())
	}
	return whole(id, r.heard[id])
}

// describe is what the printers show.
func (f Finished) describe() string {
	sizes := [2]int{len(f.Stdout), len(f.Stderr)}
	for id, late := range f.Late {
		if late != nil {
			sizes[id] = late.Len()
		}
	}
	return fmt.Sprintf("finished run: %s after %s, %d bytes on stdout, %d on stderr", f.Outcome,
		f.Duration.Round(time.Millisecond), sizes[Stdout], sizes[Stderr])
}
