package plaintext_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/boombox-go/boombox/internal/plaintext"
)

var lines = []struct{ name, in, out string }{
	{"nothing", "", ""},
	{"printable ASCII", `a "quoted" C:\path ~`, `a "quoted" C:\path ~`},
	{"letters of any script", "naïve 日本 😀", "naïve 日本 😀"},
	{"line ends and tabs", "a\r\nb\tc", `a\r\nb\tc`},
	{"an escape sequence", "\x1b[2J", `\x1b[2J`},
	{"C0 and DEL", "\x00\x07\x7f", `\x00\a\x7f`},
	{"C1", "\u009b31m", `\u009b31m`},
	{"bidirectional overrides and isolates", "a\u202eb\u2066c\u200fd", `a\u202eb\u2066c\u200fd`},
	{"zero width", "a\u200bb\ufeffc", `a\u200bb\ufeffc`},
	{"line and paragraph separators", "a\u2028b\u2029c", `a\u2028b\u2029c`},
	{"spaces that are not the space", "a\u00a0b\u3000c", `a\u00a0b\u3000c`},
	{"private and unassigned", "\ue000\U0010ffff", `\ue000\U0010ffff`},
	{"bytes that are not UTF-8", "a\xff\xc3", `a\xff\xc3`},
	{"an encoded surrogate", "\xed\xa0\x80", `\xed\xa0\x80`},
	{"the replacement character itself", "\ufffd", "\ufffd"},
}

func TestLine(t *testing.T) {
	for _, c := range lines {
		if got := plaintext.Line(c.in); got != c.out {
			t.Errorf("%s: got %q, want %q", c.name, got, c.out)
		}
		if got := plaintext.Bounded(c.in, 1000); got != c.out {
			t.Errorf("%s, bounded: got %q, want %q", c.name, got, c.out)
		}
	}
}

func TestBounded(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		out   string
	}{
		{"abcdef", 6, "abcdef"},
		{"abcdefg", 6, "abc..."},
		{"éééé", 8, "éééé"},
		{"éééé", 7, "éé..."},
		{"ab\n\n\n", 8, `ab\n\n\n`},
		{"ab\n\n\n", 7, `ab\n...`},
		{"ab\x1b", 5, `ab...`},
		{"abcd", 3, "..."},
		{"abcd", 2, ".."},
		{"abcd", 0, ""},
		{"abcd", -1, ""},
		{"", 0, ""},
	} {
		if got := plaintext.Bounded(c.in, c.limit); got != c.out {
			t.Errorf("%q in %d: got %q, want %q", c.in, c.limit, got, c.out)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 rules", 1: "1 rule", 2: "2 rules"} {
		if got := plaintext.Count(n, "rule"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// FuzzPlain: whatever comes in, what comes out is one line of printable characters, harmless to show again, bounded where
// it is to be, and the same where it was harmless before.
func FuzzPlain(f *testing.F) {
	for _, c := range lines {
		f.Add(c.in, 12)
	}
	f.Add(strings.Repeat("\u202e", 100), 3)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		line, bounded := plaintext.Line(s), plaintext.Bounded(s, limit)
		for _, shown := range []string{line, bounded} {
			if !utf8.ValidString(shown) || strings.ContainsFunc(shown, func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }) {
				t.Fatalf("%q from %q", shown, s)
			}
			if again := plaintext.Line(shown); again != shown {
				t.Fatalf("%q, and again %q", shown, again)
			}
		}
		if len(bounded) > max(limit, 0) {
			t.Fatalf("%d bytes in %d: %q", len(bounded), limit, bounded)
		}
		if len(line) <= limit && bounded != line {
			t.Fatalf("%q fits into %d, and became %q", line, limit, bounded)
		}
		if !strings.HasPrefix(line, strings.TrimRight(bounded, ".")) {
			t.Fatalf("%q does not begin %q", bounded, line)
		}
	})
}
