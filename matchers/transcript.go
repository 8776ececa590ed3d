package matchers

import (
	"fmt"
	"strings"

	"github.com/boombox-go/boombox/runner"
)

// TranscriptOption says what else a [Transcript] tells.
type TranscriptOption func(*transcript)

type transcript struct {
	output bool
	redact func([]byte) []byte
}

// WithOutput adds the first and the last lines of both streams, quoted, after redact has taken out what is secret; nil
// takes out nothing. A redactor that panics leaves the stream out. By default a transcript has no output.
func WithOutput(redact func([]byte) []byte) TranscriptOption {
	return func(t *transcript) { t.output, t.redact = true, redact }
}

// Transcript tells a run in a few lines, for a log or a report: program, ending, times, tree, survivors, amounts. It shows
// no argument, no environment value, no directory, and no output unless asked; it has at most 4 kB.
//
//	t.Log(matchers.Transcript(result))
func Transcript(r *runner.Result, opts ...TranscriptOption) string {
	if r == nil {
		return "no run"
	}
	var t transcript
	for _, opt := range opts {
		opt(&t)
	}
	about := aboutRun(r)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: it %s", about.subject, ending(r))
	for _, f := range about.evidence {
		if t.output {
			f.text = strings.TrimSuffix(f.text, " (not shown)")
		}
		f.write(&b)
	}
	lines := listed(r.Teardown().Survivors, memberLine)
	for _, p := range []part{stdout, stderr} {
		if kept, _, _ := p.of(r); t.output && len(kept) > 0 {
			lines = append(append(lines, p.name+":"), t.excerpt(kept)...)
		}
	}
	for _, line := range lines {
		b.WriteString("\n    " + line)
	}
	return bounded(b.String(), maxMessage)
}

// excerpt is what a transcript shows of one stream. It fails closed.
func (t transcript) excerpt(kept []byte) (lines []string) {
	if t.redact == nil {
		return excerpt(kept)
	}
	defer func() {
		if recover() != nil {
			lines = []string{"  (not shown: its redactor failed)"}
		}
	}()
	return excerpt(t.redact(kept))
}
