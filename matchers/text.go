package matchers

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// maxMessage is the most bytes of one message. Gomega cuts only what its own formatter prints.
const maxMessage = 4 << 10

// maxItems is how many survivors, misses or unplayed runs a message lists.
const maxItems = 8

// bounded cuts s to at most limit bytes, at the end of a character, and says how much is gone.
func bounded(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const note = "... (%d more bytes)"
	cut := max(limit-len(note)-10, 0)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + fmt.Sprintf(note, len(s)-cut)
}

// plain makes one line of s that cannot play tricks on a terminal: control, bidi and other unprintable characters are
// escaped as in a Go string, and what is too long is cut.
func plain(s string, limit int) string {
	var b strings.Builder
	for s = bounded(s, limit); len(s) > 0; {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 || !strconv.IsPrint(r) {
			quoted := strconv.Quote(s[:n])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// ticked is a name between backquotes.
func ticked(name string) string { return "`" + plain(name, 64) + "`" }

// count is "1 byte", "2 bytes".
func count[N int | int64](n N, noun string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// short is a duration without the digits that nobody reads.
func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	default:
		return d.String()
	}
}

// listed renders at most maxItems of items, and counts the rest.
func listed[T any](items []T, render func(T) string) []string {
	lines := make([]string, 0, min(len(items), maxItems)+1)
	for i, item := range items {
		if i == maxItems {
			lines = append(lines, fmt.Sprintf("  ... and %d more", len(items)-maxItems))
			break
		}
		lines = append(lines, "  "+render(item))
	}
	return lines
}
