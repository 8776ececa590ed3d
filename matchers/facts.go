package matchers

import (
	"fmt"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/plaintext"
	"github.com/boombox-go/boombox/internal/signame"
	"github.com/boombox-go/boombox/runner"
)

// aboutRun is what every judgement of a run says: who, how it ended, how long it took, what held it, how much it wrote.
// Of the output it shows the amount alone.
func aboutRun(r *runner.Result) judgement {
	return judgement{
		subject: "run of " + ticked(r.Program()),
		got:     "it " + ending(r),
		found:   "it " + ending(r),
		evidence: []fact{
			{"child", afterwards(r)},
			{"time", timing(r)},
			{"contained", containment(r)},
			{"limits", hits(r.Evidence())},
			{"teardown", complaint(r.Teardown().Err)},
			{"output", amounts(r)},
		},
	}
}

// ending says how the run ended, as the predicate of a sentence.
func ending(r *runner.Result) string {
	o := r.Outcome()
	if code, ok := o.ExitCode(); ok {
		return fmt.Sprintf("exited with code %d", code)
	}
	if sig, ok := o.Signal(); ok {
		return "was ended by " + signame.Shown(sig)
	}
	switch o.Kind() {
	case runner.KindTimedOut:
		if r.Timeout() > 0 {
			return "timed out at its deadline of " + short(r.Timeout())
		}
		return "timed out"
	case runner.KindIdleTimedOut:
		if r.IdleTimeout() > 0 {
			return "timed out idle, without output for " + short(r.IdleTimeout())
		}
		return "timed out idle"
	case runner.KindCancelled:
		return "was cancelled by its caller"
	case runner.KindOverflowed:
		return "was ended because its output passed a cap"
	}
	return "ended as " + plaintext.Bounded(o.String(), 64)
}

// afterwards says what the child did in the end, where the ending does not.
func afterwards(r *runner.Result) string {
	switch r.Outcome().Kind() {
	case runner.KindExited, runner.KindSignalled:
		return ""
	}
	status, known := r.Status()
	switch {
	case !known || status.Lost:
		return ""
	case status.Exited():
		return fmt.Sprintf("exited with code %d in the end", status.Code)
	default:
		return "ended by " + signame.Shown(status.Signal) + " in the end"
	}
}

func timing(r *runner.Result) string {
	s := "took " + short(r.Duration())
	if more := r.SettledAfter() - r.Duration(); more > 0 {
		s += ", and " + short(more) + " more to settle"
	}
	if r.Timeout() > 0 {
		s += ", deadline " + short(r.Timeout())
	}
	if r.Replayed() {
		s += " (replayed)"
	}
	return s
}

// containment says what is known of the tree.
func containment(r *runner.Result) string {
	t := r.Teardown()
	s := string(t.Mechanism)
	switch {
	case s != "":
	case unheld(t):
		return "no process ran, so nothing was held"
	default:
		s = "mechanism unknown"
	}
	switch {
	case t.Verified && t.Mechanism == contain.ProcessGroup:
		s += ", seen empty, but for who has left it"
	case t.Verified:
		s += ", tree verified empty"
	default:
		s += ", tree not verified empty"
	}
	if n := len(t.Survivors); n > 0 {
		s += ", " + plaintext.Count(n, "survivor")
	}
	if r.PipesHeld() {
		s += "; a descendant held an output stream when the child had ended"
	}
	return s
}

// complaint is an error as one line, "" when there is none.
func complaint(err error) string {
	if err == nil {
		return ""
	}
	return plaintext.Bounded(err.Error(), 300)
}

// unheld reports whether nothing is known of any tree: no process ran, and no script says what became of one.
func unheld(t runner.Teardown) bool {
	return t.Mechanism == "" && !t.Verified && len(t.Survivors) == 0 && t.Err == nil
}

func amounts(r *runner.Result) string {
	return amount("stdout", r.StdoutTotal(), r.StdoutTruncated()) + ", " +
		amount("stderr", r.StderrTotal(), r.StderrTruncated()) + " (not shown)"
}

func amount(name string, total int64, truncated bool) string {
	s := name + " " + plaintext.Count(total, "byte")
	if truncated {
		s += ", truncated"
	}
	return s
}

// memberLine names a survivor.
func memberLine(m contain.Member) string {
	name := fmt.Sprintf("pid %d %s, parent %d", m.PID, ticked(m.Name), m.Parent)
	switch m.State {
	case 0:
		return name
	case 'Z', 'X':
		return name + ", dead, not reaped yet"
	default:
		return fmt.Sprintf("%s, state %c", name, m.State)
	}
}
