package matchers_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	. "github.com/boombox-go/boombox/matchers"
)

// FuzzHaveStdout: whatever was wanted and written, a message is bounded, plain text, and never the reason of a panic.
func FuzzHaveStdout(f *testing.F) {
	f.Add("", "")
	f.Add("a\nb\n", "a\nb")
	f.Add("a\n\n\nb", "a\n\n\n\xff")
	f.Add(numberedLines(40), numberedLines(41))
	f.Add(strings.Repeat("x", 500), strings.Repeat("x", 499)+"\u202e")
	f.Fuzz(func(t *testing.T, wanted, got string) {
		for _, m := range []types.GomegaMatcher{HaveStdout(wanted), HaveStdout(gomega.HaveLen(-1)), HaveStdout(wanted).Redacted()} {
			ok, err := m.Match(wrote(got, ""))
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{m.FailureMessage(nil), m.NegatedFailureMessage(nil)} {
				if len(text) > 4096 {
					t.Fatalf("%d bytes", len(text))
				}
				for _, r := range text {
					if r != '\n' && !unicode.IsPrint(r) {
						t.Fatalf("%q in %q", r, text)
					}
				}
			}
			if ok != (wanted == got) && !strings.Contains(m.FailureMessage(nil), "HaveLen") {
				t.Fatalf("verdict %v on %q and %q", ok, wanted, got)
			}
		}
	})
}
