package matchers

import (
	"errors"
	"fmt"

	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/internal/plaintext"
	"github.com/boombox-go/boombox/runner"
)

// HaveBeenCancelled matches a run that its caller ended: its context, deadline or not, [runner.Process.Cancel] or
// [runner.Process.Close]. It is not for a timeout of the command's own. The usual actual value is the error of
// [runner.Run], which knows the cause too, and may be of a run that never started. A cause is an error that it must
// match, as by [errors.Is], or a matcher of one.
//
//	_, err := runner.Run(ctx, r, cmd)
//	Expect(err).To(HaveBeenCancelled(context.DeadlineExceeded))
func HaveBeenCancelled(cause ...any) types.GomegaMatcher {
	wanted := wantCause(cause)
	return &matcher{final: settled, judge: func(actual any) (*judgement, error) {
		if wanted.err != nil {
			return nil, wanted.err
		}
		var cancel *runner.CancelError
		if err, ok := actual.(error); ok && rejectNil(actual) == nil {
			_ = errors.As(err, &cancel)
		}
		j := &judgement{subject: "the run", found: "it was, before it started"}
		if cancel == nil || cancel.Result() != nil {
			r, err := observeRun("HaveBeenCancelled", actual)
			if err != nil {
				return nil, err
			}
			about := aboutRun(r)
			j, about.ok = &about, r.Outcome() == runner.Cancelled
			if r.Outcome().Kind() == runner.KindTimedOut || r.Outcome().Kind() == runner.KindIdleTimedOut {
				j.hint = "its own timeout ended it, not its caller; see HaveTimedOut"
			}
		} else {
			j.ok = true
		}
		j.want = wanted.text
		if !j.ok || wanted.match == nil {
			return j, nil
		}
		if cancel == nil {
			return nil, fmt.Errorf("matchers: HaveBeenCancelled cannot tell the cause from a %T; give it the error of Run or Wait", actual)
		}
		j.evidence = append(j.evidence, fact{"cause", plaintext.Bounded(cancel.Unwrap().Error(), 300)})
		ok, err := wanted.match(cancel.Unwrap())
		if j.ok = ok; !ok {
			j.got = "it was cancelled for another cause"
		}
		return j, err
	}}
}

// wantedCause is the optional argument of [HaveBeenCancelled]; match is nil when there is none.
type wantedCause struct {
	text  string
	err   error
	match func(error) (bool, error)
}

func wantCause(v []any) wantedCause {
	const text = "to have been cancelled"
	if len(v) == 0 {
		return wantedCause{text: text}
	}
	if len(v) > 1 {
		return wantedCause{err: fmt.Errorf("matchers: HaveBeenCancelled takes one cause at most, not %d", len(v))}
	}
	switch v := v[0].(type) {
	case types.GomegaMatcher:
		return wantedCause{
			text:  text + " for a cause that satisfies " + describe(v),
			match: func(err error) (bool, error) { return v.Match(err) },
		}
	case error:
		return wantedCause{
			text:  text + " because of " + plaintext.Bounded(v.Error(), 300),
			match: func(err error) (bool, error) { return errors.Is(err, v), nil },
		}
	default:
		return wantedCause{err: fmt.Errorf("matchers: HaveBeenCancelled takes an error or a matcher, not %T", v)}
	}
}
