package cassette

import (
	"fmt"
	"time"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/internal/plaintext"
	"github.com/boombox-go/boombox/runner"
)

// Run is one recorded command. It is immutable and safe for concurrent use. Its methods decode what they return from
// the text of the file, each time they are called. Printers show its number, the program and counts; arguments, input
// and output are to be had through the methods alone.
//
// Where the cassette uses tokens (see [WithToken]), the methods return them as the file has them, such as <tmp:1>:
// a Run knows no live values.
type Run struct {
	printer
	// A closure, since printers walk fields and would show the text.
	state func() runState
}

type runState struct {
	*runText
	number int
}

func newRun(text *runText, number int) *Run {
	s := runState{text, number}
	return &Run{printer{s.describe}, func() runState { return s }}
}

// Number is the place of the run in its cassette, from 1.
func (r *Run) Number() int { return r.state().number }

// Line is the line of the file at which the run begins, from 1; 0 when it was never in a file.
func (r *Run) Line() int { return r.state().line }

// Program is the base name of the program, without ".exe", as it is matched.
func (r *Run) Program() string { return programOf(r.state().argv()) }

// Argv is the program as it was named and its arguments. It reveals them.
func (r *Run) Argv() []string { return r.state().argv() }

// Dir is the working directory, "" when none was given. It reveals it.
func (r *Run) Dir() string { return r.state().dir() }

// EnvNames are the names of the environment variables that were set or removed for this run, sorted.
func (r *Run) EnvNames() []string { return r.state().env() }

// Interactive reports whether the input was a conversation: written while the run went on.
func (r *Run) Interactive() bool { return r.state().interactive }

// Stdin is what the run was given to read; false when it had our own standard input, which is not recorded.
func (r *Run) Stdin() ([]byte, bool) {
	s := r.state()
	return s.stream(secIn), !s.inherit
}

// Stdout is what the cassette holds of standard output; Stderr likewise.
func (r *Run) Stdout() []byte { return r.state().stream(secOut) }

// Stderr is what the cassette holds of standard error.
func (r *Run) Stderr() []byte { return r.state().stream(secErr) }

// StdoutTotal is how many bytes the run wrote to standard output, kept or not; StderrTotal likewise.
func (r *Run) StdoutTotal() int64 { return r.state().total(runner.Stdout) }

// StderrTotal is how many bytes the run wrote to standard error, kept or not.
func (r *Run) StderrTotal() int64 { return r.state().total(runner.Stderr) }

// Outcome is how the run ended; the zero Outcome when it was never started.
func (r *Run) Outcome() runner.Outcome { return r.state().end.outcome }

// Status is what the child itself did in the end; false when that is unknown.
func (r *Run) Status() (contain.ExitStatus, bool) {
	end := r.state().end
	return end.status, end.known
}

// Deadline is the timeout that a timed-out run ran into, 0 for every other one.
func (r *Run) Deadline() time.Duration { return r.state().end.limit }

// StartErr is the [*runner.StartError] of a run that was never started, nil for every other one.
func (r *Run) StartErr() error {
	s := r.state()
	if s.end.failure == nil {
		return nil
	}
	return s.end.failure.err(programOf(s.argv()), translator{})
}

// PipesHeld reports whether somebody else still held an output stream when the child had ended.
func (r *Run) PipesHeld() bool { return r.state().held }

// Evidence says which caps the run had, and which it hit. Of a cap that others made tighter the cassette does not tell.
func (r *Run) Evidence() contain.Evidence { return r.state().evidence() }

// Duration is how long the run took, to the millisecond; 0 when the cassette does not say.
func (r *Run) Duration() time.Duration { return r.state().tape().duration() }

// Script is the run as package fake plays it, at its recorded pace. A run that did not end by itself is pending: one
// that timed out is ended by the command's own timeout.
func (r *Run) Script() fake.Script { return r.state().script(translator{}, RealTime) }

// Text is the run as it stands in the file. It reveals everything.
func (r *Run) Text() []byte { return append([]byte(nil), r.state().text...) }

// describe is what printers show: nothing of the content.
func (s runState) describe() string {
	how := s.end.outcome.String()
	if s.end.failure != nil {
		how = "start error " + string(s.end.failure.kind)
	}
	return fmt.Sprintf("run %d: %s, %s, %s on stdout, %d on stderr", s.number, describeCall(s.argv()), how,
		plaintext.Count(int(s.total(runner.Stdout)), "byte"), s.total(runner.Stderr))
}
