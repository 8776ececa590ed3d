// Package sealed keeps lists of strings, such as argv and environments, where no printer can reach them.
//
// fmt, gomega and go-cmp cannot call methods on the unexported fields of somebody else's struct: they walk the memory
// and print it. A closure has no fields to walk, so the strings of a [Strings] are only to be had through
// [Strings.Reveal].
package sealed

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
)

// Strings is a list of strings that prints as a count. The zero value is an empty list. It is immutable and safe for
// concurrent use.
type Strings struct {
	reveal func() []string
}

// Of seals a copy of list.
func Of(list ...string) Strings {
	if len(list) == 0 {
		return Strings{}
	}
	kept := slices.Clone(list)
	return Strings{reveal: func() []string { return kept }}
}

// Reveal returns a copy of the strings. It is the one way to see them.
func (s Strings) Reveal() []string { return slices.Clone(s.view()) }

// View returns the strings themselves, for code of this module that reads them at once: they must be neither changed nor
// handed on.
func View(s Strings) []string { return s.view() }

// Len reports how many strings there are.
func (s Strings) Len() int { return len(s.view()) }

// Equal reports whether both lists hold the same strings in the same order. [cmp.Equal] and gomega's BeComparableTo
// use it; [reflect.DeepEqual] never finds two sealed lists equal.
func (s Strings) Equal(other Strings) bool { return slices.Equal(s.view(), other.view()) }

func (s Strings) view() []string {
	if s.reveal == nil {
		return nil
	}
	return s.reveal()
}

// String says how many strings are sealed, and nothing of them.
func (s Strings) String() string { return fmt.Sprintf("[%d sealed]", s.Len()) }

// GoString is [Strings.String], for %#v.
func (s Strings) GoString() string { return s.String() }

// GomegaString is [Strings.String], for gomega's formatter.
func (s Strings) GomegaString() string { return s.String() }

// Format writes [Strings.String] for every verb.
func (s Strings) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue is [Strings.String], for log/slog.
func (s Strings) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON writes [Strings.String] as a JSON string.
func (s Strings) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalText is [Strings.String], for encoders of text.
func (s Strings) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
