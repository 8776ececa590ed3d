// Package plaintext makes foreign text (the name of a program, the message of an error, a line of output) fit to be shown:
// nothing in it can move a terminal's cursor, forge a line, or reorder the text around it.
package plaintext

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Line is s as one line. What is not printable is escaped as in a Go string: control characters and line ends, format
// and bidirectional characters, spaces other than the ASCII one, private and unassigned characters, and bytes that are
// not UTF-8. A backslash and a quote stand for themselves: this is to be read, not to be read back.
func Line(s string) string {
	if harmless(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		var shown string
		shown, s = next(s)
		b.WriteString(shown)
	}
	return b.String()
}

// cut ends what [Bounded] has shortened.
const cut = "..."

// Bounded is [Line], in at most limit bytes: what is longer ends in "...", never within a character or an escape.
func Bounded(s string, limit int) string {
	if len(s) <= limit && harmless(s) {
		return s
	}
	var b strings.Builder
	end := 0 // what is kept if the rest does not fit
	for len(s) > 0 {
		var shown string
		shown, s = next(s)
		if b.Len()+len(shown) > limit {
			return b.String()[:end] + cut[:min(len(cut), max(limit, 0))]
		}
		b.WriteString(shown)
		if b.Len()+len(cut) <= limit {
			end = b.Len()
		}
	}
	return b.String()
}

// harmless reports whether s is printable ASCII: most text is.
func harmless(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// next shows the first character of s, and returns the rest.
func next(s string) (shown, rest string) {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 || !strconv.IsPrint(r) {
		quoted := strconv.Quote(s[:n])
		return quoted[1 : len(quoted)-1], s[n:]
	}
	return s[:n], s[n:]
}

// Count is a number of things: "1 rule", "2 rules".
func Count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
