package matchers

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/internal/signame"
	"github.com/boombox-go/boombox/runner"
)

// ofRun makes a matcher about a run that is over. fill completes a judgement that has the facts of the run already. It
// may refuse with an error.
func ofRun(name string, fill func(r *runner.Result, j *judgement) error) *matcher {
	return &matcher{
		judge: func(actual any) (*judgement, error) {
			r, err := observeRun(name, actual)
			if err != nil {
				return nil, err
			}
			j := aboutRun(r)
			if err := fill(r, &j); err != nil {
				return nil, err
			}
			return &j, nil
		},
		final: settled,
	}
}

// HaveOutcome matches a run that ended as v says: a [runner.Outcome], or a matcher of one. It is for the endings that have
// no matcher of their own, and for tables of endings; the others say more.
//
//	Expect(result).To(HaveOutcome(runner.IdleTimedOut))
func HaveOutcome(v any) types.GomegaMatcher {
	wanted := want("HaveOutcome", []any{v}, "", func(o runner.Outcome) string { return "to have ended as: " + o.String() }, "to have an outcome")
	return ofRun("HaveOutcome", func(r *runner.Result, j *judgement) error {
		if wanted.err != nil {
			return wanted.err
		}
		ok, err := wanted.match(r.Outcome())
		j.ok, j.want = ok, wanted.text
		return err
	})
}

// SucceededMatcher is what [HaveSucceeded] returns.
type SucceededMatcher struct {
	*matcher
	quietly bool
}

// HaveSucceeded matches a run that exited with code 0.
//
//	Expect(runner.Run(ctx, r, cmd)).To(HaveSucceeded())
func HaveSucceeded() *SucceededMatcher {
	m := &SucceededMatcher{}
	m.matcher = ofRun("HaveSucceeded", func(r *runner.Result, j *judgement) error {
		j.ok, j.want = r.Success(), "to have succeeded"
		switch {
		case !j.ok && r.StderrTotal() > 0:
			j.hint = "HaveStderr shows what it wrote to standard error"
		case m.quietly:
			j.want += " quietly"
			if j.ok && r.StderrTotal() > 0 {
				j.ok, j.hint = false, "it succeeded and yet wrote to standard error; HaveStderr shows what"
			}
		}
		return nil
	})
	return m
}

// Quietly asks as well that nothing was written to standard error.
func (m *SucceededMatcher) Quietly() *SucceededMatcher {
	m.quietly = true
	return m
}

// HaveExited matches a run that ended by itself: with any exit code, or with the one given, an int or a matcher. A run
// that was ended by a signal did not exit with 128+n; nor did one that timed out exit, whatever it did afterwards.
//
//	Expect(result).To(HaveExited(3))
//	Expect(result).To(HaveExited(BeNumerically(">", 1)))
func HaveExited(code ...any) types.GomegaMatcher {
	wanted := want("HaveExited", code, "to have exited",
		func(code int) string { return fmt.Sprintf("to have exited with code %d", code) }, "to have exited with a code")
	return ofRun("HaveExited", func(r *runner.Result, j *judgement) error {
		if wanted.err != nil {
			return wanted.err
		}
		j.want = wanted.text
		got, exited := r.ExitCode()
		if !exited {
			if sig, ok := r.Outcome().Signal(); ok {
				j.hint = fmt.Sprintf("a signal is not an exit code, though a shell would show %d; see BeSignaled", 128+int(sig))
			}
			return nil
		}
		ok, err := wanted.match(got)
		if j.ok = ok; !ok && r.StderrTotal() > 0 {
			j.hint = "HaveStderr shows what it wrote to standard error"
		}
		return err
	})
}

// BeSignaled matches a run that was ended by a signal: any, or the one given, a [syscall.Signal] or a matcher. A signal
// that the runner sent because of a timeout, a cancel or an overflow is not meant: those are outcomes of their own.
//
//	Expect(result).To(BeSignaled(syscall.SIGSEGV))
func BeSignaled(sig ...any) types.GomegaMatcher {
	wanted := want("BeSignaled", sig, "to have been ended by a signal",
		func(sig syscall.Signal) string { return "to have been ended by " + signame.Shown(sig) },
		"to have been ended by a signal")
	return ofRun("BeSignaled", func(r *runner.Result, j *judgement) error {
		if wanted.err != nil {
			return wanted.err
		}
		j.want = wanted.text
		got, signalled := r.Outcome().Signal()
		if !signalled {
			if code, ok := r.ExitCode(); ok && code > 128 && code <= 128+64 {
				j.hint = fmt.Sprintf("a shell exits with %d when its own child was ended by %s", code, signame.Shown(syscall.Signal(code-128)))
			}
			return nil
		}
		ok, err := wanted.match(got)
		j.ok = ok
		return err
	})
}

// TimedOutMatcher is what [HaveTimedOut] returns.
type TimedOutMatcher struct {
	*matcher
	at, within time.Duration
}

// HaveTimedOut matches a run that the command's own Timeout ended. It is not for an IdleTimeout, and not for a caller's
// context, deadline or not: that is a cancel.
//
//	Expect(result).To(HaveTimedOut().At(2 * time.Second).Within(500 * time.Millisecond))
func HaveTimedOut() *TimedOutMatcher {
	m := &TimedOutMatcher{at: -1, within: -1}
	m.matcher = ofRun("HaveTimedOut", func(r *runner.Result, j *judgement) error {
		j.want = m.wants()
		switch r.Outcome().Kind() {
		case runner.KindTimedOut:
			j.ok, j.hint = m.timely(r)
		case runner.KindIdleTimedOut:
			j.hint = "its IdleTimeout ran out, not its Timeout"
		case runner.KindCancelled:
			j.hint = "the caller's context ended, or the process was closed, before the command's own Timeout"
		default:
			if r.Timeout() == 0 {
				j.hint = "the command has no Timeout"
			}
		}
		return nil
	})
	return m
}

