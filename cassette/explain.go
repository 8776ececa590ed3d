package cassette

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/boombox-go/boombox/internal/plaintext"
)

const (
	// mostShown is how many bytes of one value an explanation shows.
	mostShown = 2 << 10
	// mostDifferences is how many differences of one run it shows.
	mostDifferences = 8
)

// explain is the long form of a miss, for a person's eyes. Everything of the call is escaped: it can do nothing to a
// terminal.
func explain(e *MissError, called *call, nearest []call) string {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "  %-9s %s\n", label, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "cassette: no recorded run answers this call (%s)\n", e.Class)
	line("called", "%s", shellLine(called.argv))
	describeRest(line, called)
	path := e.Path
	if path == "" {
		path = "(in memory)"
	}
	state := fmt.Sprintf("%s, %d played", plaintext.Count(e.Runs, "run"), e.Played)
	if e.NextUnplayed > 0 {
		state += fmt.Sprintf(", next unplayed is run %d", e.NextUnplayed)
	}
	line("cassette", "%s (%s), %s", path, setting{e.Mode, e.Origin}, state)
	for i, c := range e.Nearest {
		label := "nearest"
		if i > 0 {
			label = "or"
		}
		where := ""
		if c.Line > 0 {
			where = fmt.Sprintf(", line %d", c.Line)
		}
		line(label, "run %d%s (%s)", c.Run, where, c.state())
		line("", "%s", shellLine(nearest[i].argv))
		for j, d := range c.Differences {
			if j == mostDifferences {
				line("", "and %s", plaintext.Count(len(c.Differences)-j, "further difference"))
				break
			}
			describeDifference(line, d, &nearest[i], called)
		}
	}
	if len(e.Matchers) > 0 {
		line("matchers", "%s", strings.Join(e.Matchers, ", "))
	}
	if text := describeVariants(e.Variant, e.Variants); text != "" {
		line("variants", "%s", strings.TrimPrefix(text, "; "))
	}
	if e.Cause != "" {
		line("cause", "%s", e.Cause)
	}
	line("anew", "%s", e.Hint)
	return b.String()
}

func describeRest(line func(string, string, ...any), c *call) {
	if c.dir != "" {
		line("", "in directory %s", quoteShown([]byte(c.dir)))
	}
	if c.pty != noPTY {
		line("", "on a terminal of %s", showSize(c.pty))
	}
	switch {
	case c.inherit:
		line("", "reading its caller's input")
	case len(c.stdin) > 0:
		line("", "reading %s: %s", plaintext.Count(len(c.stdin), "byte"), quoteShown(c.stdin))
	}
}

func describeDifference(line func(string, string, ...any), d Difference, recorded, called *call) {
	if d.Field == FieldTerminal {
		line("", "%s: %s", d.Field, describePTY(recorded.pty, called.pty))
		return
	}
	value := func(c *call) []byte {
		switch {
		case d.Field == FieldDir:
			return []byte(c.dir)
		case d.Field == FieldStdin:
			return c.stdin
		case d.Index < len(c.argv):
			return []byte(c.argv[d.Index])
		}
		return nil
	}
	r, c := value(recorded), value(called)
	if d.Field == FieldStdin {
		// The line in which the inputs part is worth more than their beginnings.
		n := 1 + bytes.Count(r[:common(r, c)], []byte{'\n'})
		r, c = lineOf(r, n), lineOf(c, n)
		line("", "%s differs from line %d on:", d.Field, n)
	} else {
		line("", "%s:", d)
	}
	show := func(b []byte, missing bool) string {
		if missing {
			return "(none)"
		}
		return quoteShown(b)
	}
	line("", "  recorded %s", show(r, d.Recorded < 0))
	line("", "  called   %s", show(c, d.Called < 0))
}

// common is the length of the common prefix.
func common(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// lineOf is the nth line of s, from 1, with its end.
func lineOf(s []byte, n int) []byte {
	for line := range bytes.Lines(s) {
		if n--; n == 0 {
			return line
		}
	}
	return nil
}

// quoteShown is a value as the file would have it, cut when it is long.
func quoteShown(s []byte) string {
	more := ""
	if len(s) > mostShown {
		more = fmt.Sprintf("... (%s more)", plaintext.Count(len(s)-mostShown, "byte"))
		s = s[:mostShown]
	}
	return `"` + string(appendEscaped(nil, s)) + `"` + more
}

// shellLine is argv as a person would type it, where that is safe to show, and escaped where it is not.
func shellLine(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		switch {
		case plain([]byte(arg)) < len(arg) || len(arg) > mostShown:
			words[i] = quoteShown([]byte(arg))
		case arg != "" && arg[0] != '~' && strings.Trim(arg, shellSafe) == "":
			words[i] = arg
		default:
			words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// shellSafe are the characters that a shell leaves alone inside a word.
const shellSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^~"
