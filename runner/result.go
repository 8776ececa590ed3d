package runner

import (
	"fmt"
	"slices"
	"time"

	"github.com/boombox-go/boombox/contain"
)

// Result is a run that is over. It is immutable and safe for concurrent use. Its printers show the program, the outcome
// and counts; never an argument, an environment value or output. The zero Result is that of no run: it has no outcome, and
// every question has a harmless answer.
type Result struct {
	open func() *result
}

// result is what a Result seals.
type result struct {
	program        string
	outcome        Outcome
	status         contain.ExitStatus
	stdout, stderr captured
	timeout, idle  time.Duration
	duration       time.Duration
	settled        time.Duration
	statusKnown    bool
	pipesHeld      bool
	replayed       bool
	piped          bool
	teardown       Teardown
	cause          error
	stdinErr       error
	teeErr         error
	// heard, order and lines are for whoever reads the lines of a run that was over from the start: as nobody could come
	// in time, all of it is there, whatever the policies keep.
	heard [2][]byte
	order arrivals
	lines [2]lineRule
}

func (r *result) self() *result { return r }

// noResult is what the zero Result seals.
var noResult result

func (r *Result) in() *result {
	if r.open == nil {
		return &noResult
	}
	return r.open()
}

// Program is the base name of the program.
func (r *Result) Program() string { return r.in().program }

// Outcome is how the run ended.
func (r *Result) Outcome() Outcome { return r.in().outcome }

// ExitCode is Outcome().ExitCode().
func (r *Result) ExitCode() (int, bool) { return r.in().outcome.ExitCode() }

// Success reports whether the run exited with code 0.
func (r *Result) Success() bool { return r.in().outcome == Exited(0) }

// Status is what the child itself did in the end, whatever the outcome; false when that is unknown.
func (r *Result) Status() (contain.ExitStatus, bool) { return r.in().status, r.in().statusKnown }

// Stdout is a copy of what was kept of standard output; Stderr likewise.
func (r *Result) Stdout() []byte { return r.in().stdout.bytes() }

// Stderr is a copy of what was kept of standard error.
func (r *Result) Stderr() []byte { return r.in().stderr.bytes() }

// StdoutTotal is how many bytes were read from standard output, kept or not; StderrTotal likewise.
func (r *Result) StdoutTotal() int64 { return r.in().stdout.total }

// StderrTotal is how many bytes were read from standard error, kept or not.
func (r *Result) StderrTotal() int64 { return r.in().stderr.total }

// StdoutTruncated reports whether bytes were dropped, or the stream was given up before its end because somebody
// outside the tree held it open; StderrTruncated likewise.
func (r *Result) StdoutTruncated() bool { return r.in().stdout.truncated() }

// StderrTruncated is StdoutTruncated for standard error.
func (r *Result) StderrTruncated() bool { return r.in().stderr.truncated() }

// Timeout is the deadline that applied: the command's Timeout, 0 when none; IdleTimeout likewise.
func (r *Result) Timeout() time.Duration { return r.in().timeout }

// IdleTimeout is the command's IdleTimeout, 0 when none.
func (r *Result) IdleTimeout() time.Duration { return r.in().idle }

// Duration is the time from the start until the run was decided; SettledAfter until everything was over.
func (r *Result) Duration() time.Duration { return r.in().duration }

// SettledAfter is the time from the start until the tree was gone and the streams were read.
func (r *Result) SettledAfter() time.Duration { return r.in().settled }

// PipesHeld reports whether somebody else still held an output stream when the child had ended: a descendant, which
// was then killed, or a process outside the tree.
func (r *Result) PipesHeld() bool { return r.in().pipesHeld }

// Teardown is what is known of the tree after the run.
func (r *Result) Teardown() Teardown {
	t := r.in().teardown
	t.Survivors = slices.Clone(t.Survivors)
	t.Evidence, t.Stats = t.Evidence.Clone(), t.Stats.Clone()
	return t
}

// Evidence says which caps were in force and hit: [Teardown.Evidence].
func (r *Result) Evidence() contain.Evidence { return r.in().teardown.Evidence.Clone() }

// Stats is what the tree used: [Teardown.Stats].
func (r *Result) Stats() contain.Stats { return r.in().teardown.Stats.Clone() }

// Replayed reports whether no process ran.
func (r *Result) Replayed() bool { return r.in().replayed }

// StdoutPiped reports whether standard output went straight to the next stage of a [Pipeline], through a pipe of the
// system: what it was, and how much, is not known.
func (r *Result) StdoutPiped() bool { return r.in().piped }

// StdinErr is the error of the command's input source, nil when there was none, and nil when the run did not succeed
// anyway: what ended the run says more than that its input broke.
func (r *Result) StdinErr() error { return r.in().stdinErr }

// TeeErr is the error of a tee, nil when there was none.
func (r *Result) TeeErr() error { return r.in().teeErr }

// Check is nil for a run that exited with code 0 and whose input source did not fail, and an [*ExitError] otherwise.
func (r *Result) Check() error {
	if r.Success() && r.StdinErr() == nil {
		return nil
	}
	return &ExitError{result: r}
}

// describe is what the printers show.
func (r Result) describe() string {
	if r.open == nil {
		return "no result"
	}
	in := r.open()
	s := fmt.Sprintf("%q %s after %s, ", in.program, in.outcome, in.duration.Round(time.Millisecond))
	if in.piped {
		s += fmt.Sprintf("stdout piped on, %d bytes on stderr", in.stderr.total)
	} else {
		s += fmt.Sprintf("%d bytes on stdout, %d on stderr", in.stdout.total, in.stderr.total)
	}
	if in.pipesHeld {
		s += ", pipes held"
	}
	if n := len(in.teardown.Survivors); n > 0 {
		s += fmt.Sprintf(", %d survivors", n)
	}
	if in.replayed {
		s += ", replayed"
	}
	return s
}
