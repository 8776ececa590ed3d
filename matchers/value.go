package matchers

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/onsi/gomega/format"
	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/internal/plaintext"
)

// wanted is the one optional argument of a matcher: nothing, a literal, or a matcher.
type wanted[T comparable] struct {
	// text is what the matcher wants, in words. It is made when the matcher is made, so that an argument which keeps
	// what it matches cannot bring that into a message.
	text  string
	err   error
	match func(T) (bool, error)
}

// want reads the optional argument of the matcher called name. whatever says in words what is wanted without one,
// literal what is wanted with that value, and such what an argument that is a matcher must accept.
func want[T comparable](name string, v []any, whatever string, literal func(T) string, such string) wanted[T] {
	if len(v) == 0 {
		return wanted[T]{text: whatever, match: func(T) (bool, error) { return true, nil }}
	}
	if len(v) > 1 {
		return wanted[T]{err: fmt.Errorf("matchers: %s takes one value at most, not %d", name, len(v))}
	}
	switch v := v[0].(type) {
	case T:
		return wanted[T]{text: literal(v), match: func(got T) (bool, error) { return got == v, nil }}
	case types.GomegaMatcher:
		return wanted[T]{
			text:  such + " that satisfies " + describe(v),
			match: func(got T) (bool, error) { return v.Match(got) },
		}
	default:
		var zero T
		return wanted[T]{err: fmt.Errorf("matchers: %s takes one %T or a matcher, not %T", name, zero, v)}
	}
}

// Gomega's formatter is written for a page. These make one line of it, without addresses and without the unset state
// that a matcher keeps in unexported fields.
var untidy = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(` \| 0x[0-9a-f]+`), ""},
	{regexp.MustCompile(`>0x[0-9a-f]+`), ">"},
	{regexp.MustCompile(`\s+`), " "},
	{regexp.MustCompile(`([{\[]) `), "$1"},
	{regexp.MustCompile(`,? ([}\]])`), "$1"},
	{regexp.MustCompile(`,? ?\b[a-z]\w*: nil`), ""},
	{regexp.MustCompile(`<\*[\w.]*\.(\w+)Matcher>`), "$1"},
}

// describe names a matcher with its fields, in one line: BeNumerically{Comparator: ">", CompareTo: [<int>1]}. It must be
// called before the matcher has matched anything.
func describe(m types.GomegaMatcher) string {
	t := reflect.TypeOf(m)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	_, fields, _ := strings.Cut(format.Object(m, 0), ">: ")
	for _, u := range untidy {
		fields = u.pattern.ReplaceAllString(fields, u.instead)
	}
	return plaintext.Bounded(strings.TrimSuffix(t.Name(), "Matcher")+fields, 300)
}
