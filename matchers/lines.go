package matchers

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/internal/plaintext"
)

// lineTest is what one line must be.
type lineTest struct {
	text  string
	match func(line string) (bool, error)
}

// newLinesTest makes the test of [HaveStdoutLines].
func newLinesTest(name string, v []any) (streamTest, error) {
	if len(v) == 1 {
		if m, ok := v[0].(types.GomegaMatcher); ok {
			return streamTest{
				text:  "to have lines that satisfy " + describe(m),
				bare:  "to have lines that satisfy the matcher",
				match: func(got []byte) (bool, error) { return m.Match(splitLines(got)) },
			}, nil
		}
	}
	wanted := make([]lineTest, len(v))
	for i, v := range v {
		switch v := v.(type) {
		case string:
			wanted[i] = lineTest{fmt.Sprintf("%q", bounded(v, lineBytes)), func(line string) (bool, error) { return line == v, nil }}
		case types.GomegaMatcher:
			wanted[i] = lineTest{"what satisfies " + describe(v), func(line string) (bool, error) { return v.Match(line) }}
		default:
			return streamTest{}, fmt.Errorf("matchers: %s takes strings and matchers, not %T", name, v)
		}
	}
	text := "to have the " + plaintext.Count(len(wanted), "line") + " given"
	if len(wanted) == 0 {
		text = "to have no line"
	}
	return streamTest{
		text: text, bare: text,
		match: func(got []byte) (bool, error) {
			i, err := firstWrongLine(wanted, splitLines(got))
			return i < 0, err
		},
		differs: func(got []byte) (text, bare string) {
			lines := splitLines(got)
			i, _ := firstWrongLine(wanted, lines)
			switch {
			case i < 0:
				return "", ""
			case i >= len(lines):
				bare = fmt.Sprintf("line %d is missing", i+1)
				return bare + ", wanted " + wanted[i].text, bare
			case i >= len(wanted):
				bare = fmt.Sprintf("line %d is one too many", i+1)
				return bare, bare
			}
			bare = fmt.Sprintf("line %d", i+1)
			return bare + ": wanted " + wanted[i].text, bare
		},
	}, nil
}

// firstWrongLine is the index of the first line that is missing, one too many, or not as wanted; -1 when there is none.
func firstWrongLine(wanted []lineTest, lines []string) (int, error) {
	for i, w := range wanted {
		if i == len(lines) {
			return i, nil
		}
		if ok, err := w.match(lines[i]); !ok || err != nil {
			return i, err
		}
	}
	if len(lines) > len(wanted) {
		return len(wanted), nil
	}
	return -1, nil
}

// splitLines are the lines of text without their ends. No text has no line.
func splitLines(text []byte) []string {
	lines := []string{}
	for line := range bytes.Lines(text) {
		lines = append(lines, strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r"))
	}
	return lines
}
