package matchers

import (
	"errors"
	"fmt"
	"strings"

	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/plaintext"
	"github.com/boombox-go/boombox/internal/signame"
	"github.com/boombox-go/boombox/runner"
)

// ReplayAs matches a run that is told as want was: the same outcome, status of the child where both know it, output kept
// and counted, and word on held pipes. Times, the tree and whether a process ran are not compared. Its messages name what
// differs, and show no output.
//
//	Expect(replayed).To(ReplayAs(recorded))
func ReplayAs(want *runner.Result) types.GomegaMatcher {
	return ofRun("ReplayAs", func(r *runner.Result, j *judgement) error {
		if want == nil {
			return errors.New("matchers: ReplayAs was given a nil *runner.Result to compare with")
		}
		differences := compare(r, want)
		j.ok, j.want = len(differences) == 0, "to replay as the run given"
		j.got, j.found = "it differs in "+plaintext.Count(len(differences), "point"), "it does"
		j.details = listed(differences, func(s string) string { return s })
		return nil
	})
}

// compare says in what r differs from want.
func compare(r, want *runner.Result) []string {
	var list []string
	differ := func(what, got, wanted string) {
		if got != wanted {
			list = append(list, fmt.Sprintf("%s: got %s, wanted %s", what, got, wanted))
		}
	}
	differ("program", ticked(r.Program()), ticked(want.Program()))
	differ("outcome", r.Outcome().String(), want.Outcome().String())
	a, known := r.Status()
	if b, alsoKnown := want.Status(); known && alsoKnown {
		differ("status", statusText(a), statusText(b))
	}
	for _, p := range []part{stdout, stderr} {
		got, total, truncated := p.of(r)
		wanted, wantedTotal, wantedTruncated := p.of(want)
		if i, differs := firstDifference(wanted, got); differs {
			list = append(list, fmt.Sprintf("%s: got %s, wanted %s; differs %s", p.name, size(got), size(wanted), place(got, i)))
		}
		differ(p.name+" in all", plaintext.Count(total, "byte"), plaintext.Count(wantedTotal, "byte"))
		differ(p.name+" truncated", fmt.Sprint(truncated), fmt.Sprint(wantedTruncated))
	}
	differ("pipes held", fmt.Sprint(r.PipesHeld()), fmt.Sprint(want.PipesHeld()))
	return list
}

func statusText(s contain.ExitStatus) string {
	switch {
	case s.Lost:
		return "lost"
	case s.Exited():
		return fmt.Sprintf("exited with code %d", s.Code)
	default:
		return "ended by " + signame.Shown(s.Signal)
	}
}

// ResultFields are what [MatchResult] asks of a run. A nil field is not looked at.
type ResultFields struct {
	// Outcome is as the argument of [HaveOutcome].
	Outcome any
	// Exit is as the argument of [HaveExited], Signal as that of [BeSignaled].
	Exit, Signal any
	// Stdout and Stderr are as the argument of [HaveStdout].
	Stdout, Stderr any
	// Duration is as the argument of [HaveDuration].
	Duration any
	// Mechanism is a [contain.Mechanism], which must have held the tree.
	Mechanism any
	// Reaped is whether the tree was seen empty, as [HaveReapedTree] says: a bool.
	Reaped any
	// Replayed is whether no process ran: a bool.
	Replayed any
}

// ResultMatcher is what [MatchResult] returns.
type ResultMatcher struct {
	*matcher
	fields ResultFields
}

// MatchResult matches a run of which every field given is as it says. All are looked at, and a message tells of each
// that is not.
//
//	Expect(result).To(MatchResult(ResultFields{Exit: 1, Stderr: ContainSubstring("conflict"), Reaped: true}))
//
// A misspelt field does not compile, unlike a key of gstruct's.
func MatchResult(fields ResultFields) *ResultMatcher {
	m := &ResultMatcher{fields: fields}
	m.matcher = ofRun("MatchResult", func(r *runner.Result, j *judgement) error {
		failures, err := m.judgeFields(r)
		if err != nil {
			return err
		}
		j.ok = len(failures) == 0
		j.want, j.found = "to match "+plaintext.Count(len(m.parts()), "field"), "it does"
		for _, f := range failures {
			j.details = append(j.details, f.text())
		}
		return nil
	})
	return m
}

