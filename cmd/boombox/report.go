package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/signame"
	"github.com/boombox-go/boombox/runner"
)

// report is the JSON object of --report. A field that was not measured is null, never 0. It holds no argument, no
// environment value, no directory and no output.
type report struct {
	// Outcome is exited, signalled, timed_out, idle_timed_out, overflowed, cancelled or start_failed.
	Outcome string `json:"outcome"`
	// ExitCode and Signal are what the program itself did in the end, whatever the outcome: it may well exit with 0
	// within the grace of a timeout. Never both.
	ExitCode *int    `json:"exit_code"`
	Signal   *string `json:"signal"`
	// Mechanism and Guarantees are what held the tree.
	Mechanism  *string  `json:"mechanism"`
	Guarantees []string `json:"guarantees"`
	// Limits are the caps asked for, and what the kernel's counters say of each.
	Limits []limitReport `json:"limits"`
	// Survivors counts the members that were alive after the teardown.
	Survivors *int `json:"survivors"`
	// PipesHeld: somebody else still held an output stream when the program had ended.
	PipesHeld  *bool  `json:"pipes_held"`
	DurationMS *int64 `json:"duration_ms"`
	// StdoutBytes and StderrBytes count what the tree wrote, kept or not.
	StdoutBytes *int64 `json:"stdout_bytes"`
	StderrBytes *int64 `json:"stderr_bytes"`
	// CPUMS is the processor time of the whole tree, or, where nothing counts it, of the program and of the descendants that
	// it waited for.
	CPUMS *int64 `json:"cpu_ms"`
	// PeakMemoryBytes is the most that the tree held at once, where memory was capped.
	PeakMemoryBytes *int64 `json:"peak_memory_bytes"`
	// OutsideKills counts the members that the kernel killed for want of memory although the tree was within its own cap.
	OutsideKills *int64 `json:"outside_kills"`
	Replayed     bool   `json:"replayed"`
}

type limitReport struct {
	Kind string  `json:"kind"`
	Max  float64 `json:"max"`
	// Effective is the smallest such cap up to the root of all cgroups.
	Effective *float64 `json:"effective"`
	// Tripped is yes, no or unknown.
	Tripped string `json:"tripped"`
	Events  *int64 `json:"events"`
}

// notStarted is the report of a run that never began.
func notStarted(limits contain.Limits) report {
	return report{Outcome: "start_failed", Limits: wanted(limits)}
}

// finished is the report of a run that is over.
func finished(res *runner.Result, limits contain.Limits) report {
	r := report{
		Outcome:     res.Outcome().Kind().String(),
		Limits:      wanted(limits),
		PipesHeld:   ptr(res.PipesHeld()),
		DurationMS:  ptr(res.Duration().Milliseconds()),
		StdoutBytes: ptr(res.StdoutTotal()),
		StderrBytes: ptr(res.StderrTotal()),
		Replayed:    res.Replayed(),
	}
	if status, ok := res.Status(); ok {
		if status.Exited() {
			r.ExitCode = ptr(status.Code)
		} else {
			r.Signal = ptr(signame.Of(status.Signal))
		}
		if status.CPU > 0 {
			r.CPUMS = ptr(status.CPU.Milliseconds())
		}
	}
	if stats := res.Stats(); stats.CPU != nil {
		r.CPUMS = ptr(stats.CPU.Milliseconds())
	}
	r.PeakMemoryBytes = res.Stats().PeakMemory
	evidence := res.Evidence()
	for i, l := range r.Limits {
		if known, ok := evidence.Of(contain.LimitKind(l.Kind)); ok {
			r.Limits[i].Tripped, r.Limits[i].Events = known.Tripped.String(), known.Events
			if known.Effective > 0 {
				r.Limits[i].Effective = ptr(known.Effective)
			}
		}
	}
	r.OutsideKills = evidence.OutsideKills
	teardown := res.Teardown()
	if teardown.Mechanism != "" {
		r.Mechanism = ptr(string(teardown.Mechanism))
		r.Guarantees = teardown.Guarantees.Names()
	}
	if teardown.Verified || len(teardown.Survivors) > 0 {
		r.Survivors = ptr(len(teardown.Survivors))
	}
	return r
}

func ptr[T any](v T) *T { return &v }

// reportFile is where a report goes. It is opened before anything starts, so that a path that cannot be written is told
// in time, and so that nobody takes the report of an earlier run for ours.
type reportFile struct {
	w    io.Writer
	file *os.File // to be closed; nil for standard error and for no report
}

// openReport opens path: "" is no report, "-" standard error.
func openReport(path string) (*reportFile, error) {
	switch path {
	case "":
		return &reportFile{}, nil
	case "-":
		return &reportFile{w: os.Stderr}, nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, refused("cannot write the report: %w", withoutDir(err))
	}
	return &reportFile{w: file, file: file}, nil
}

// end writes r and returns err, which is how boombox ends, or, after printing err, why r could not be written.
func (f *reportFile) end(err error, r report) error {
	if writeErr := f.write(r); writeErr != nil {
		finish(err)
		return writeErr
	}
	return err
}

// write writes r on one line and closes the file.
func (f *reportFile) write(r report) error {
	if f.w == nil {
		return nil
	}
	text, err := json.Marshal(r)
	if err == nil {
		_, err = f.w.Write(append(text, '\n'))
	}
	if f.file != nil {
		if closeErr := f.file.Close(); err == nil {
			err = closeErr
		}
	}
	if err != nil {
		return refused("cannot write the report: %w", withoutDir(err))
	}
	return nil
}

// withoutDir leaves of the path in a file error the last element alone: directories may be private.
func withoutDir(err error) error {
	var pathErr *os.PathError
	if errors.As(err, &pathErr) {
		return &os.PathError{Op: pathErr.Op, Path: filepath.Base(pathErr.Path), Err: pathErr.Err}
	}
	return err
}
