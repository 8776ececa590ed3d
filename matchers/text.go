package matchers

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/boombox-go/boombox/internal/plaintext"
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

// ticked is a name between backquotes.
func ticked(name string) string { return "`" + plaintext.Bounded(name, 64) + "`" }

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
