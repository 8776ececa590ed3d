package matchers

import (
	"bytes"
	"fmt"
	"regexp"

	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/internal/plaintext"
	"github.com/boombox-go/boombox/runner"
)

// StreamMatcher is what [HaveStdout] and [HaveStderr] return.
type StreamMatcher struct {
	*matcher
	redacted bool
	// before refuses a run that cannot be judged; nil refuses none.
	before func(*runner.Result) error
}

// HaveStdout matches a run whose whole captured standard output is v: a string or a []byte, which it must equal; a
// [*regexp.Regexp], which must match somewhere in it; or a matcher, which gets it as a string.
//
// Its messages are the one place where this package shows what a command wrote: a few quoted lines around the first
// difference, and of v. [StreamMatcher.Redacted] withholds even that.
//
//	Expect(result).To(HaveStdout("main\n"))
//	Expect(result).To(HaveStdout(ContainSubstring("deploy")).Redacted())
func HaveStdout(v any) *StreamMatcher {
	test, err := newStreamTest("HaveStdout", v)
	return haveStream("HaveStdout", stdout, test, err)
}

// HaveStderr is [HaveStdout] for standard error.
func HaveStderr(v any) *StreamMatcher {
	test, err := newStreamTest("HaveStderr", v)
	return haveStream("HaveStderr", stderr, test, err)
}

// HaveOutput is [HaveStdout] for both streams: standard output, and after it standard error. Two pipes have no order
// between them, so it is for what stands in either, or in neither; see [HaveOutputInOrder].
//
//	Expect(result).To(HaveOutput(ContainSubstring("deprecated")))
func HaveOutput(v any) *StreamMatcher {
	test, err := newStreamTest("HaveOutput", v)
	return haveStream("HaveOutput", bothStreams, test, err)
}

// HaveStdoutLines matches a run that wrote these lines to standard output, and no other: each a string, or a matcher of
// one. A lone matcher gets all lines, a []string. Line ends are not part of a line, and a last line needs none.
//
//	Expect(result).To(HaveStdoutLines("main", HavePrefix("feature/")))
//	Expect(result).To(HaveStdoutLines(ContainElement("main")))
//
// Its messages show output as those of [HaveStdout] do.
func HaveStdoutLines(v ...any) *StreamMatcher {
	test, err := newLinesTest("HaveStdoutLines", v)
	return haveStream("HaveStdoutLines", stdout, test, err)
}

// Redacted keeps the command's output, and what is wanted of it, out of the messages: they tell sizes and places.
func (m *StreamMatcher) Redacted() *StreamMatcher {
	m.redacted = true
	return m
}

// streamTest is the argument of a [StreamMatcher].
type streamTest struct {
	// text continues "Expected stdout of `git`"; bare is the same without the argument's content.
	text, bare string
	match      func(got []byte) (bool, error)
	// exact is what the stream must equal; nil when the test is of another kind.
	exact []byte
	// differs says where the stream fails the test, with and without content; nil when the test cannot tell.
	differs func(got []byte) (text, bare string)
}

func newStreamTest(name string, v any) (streamTest, error) {
	switch v := v.(type) {
	case string:
		return exactly([]byte(v)), nil
	case []byte:
		return exactly(bytes.Clone(v)), nil
	case *regexp.Regexp:
		if v != nil {
			return streamTest{
				text:  "to match " + plaintext.Bounded(v.String(), 300),
				bare:  "to match the pattern",
				match: func(got []byte) (bool, error) { return v.Match(got), nil },
			}, nil
		}
	case types.GomegaMatcher:
		return streamTest{
			text:  "to satisfy " + describe(v),
			bare:  "to satisfy the matcher",
			match: func(got []byte) (bool, error) { return v.Match(string(got)) },
		}, nil
	}
	return streamTest{}, fmt.Errorf("matchers: %s takes a string, []byte, *regexp.Regexp or matcher, not %T", name, v)
}

func exactly(want []byte) streamTest {
	if want == nil {
		want = []byte{}
	}
	text := "to equal the " + size(want) + " given"
	if len(want) == 0 {
		text = "to equal nothing"
	}
	return streamTest{
		text: text, bare: text, exact: want,
		match: func(got []byte) (bool, error) { return bytes.Equal(got, want), nil },
	}
}

// part is what of a run's output a [StreamMatcher] looks at.
type part struct {
	name string
	of   func(r *runner.Result) (kept []byte, total int64, truncated bool)
}

var (
	stdout = part{"stdout", func(r *runner.Result) ([]byte, int64, bool) {
		return r.Stdout(), r.StdoutTotal(), r.StdoutTruncated()
	}}
	stderr = part{"stderr", func(r *runner.Result) ([]byte, int64, bool) {
		return r.Stderr(), r.StderrTotal(), r.StderrTruncated()
	}}
	bothStreams = part{"output", func(r *runner.Result) ([]byte, int64, bool) {
		return append(r.Stdout(), r.Stderr()...), r.StdoutTotal() + r.StderrTotal(), r.StdoutTruncated() || r.StderrTruncated()
	}}
)

func haveStream(name string, p part, test streamTest, wrong error) *StreamMatcher {
	m := &StreamMatcher{}
	m.matcher = ofRun(name, func(r *runner.Result, j *judgement) error {
		if wrong != nil {
			return wrong
		}
		if m.before != nil {
			if err := m.before(r); err != nil {
				return err
			}
		}
		got, total, truncated := p.of(r)
		ok, err := test.match(got)
		if err != nil {
			return m.failed(name, got, err)
		}
		j.ok = ok
		j.subject = p.name + " of " + ticked(r.Program())
		j.want, j.got, j.found = test.text, size(got), "it does, with "+size(got)
		if m.redacted {
			j.want = test.bare
		}
		j.evidence = []fact{{"run", "it " + ending(r)}}
		if truncated {
			j.evidence = append(j.evidence, fact{"truncated", fmt.Sprintf("kept %d of %s", len(got), plaintext.Count(total, "byte"))})
			j.hint = "only a part was kept: raise MaxBytes of the stream in Cmd.Output to judge the whole"
		}
		i, differs := firstDifference(test.exact, got)
		switch {
		case test.exact != nil && differs:
			j.evidence = append(j.evidence, fact{"differs", place(got, i)})
		case test.differs != nil && !ok:
			text, bare := test.differs(got)
			if m.redacted {
				text = bare
			}
			j.evidence = append(j.evidence, fact{"differs", text})
		}
		switch {
		case m.redacted:
		case test.exact == nil:
			j.details = excerpt(got)
		case differs:
			j.details = lineDiff(test.exact, got, i)
		}
		return nil
	})
	return m
}

// failed reports that the argument could not judge. Its error may quote what it was given, and wrapping it would let
// gomega's formatter print that in full.
func (m *StreamMatcher) failed(name string, got []byte, err error) error {
	text := fmt.Sprintf("%T", err)
	if !m.redacted {
		text = plaintext.Bounded(err.Error(), 300)
	}
	return fmt.Errorf("matchers: the matcher given to %s cannot judge %s: %s", name, size(got), text)
}
