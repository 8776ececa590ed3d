package runner

import (
	"time"

	"github.com/boombox-go/boombox/contain"
)

// Result is a run that is over. It is immutable and safe for concurrent use. Its printers show the program, the outcome
// and counts; never an argument, an environment value or output.
type Result struct{}

// Program is the base name of the program.
func (r *Result) Program() string { panic("unbuilt") }

// Outcome is how the run ended.
func (r *Result) Outcome() Outcome { panic("unbuilt") }

// ExitCode is Outcome().ExitCode().
func (r *Result) ExitCode() (int, bool) { panic("unbuilt") }

// Success reports whether the run exited with code 0.
func (r *Result) Success() bool { panic("unbuilt") }

// Status is what the child itself did in the end, whatever the outcome; false when that is unknown.
func (r *Result) Status() (contain.ExitStatus, bool) { panic("unbuilt") }

// Stdout is a copy of what was kept of standard output; Stderr likewise.
func (r *Result) Stdout() []byte { panic("unbuilt") }
func (r *Result) Stderr() []byte { panic("unbuilt") }

// StdoutTotal is how many bytes the child wrote to standard output, kept or not; StderrTotal likewise.
func (r *Result) StdoutTotal() int64 { panic("unbuilt") }
func (r *Result) StderrTotal() int64 { panic("unbuilt") }

// StdoutTruncated reports whether bytes were dropped; StderrTruncated likewise.
func (r *Result) StdoutTruncated() bool { panic("unbuilt") }
func (r *Result) StderrTruncated() bool { panic("unbuilt") }

// Timeout is the deadline that applied: the command's Timeout, 0 when none; IdleTimeout likewise.
func (r *Result) Timeout() time.Duration     { panic("unbuilt") }
func (r *Result) IdleTimeout() time.Duration { panic("unbuilt") }

// Duration is the time from the start until the run was decided; Settled until everything was over.
func (r *Result) Duration() time.Duration     { panic("unbuilt") }
func (r *Result) SettledAfter() time.Duration { panic("unbuilt") }

// PipesHeld reports whether somebody else still held an output stream when the child had ended.
func (r *Result) PipesHeld() bool { panic("unbuilt") }

// Teardown is what is known of the tree after the run.
func (r *Result) Teardown() Teardown { panic("unbuilt") }

// Replayed reports whether no process ran.
func (r *Result) Replayed() bool { panic("unbuilt") }

// StdinErr is the error of the command's input source, TeeErr that of a tee; nil when there was none.
func (r *Result) StdinErr() error { panic("unbuilt") }
func (r *Result) TeeErr() error   { panic("unbuilt") }

// Check is nil for a run that exited with code 0, and an [*ExitError] otherwise.
func (r *Result) Check() error { panic("unbuilt") }

// String is the program, the outcome and counts.
func (r *Result) String() string { panic("unbuilt") }
