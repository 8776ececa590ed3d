package fake

import (
	"context"
	"slices"
	"syscall"
	"time"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/runner"
)

// Chunk is one piece of scripted output, and what comes before it.
type Chunk struct {
	// Reads is what the child reads of its interactive input ([runner.StdinPipe]) before the rest of the chunk: so much
	// must have been written, and it must be this, however it was cut into writes. A script of which any chunk reads is a
	// whole conversation: input that differs, goes on beyond what is read, or is closed before, cancels the run with an
	// [*InputError]. A command with another input has it all from the start, and nothing is awaited or compared.
	Reads []byte
	// ReadsEOF waits until the interactive input is closed, after Reads.
	ReadsEOF bool
	// Resize, if not zero, waits until the terminal of the command ([runner.PTY]) was given this size by [runner.Process.Resize],
	// after Reads. As with input, a script of which any chunk has one has them all: another size, and one more, cancels the
	// run with an [*InputError]. Sizes are compared in their own order, whatever is written between them. A command without a
	// terminal cannot be resized, and nothing is awaited.
	Resize runner.PTY
	// After is how long to wait since the chunk before, since the start, or since what was read. A script with no wait at
	// all is instant.
	After time.Duration
	// Stream is where the data goes.
	Stream runner.StreamID
	// Data is what the child writes. A chunk without data only waits: a last one of these delays the end of the run.
	Data []byte
}

// reads reports whether the chunk waits for input, and resizes whether it waits for a size.
func (c Chunk) reads() bool   { return len(c.Reads) > 0 || c.ReadsEOF }
func (c Chunk) resizes() bool { return c.Resize != runner.PTY{} }

// Script is one run, as [Play] plays it. The zero value exits at once with code 0 and writes nothing.
type Script struct {
	// Chunks are the output, in order of arrival.
	Chunks []Chunk
	// Outcome is how the run ends when nothing ends it earlier. The zero value means runner.Exited(0). TimedOut,
	// IdleTimedOut, Overflowed and Cancelled are delivered as they are, whatever the command's own settings.
	Outcome runner.Outcome
	// Status is what the child itself did in the end. Nil says no more than an Outcome of Exited or Signalled, and
	// with any other that it is unknown, or that the child was killed where the script takes time.
	Status *contain.ExitStatus
	// Duration is what the Result of an instant script says that the run took. A script with waits takes the sum of
	// them, by the clock.
	Duration time.Duration
	// PipesHeld makes the output streams outlive the child, as if a descendant held them, until the tree is killed.
	PipesHeld bool
	// Teardown is what the Result says of the tree.
	Teardown runner.Teardown
	// StartErr, if not nil, is returned by [Play] as it is: the run never starts.
	StartErr error
	// Pending keeps the run going after the last chunk, until it is killed, signalled, cancelled or timed out.
	Pending bool
	// Mismatch, if not nil, is told of interactive input and of sizes that are not those of the chunks, and says what the run
	// is cancelled with. By default it is the [*InputError].
	Mismatch func(*InputError) error
	// Alike, if not nil, compares what is written with what the chunks read, line by line instead of byte by byte: want and got are one
	// line each, with its end, or the rest where the input is closed without one. It is called by one goroutine at a time.
	Alike func(want, got []byte) bool
	// AlikeSize, if not nil, compares the size that the terminal was given with that of the chunk, in place of equality.
	AlikeSize func(want, got runner.PTY) bool
	// Wait, if not nil, waits in place of the clock, for each chunk: d since the chunk before. It reports false when over is closed
	// first. A script with one is never instant.
	Wait func(d time.Duration, over <-chan struct{}) bool
	// Replayed marks the Result as one of a recording.
	Replayed bool
}

// takesAnything reports whether interactive input may be whatever it is, and takesAnySize whether sizes may: a recording that
// has none says that there was none.
func (s Script) takesAnything() bool {
	return !s.Replayed && !slices.ContainsFunc(s.Chunks, Chunk.reads)
}

func (s Script) takesAnySize() bool {
	return !s.Replayed && !slices.ContainsFunc(s.Chunks, Chunk.resizes)
}

