package runner

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// ErrMissed: part of the output is not there to be read any more. The error is a [*MissedError].
var ErrMissed = errors.New("runner: output was not kept for its reader")

// MissedError tells a loop over [Process.Lines] that it came too late for part of a stream, which the stream's policy
// had let go. The lines before and after the gap may be parts of lines.
type MissedError struct {
	// Program is the base name of the program.
	Program string
	Stream  StreamID
	// Bytes is the size of the gap.
	Bytes int64
}

// Error implements error.
func (e *MissedError) Error() string {
	return fmt.Sprintf("runner: %d bytes on %s of %q were not kept for their reader", e.Bytes, e.Stream, plain(e.Program))
}

// Is makes the error match [ErrMissed].
func (e *MissedError) Is(target error) bool { return target == ErrMissed }

// Lines loops over the lines of both streams as they come, from the beginning of the run to the end of both streams,
// in the order of their arrival.
//
//	for line, err := range p.Lines(ctx) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(line.Stream, line.Text)
//	}
//	res, err := p.Wait(ctx)
//
// It can be called at any time, also when the run is over, and by any number of readers, each of which joins when its loop
// begins and has all of it.
//
// Readers are served from memory and do not hold the child up. Whoever is more than the stream's MaxBytes behind makes
// the child wait, as any slow reader of a pipe does, so that nothing is lost; leaving the loop, by break, by return or
// by a panic, lets it go on at once, and so does the end of ctx or of the run. A reader that comes late begins with what
// the policy has kept so far: with [Fail] everything, with [Head] and [Tail] what they say, with [Discard] up to the
// first 256 KiB, and nothing once more has come. The gap is told by a [*MissedError], after which the loop goes on. A
// run that was over when it started, such as one that is played at once, has all of it for every reader.
//
// When ctx ends, the last error is its cause, and the process lives on. How the run ended is not told here but by
// [Process.Wait].
func (p *Process) Lines(ctx context.Context) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		to := p.follow(ctx)
		defer to.close()
		for {
			next, ok, err := to.next()
			if err != nil {
				yield(Line{}, err)
				return
			}
			if !ok || !p.deliver(to, next, yield) {
				return
			}
		}
	}
}

// deliver yields what one piece brings. It reports whether the loop goes on.
func (p *Process) deliver(to *follower, next piece, yield func(Line, error) bool) bool {
	s := &to.split[next.id]
	if next.end || next.missed > 0 {
		if line, ok := s.last(); ok && !yield(line, nil) {
			return false
		}
	}
	if next.missed > 0 {
		return yield(Line{}, &MissedError{Program: p.Program(), Stream: next.id, Bytes: next.missed})
	}
	rest := next.text
	if next.data != nil {
		rest = string(next.data)
	}
	for {
		line, ok := s.next(&rest)
		if !ok {
			return true
		}
		if !yield(line, nil) {
			return false
		}
	}
}

// EventKind tells events apart.
type EventKind int

// The kinds of events, in the order in which they come.
const (
	EventStarted EventKind = iota + 1 // the run was started: the first event, once
	EventLine                         // a line of output
	EventEnded                        // the run is settled: the last event, once
)

// String is the kind in one word.
func (k EventKind) String() string {
	names := [...]string{EventStarted: "started", EventLine: "line", EventEnded: "ended"}
	if k < EventStarted || int(k) >= len(names) {
		return "unknown"
	}
	return names[k]
}

// Event is one thing that happens to a run. Its printers show no output.
type Event struct {
	Kind EventKind
	// Line is the line of an EventLine.
	Line Line
	// Result is what an EventEnded came to.
	Result *Result
}

// describe is what the printers show.
func (e Event) describe() string {
	s := e.Kind.String()
	switch {
	case e.Kind == EventLine:
		s += ": " + e.Line.describe()
	case e.Result != nil:
		s += ": " + e.Result.describe()
	}
	return s
}

// Events loops over all that happens to the run: that it was started, its lines, as [Process.Lines] gives them, and in
// the end its Result, which comes last however a line of it was handed on. When ctx ends, the last error is its cause, and
// no EventEnded comes.
func (p *Process) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if !yield(Event{Kind: EventStarted}, nil) {
			return
		}
		for line, err := range p.Lines(ctx) {
			e := Event{Kind: EventLine, Line: line}
			if err != nil {
				e = Event{}
			}
			if !yield(e, err) || err != nil && !errors.Is(err, ErrMissed) {
				return
			}
		}
		if !p.awaitSettled(ctx) {
			yield(Event{}, context.Cause(ctx))
			return
		}
		res, _ := p.Result()
		yield(Event{Kind: EventEnded, Result: res}, nil)
	}
}