// At asks as well that the deadline was d: the Timeout that applied, not the time that was measured.
func (m *TimedOutMatcher) At(d time.Duration) *TimedOutMatcher {
	m.at = d
	return m
}

// Within asks as well that the run kept to its deadline by its own clock: that it was decided no earlier, and that
// everything was over, tree and streams, no later than tolerance after it. A command's Grace is part of that time.
func (m *TimedOutMatcher) Within(tolerance time.Duration) *TimedOutMatcher {
	m.within = tolerance
	return m
}

func (m *TimedOutMatcher) wants() string {
	s := "to have timed out"
	if m.at >= 0 {
		s += " at a deadline of " + short(m.at)
	}
	if m.within >= 0 {
		s += ", and to be over within " + short(m.within) + " of it"
	}
	return s
}

// timely judges a run that timed out.
func (m *TimedOutMatcher) timely(r *runner.Result) (ok bool, hint string) {
	deadline := r.Timeout()
	switch {
	case m.at >= 0 && deadline != m.at:
		return false, "it timed out at another deadline"
	case m.within < 0:
		return true, ""
	case deadline == 0:
		return false, "the command has no Timeout of its own, so there is nothing to measure from"
	case r.Duration() < deadline:
		return false, "it was decided " + short(deadline-r.Duration()) + " before its deadline"
	case r.SettledAfter() > deadline+m.within:
		return false, "it was over " + short(r.SettledAfter()-deadline) + " after its deadline"
	}
	return true, ""
}

// HaveOverflowed matches a run that ended because a stream passed a cap whose policy is to fail. With streams given,
// each of them must have lost bytes as well. A stream that is cut by another policy ends no run.
//
//	Expect(result).To(HaveOverflowed(runner.Stdout))
func HaveOverflowed(stream ...runner.StreamID) types.GomegaMatcher {
	stream = slices.Clone(stream)
	return ofRun("HaveOverflowed", func(r *runner.Result, j *judgement) error {
		j.want = "to have ended because its output passed a cap"
		j.ok = r.Outcome() == runner.Overflowed
		if !j.ok && (r.StdoutTruncated() || r.StderrTruncated()) {
			j.hint = "output was cut by a policy that ends no run"
		}
		if len(stream) > 0 {
			names := make([]string, len(stream))
			for i, id := range stream {
				names[i] = id.String()
				j.ok = j.ok && truncated(r, id)
			}
			j.want = "to have ended because its " + strings.Join(names, " and ") + " passed a cap"
		}
		return nil
	})
}

func truncated(r *runner.Result, id runner.StreamID) bool {
	if id == runner.Stderr {
		return r.StderrTruncated()
	}
	return r.StdoutTruncated()
}

// HaveTruncated matches a run of which not all output was kept: of the stream given, or of either.
//
//	Expect(result).NotTo(HaveTruncated(runner.Stdout))
func HaveTruncated(stream ...runner.StreamID) types.GomegaMatcher {
	stream = slices.Clone(stream)
	return ofRun("HaveTruncated", func(r *runner.Result, j *judgement) error {
		j.want, j.ok = "to have lost output", r.StdoutTruncated() || r.StderrTruncated()
		if len(stream) > 0 {
			names := make([]string, len(stream))
			j.ok = true
			for i, id := range stream {
				names[i] = id.String()
				j.ok = j.ok && truncated(r, id)
			}
			j.want = "to have lost output of " + strings.Join(names, " and ")
		}
		if j.ok {
			j.found = "it did"
		} else {
			j.got = "all of it was kept"
			if r.StdoutTruncated() || r.StderrTruncated() {
				j.got = "all of it was kept, and part of the other stream was not"
			}
		}
		return nil
	})
}

// HaveBeenReplayed matches a run that was answered from a recording: no process ran. It keeps a unit test from running
// the real thing unnoticed.
//
//	Expect(result).To(HaveBeenReplayed())
func HaveBeenReplayed() types.GomegaMatcher {
	return ofRun("HaveBeenReplayed", func(r *runner.Result, j *judgement) error {
		j.ok, j.want = r.Replayed(), "to have been replayed"
		j.got, j.found = "it was not: it ran, or a script played it", "it was"
		return nil
	})
}

// HaveDuration matches a run that took as long as v says, from its start until it was decided: a [time.Duration] that it
// must equal, or a matcher of one. A replay that does not know how long its run took is an error in both directions.
//
//	Expect(result).To(HaveDuration(BeNumerically("<", time.Second)))
func HaveDuration(v any) types.GomegaMatcher {
	wanted := want("HaveDuration", []any{v}, "",
		func(d time.Duration) string { return "to have taken " + short(d) }, "to have taken a time")
	return ofRun("HaveDuration", func(r *runner.Result, j *judgement) error {
		if wanted.err != nil {
			return wanted.err
		}
		if r.Replayed() && r.Duration() == 0 {
			return errors.New("matchers: HaveDuration cannot judge this replay: the recording does not say how long the run took")
		}
		ok, err := wanted.match(r.Duration())
		j.ok, j.want = ok, wanted.text
		j.got, j.found = "it took "+short(r.Duration()), "it did, with "+short(r.Duration())
		j.evidence = append([]fact{{"run", "it " + ending(r)}}, j.evidence...)
		return err
	})
}