// instant reports whether the run is over before it begins.
func (s Script) instant() bool {
	return !s.Pending && s.Wait == nil && !slices.ContainsFunc(s.Chunks, func(c Chunk) bool { return c.After > 0 })
}

func (s Script) clone() Script {
	s.Chunks = slices.Clone(s.Chunks)
	return s
}

// merged is the script of a child whose streams are one.
func (s Script) merged() Script {
	s = s.clone()
	for i := range s.Chunks {
		s.Chunks[i].Stream = runner.Stdout
	}
	return s
}

// outcome is the scripted outcome, with the default in place.
func (s Script) outcome() runner.Outcome {
	if s.Outcome == (runner.Outcome{}) {
		return runner.Exited(0)
	}
	return s.Outcome
}

// status is what the child does at the end of the script. An outcome that names a code or a signal has the last word;
// of one that does not, and without a Status, the child was killed.
func (s Script) status() contain.ExitStatus {
	status := contain.ExitStatus{Signal: syscall.SIGKILL}
	if s.Status != nil {
		status = *s.Status
	}
	if code, ok := s.outcome().ExitCode(); ok {
		status.Code, status.Signal, status.Lost = code, 0, false
	}
	if sig, ok := s.outcome().Signal(); ok {
		status.Code, status.Signal, status.Lost = 0, sig, false
	}
	return status
}

// finished is an instant script as a run that is over.
func (s Script) finished() runner.Finished {
	f := runner.Finished{
		Outcome: s.outcome(), Status: s.Status, Duration: s.Duration,
		PipesHeld: s.PipesHeld, Teardown: s.Teardown, Replayed: s.Replayed,
	}
	switch f.Outcome.Kind() {
	case runner.KindExited, runner.KindSignalled:
		status := s.status()
		f.Status = &status
	}
	for _, c := range s.Chunks {
		if c.Stream == runner.Stderr {
			f.Stderr = append(f.Stderr, c.Data...)
		} else {
			f.Stdout = append(f.Stdout, c.Data...)
		}
	}
	if len(f.Stdout) == 0 || len(f.Stderr) == 0 {
		return f
	}
	for _, c := range s.Chunks {
		f.Arrival = append(f.Arrival, runner.Span{Stream: c.Stream, Bytes: int64(len(c.Data))})
	}
	return f
}

// Play starts cmd as s says, with no process. ctx bounds the starting alone. An instant script is settled when Play
// returns, and costs no goroutine, unless its input is interactive or its terminal is resized; another one takes its time, and obeys the command's
// timeouts and every method of [runner.Process].
func Play(ctx context.Context, cmd *runner.Cmd, s Script) (*runner.Process, error) {
	return play(ctx, cmd, s, nil)
}

// play is Play; note, if not nil, gets what is written to interactive input, after the end of the run too.
func play(ctx context.Context, cmd *runner.Cmd, s Script, note func(piece []byte)) (*runner.Process, error) {
	if err := refusal(ctx, cmd); err != nil {
		return nil, err
	}
	if len(cmd.Files) > 0 {
		return nil, &runner.UnsupportedError{Program: cmd.Program(), Field: "Files", Reason: "a script has no descriptors"}
	}
	if s.StartErr != nil {
		return nil, s.StartErr
	}
	talks := cmd.Stdin.Kind() == runner.StdinInteractive
	resized := cmd.PTY != nil && slices.ContainsFunc(s.Chunks, Chunk.resizes)
	if !talks && !resized && s.instant() {
		return runner.Settle(cmd, s.finished()), nil
	}
	var input *conversation
	if talks || cmd.PTY != nil {
		input = converse(cmd, s, note)
	}
	if cmd.Output.Merge || cmd.PTY != nil {
		s = s.merged()
	}
	started := time.Now()
	return runner.Attach(cmd, perform(s.clone(), input, started), started), nil
}

// refusal is why cmd is not started at all, nil when nothing stands against it.
func refusal(ctx context.Context, cmd *runner.Cmd) error {
	if ctx.Err() != nil {
		return runner.NotStarted(ctx, cmd)
	}
	return cmd.Validate()
}