// Failures judges a run anew and lists what is wrong with it, one error a field; nil when it matches.
func (m *ResultMatcher) Failures(actual any) []error {
	r, err := observeRun("MatchResult", actual)
	if err != nil {
		return []error{err}
	}
	failures, err := m.judgeFields(r)
	if err != nil {
		return []error{err}
	}
	var errs []error
	for _, f := range failures {
		errs = append(errs, errors.New("matchers: "+f.text()))
	}
	return errs
}

// fieldFailure is a field that is not as wanted.
type fieldFailure struct {
	field     string
	judgement *judgement
}

func (f fieldFailure) text() string {
	s := fmt.Sprintf("%s: wanted %s; ", f.field, f.judgement.want)
	if !strings.HasPrefix(f.judgement.got, "it ") {
		s += "got "
	}
	s += f.judgement.got
	for _, e := range f.judgement.evidence {
		if e.label == "differs" && e.text != "" {
			s += "; differs " + e.text
		}
	}
	return s
}

// looker is a matcher of this package, which can judge without a memory.
type looker interface {
	look(actual any) (*judgement, error)
}

type fieldPart struct {
	field string
	looker
}

func (m *ResultMatcher) judgeFields(r *runner.Result) ([]fieldFailure, error) {
	var failures []fieldFailure
	for _, p := range m.parts() {
		j, err := p.look(r)
		if err != nil {
			return nil, fmt.Errorf("matchers: MatchResult, field %s: %w", p.field, err)
		}
		if !j.ok {
			failures = append(failures, fieldFailure{p.field, j})
		}
	}
	return failures, nil
}

// parts are the matchers of the fields that are given.
func (m *ResultMatcher) parts() []fieldPart {
	var list []fieldPart
	add := func(field string, v any, part func() types.GomegaMatcher) {
		if v != nil {
			list = append(list, fieldPart{field, part().(looker)})
		}
	}
	f := m.fields
	add("Outcome", f.Outcome, func() types.GomegaMatcher { return HaveOutcome(f.Outcome) })
	add("Exit", f.Exit, func() types.GomegaMatcher { return HaveExited(f.Exit) })
	add("Signal", f.Signal, func() types.GomegaMatcher { return BeSignaled(f.Signal) })
	add("Stdout", f.Stdout, func() types.GomegaMatcher { return HaveStdout(f.Stdout) })
	add("Stderr", f.Stderr, func() types.GomegaMatcher { return HaveStderr(f.Stderr) })
	add("Duration", f.Duration, func() types.GomegaMatcher { return HaveDuration(f.Duration) })
	add("Mechanism", f.Mechanism, func() types.GomegaMatcher { return haveMechanism(f.Mechanism) })
	add("Reaped", f.Reaped, func() types.GomegaMatcher { return asWanted("Reaped", f.Reaped, HaveReapedTree()) })
	add("Replayed", f.Replayed, func() types.GomegaMatcher { return asWanted("Replayed", f.Replayed, HaveBeenReplayed()) })
	return list
}

func haveMechanism(v any) types.GomegaMatcher {
	return ofRun("Mechanism", func(r *runner.Result, j *judgement) error {
		mech, ok := v.(contain.Mechanism)
		if !ok {
			return fmt.Errorf("matchers: Mechanism takes a contain.Mechanism, not %T", v)
		}
		got := r.Teardown().Mechanism
		j.ok, j.want, j.got = got == mech, string(mech), string(got)
		if got == "" {
			j.got = "none"
		}
		return nil
	})
}

// asWanted is m, or its negation where v is false.
func asWanted(field string, v any, m types.GomegaMatcher) types.GomegaMatcher {
	return ofRun(field, func(r *runner.Result, j *judgement) error {
		wanted, ok := v.(bool)
		if !ok {
			return fmt.Errorf("matchers: %s takes a bool, not %T", field, v)
		}
		found, err := m.(looker).look(r)
		if err != nil {
			return err
		}
		j.ok, j.want, j.got = found.ok == wanted, fmt.Sprint(wanted), fmt.Sprint(found.ok)
		return nil
	})
}
