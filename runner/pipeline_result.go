package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"
)

// PipelineResult is a [Pipeline] that is over. It is immutable and safe for concurrent use.
type PipelineResult struct {
	stages []StageResult
	took   time.Duration
}

// StageResult is what became of one stage.
type StageResult struct {
	// Program is the base name of the stage's program.
	Program string
	// Result is nil when the stage was not started.
	Result *Result
	// Err is why the stage could not be started, or that it was cancelled, or why its tree could not be ended.
	Err error
	// Unchecked is what the [Stage] says.
	Unchecked bool
	// TornDown says that the stage was still running, and was ended, when the pipeline was cut short by the failure of
	// another one.
	TornDown bool
}

// Stages are the results of all stages, in order.
func (r *PipelineResult) Stages() []StageResult { return slices.Clone(r.stages) }

// Last is the Result of the last stage, nil when it was not started.
func (r *PipelineResult) Last() *Result { return r.stages[len(r.stages)-1].Result }

// Duration is the time from the first start until all stages were settled.
func (r *PipelineResult) Duration() time.Duration { return r.took }

// Check is nil if no stage failed, and otherwise a [*PipelineError] that blames one: the first of those that failed by
// themselves. A stage that was torn down, and one that SIGPIPE ended because its reader was gone, is blamed only if there
// is no other.
func (r *PipelineResult) Check() error {
	culprit := -1
	for i := range r.stages {
		s := &r.stages[i]
		if !s.failed() {
			continue
		}
		if !s.victim() && !s.TornDown {
			culprit = i
			break
		}
		if culprit < 0 {
			culprit = i
		}
	}
	if culprit < 0 {
		return nil
	}
	s := &r.stages[culprit]
	if s.Err != nil {
		return r.blame(culprit, s.Err)
	}
	return r.blame(culprit, &ExitError{result: s.Result})
}

// Success reports whether Check is nil.
func (r *PipelineResult) Success() bool { return r.Check() == nil }

// String shows each stage's program and outcome.
func (r *PipelineResult) String() string {
	var b strings.Builder
	for i, s := range r.stages {
		if i > 0 {
			b.WriteString(" | ")
		}
		fmt.Fprintf(&b, "%q ", s.Program)
		if s.Result != nil {
			b.WriteString(s.Result.Outcome().String())
		} else {
			b.WriteString("not started")
		}
	}
	return b.String()
}

func (r *PipelineResult) blame(i int, err error) error {
	return &PipelineError{Stage: i, Stages: len(r.stages), Program: r.stages[i].Program, Err: err}
}

// failed reports whether the stage fails the pipeline.
func (s *StageResult) failed() bool {
	if s.Err != nil || s.Result == nil {
		return true
	}
	if s.Unchecked && (s.Result.Outcome().Kind() == KindExited || s.victim()) {
		return s.Result.StdinErr() != nil
	}
	return s.Result.Check() != nil
}

// victim reports whether the stage ended because nobody read what it wrote.
func (s *StageResult) victim() bool {
	return s.Result != nil && s.Result.Outcome() == Signalled(syscall.SIGPIPE)
}

// result is what the stages have come to, and the error of [Pipeline.Run].
func (run *pipelineRun) result(ctx context.Context) (*PipelineResult, error) {
	res := &PipelineResult{took: time.Since(run.began)}
	first := -1
	for i := range run.stages {
		s := run.stages[i].StageResult
		if s.Result == nil && s.Err == nil {
			s.Err = cancelError(s.Program, errCutShort, nil)
		}
		// That a stage was cancelled is said of the whole.
		if first < 0 && s.Err != nil && !errors.Is(s.Err, ErrCancelled) {
			first = i
		}
		res.stages = append(res.stages, s)
	}
	switch {
	case first >= 0:
		return res, res.blame(first, res.stages[first].Err)
	case ctx.Err() != nil && run.cancelled(res):
		return res, cancelError(run.stages[0].Program, context.Cause(ctx), res.Last())
	}
	return res, nil
}

// cancelled reports whether a cancel kept a stage from its own end.
func (run *pipelineRun) cancelled(res *PipelineResult) bool {
	return slices.ContainsFunc(res.stages, func(s StageResult) bool { return errors.Is(s.Err, ErrCancelled) })
}

// PipelineError blames one stage of a [Pipeline]. It matches whatever Err matches.
type PipelineError struct {
	// Stage is the stage's place, from 0, of Stages in all.
	Stage, Stages int
	// Program is the base name of its program.
	Program string
	// Err is what went wrong: an [*ExitError], a [*StartError] and so on.
	Err error
}

// Error implements error.
func (e *PipelineError) Error() string {
	return fmt.Sprintf("runner: stage %d of %d: %s", e.Stage+1, e.Stages, strings.TrimPrefix(e.Err.Error(), "runner: "))
}

// Unwrap gives Err.
func (e *PipelineError) Unwrap() error { return e.Err }
