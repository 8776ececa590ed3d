package matchers

import (
	"bytes"
	"fmt"

	"github.com/boombox-go/boombox/internal/plaintext"
)

const (
	// contextLines are shown before the first difference, sideLines of either text from it on, and edgeLines at both
	// ends of a text that is shown as a whole.
	contextLines = 3
	sideLines    = 4
	edgeLines    = 8
	// lineBytes is how much of one line is shown.
	lineBytes = 120
)

// firstDifference is the index of the first byte in which a and b differ, or false when they are equal.
func firstDifference(a, b []byte) (int, bool) {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i, true
		}
	}
	return n, len(a) != len(b)
}

// place names byte i of text as people find it: line and column count from 1, the column in bytes.
func place(text []byte, i int) string {
	start := lineStart(text, i)
	return fmt.Sprintf("at byte %d (line %d, column %d)", i, lineNumber(text, i), i-start+1)
}

func lineStart(text []byte, i int) int { return bytes.LastIndexByte(text[:i], '\n') + 1 }

func lineNumber(text []byte, i int) int { return bytes.Count(text[:i], []byte("\n")) + 1 }

// lineDiff shows both texts around their first difference, at byte i: the lines before, which they share, then what
// was wanted (-) and what was got (+). Lines are quoted, with their line end, so that every byte can be told apart.
func lineDiff(wanted, got []byte, i int) []string {
	start := lineStart(got, i)
	first := lineNumber(got, i)
	before := start
	number := first
	for number > 1 && first-number < contextLines {
		before = lineStart(got, before-1)
		number--
	}
	column := i - start
	lines := []string{"             (- wanted, + got)"}
	lines = append(lines, numbered(" ", got[before:start], number, contextLines, 0)...)
	lines = append(lines, numbered("-", wanted[start:], first, sideLines, column)...)
	return append(lines, numbered("+", got[start:], first, sideLines, column)...)
}

// numbered shows the first limit lines of text. column is what must be visible in the first of them.
func numbered(mark string, text []byte, number, limit, column int) []string {
	var lines []string
	if len(text) == 0 && mark != " " {
		return []string{fmt.Sprintf("%s %5d  (nothing)", mark, number)}
	}
	for ; len(text) > 0; number++ {
		if len(lines) == limit {
			return append(lines, fmt.Sprintf("%s        ... and %s more", mark, plaintext.Count(countLines(text), "line")))
		}
		end := bytes.IndexByte(text, '\n') + 1
		if end == 0 {
			end = len(text)
		}
		lines = append(lines, fmt.Sprintf("%s %5d  %s", mark, number, window(text[:end], column)))
		text, column = text[end:], 0
	}
	return lines
}

// window quotes line, or the part of a long line around column.
func window(line []byte, column int) string {
	if len(line) <= lineBytes {
		return fmt.Sprintf("%q", line)
	}
	from := max(0, min(column-lineBytes/2, len(line)-lineBytes))
	to := from + lineBytes
	s := fmt.Sprintf("%q", line[from:to])
	if from > 0 {
		s = fmt.Sprintf("(%s) %s", plaintext.Count(from, "byte"), s)
	}
	if to < len(line) {
		s = fmt.Sprintf("%s (%s more)", s, plaintext.Count(len(line)-to, "byte"))
	}
	return s
}

// excerpt shows the first and the last lines of text.
func excerpt(text []byte) []string {
	total := countLines(text)
	if total <= 2*edgeLines {
		return numbered(" ", text, 1, total, 0)
	}
	head := 0 // where the shown beginning ends
	for range edgeLines {
		head += bytes.IndexByte(text[head:], '\n') + 1
	}
	tail := len(bytes.TrimSuffix(text, []byte("\n"))) // where the shown end begins
	for range edgeLines {
		tail = bytes.LastIndexByte(text[:tail], '\n')
	}
	lines := numbered(" ", text[:head], 1, edgeLines, 0)
	lines = append(lines, fmt.Sprintf("         ... %s not shown", plaintext.Count(total-2*edgeLines, "line")))
	return append(lines, numbered(" ", text[tail+1:], total-edgeLines+1, edgeLines, 0)...)
}

// countLines counts the lines of text; a last one without a line end counts too.
func countLines(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// size is the amount of text in words.
func size(text []byte) string {
	return plaintext.Count(len(text), "byte") + " in " + plaintext.Count(countLines(text), "line")
}
