package matchers

import (
	"fmt"

	"github.com/onsi/gomega/types"
)

// wantedList is the optional argument of a matcher about a list: nothing, which wants any element, a number of elements,
// or a matcher of the whole list.
type wantedList[T any] struct {
	text  string
	err   error
	match func([]T) (bool, error)
	// one and many are the nouns.
	one, many string
}

func wantList[T any](name string, v []any, one, many string) wantedList[T] {
	w := wantedList[T]{one: one, many: many}
	switch {
	case len(v) == 0:
		w.text = "to have " + many
		w.match = func(list []T) (bool, error) { return len(list) > 0, nil }
		return w
	case len(v) > 1:
		w.err = fmt.Errorf("matchers: %s takes one value at most, not %d", name, len(v))
		return w
	}
	switch v := v[0].(type) {
	case int:
		w.text = "to have " + w.number(v)
		w.match = func(list []T) (bool, error) { return len(list) == v, nil }
	case types.GomegaMatcher:
		w.text = "to have " + many + " that satisfy " + describe(v)
		w.match = func(list []T) (bool, error) { return v.Match(list) }
	default:
		w.err = fmt.Errorf("matchers: %s takes one int or a matcher, not %T", name, v)
	}
	return w
}

func (w wantedList[T]) number(n int) string {
	switch n {
	case 0:
		return "no " + w.one
	case 1:
		return "1 " + w.one
	}
	return fmt.Sprintf("%d %s", n, w.many)
}

// judge judges list, and shows its elements.
func (w wantedList[T]) judge(subject string, list []T, render func(T) string) (*judgement, error) {
	if w.err != nil {
		return nil, w.err
	}
	ok, err := w.match(list)
	if err != nil {
		return nil, fmt.Errorf("matchers: the matcher given cannot judge %s: %T", w.number(len(list)), err)
	}
	return &judgement{
		ok: ok, subject: subject, want: w.text,
		got: "it has " + w.number(len(list)), found: "it has " + w.number(len(list)),
		details: listed(list, render),
	}, nil
}
