package matchers

import (
	"bytes"
	"fmt"
	"regexp"

	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/runner"
)

// StreamMatcher is what [HaveStdout] and [HaveStderr] return.
type StreamMatcher struct {
	*matcher
	redacted bool
}

// HaveStdout matches a run whose whole captured standard output is v: a string or a []byte, which it must equal; a
// [*regexp.Regexp], which must match somewhere in it; or a matcher, which gets it as a string.
//
// Its messages are the one place where this package shows what a command wrote: a few quoted lines around the first
// difference, and of v. [StreamMatcher.Redacted] withholds even that.
//
//	Expect(result).To(HaveStdout("main\n"))
//	Expect(result).To(HaveStdout(ContainSubstring("deploy")).Redacted())
func HaveStdout(v any) *StreamMatcher { return haveStream("HaveStdout", runner.Stdout, v) }

// HaveStderr is [HaveStdout] for standard error.
func HaveStderr(v any) *StreamMatcher { return haveStream("HaveStderr", runner.Stderr, v) }

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
				text:  "to match " + plain(v.String(), 300),
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

func haveStream(name string, id runner.StreamID, v any) *StreamMatcher {
	m := &StreamMatcher{}
	test, wrong := newStreamTest(name, v)
	m.matcher = ofRun(name, func(r *runner.Result, j *judgement) error {
		if wrong != nil {
			return wrong
		}
		got, total := captured(r, id)
		ok, err := test.match(got)
		if err != nil {
			return m.failed(name, got, err)
		}
		j.ok = ok
		j.subject = id.String() + " of " + ticked(r.Program())
		j.want, j.got, j.found = test.text, size(got), "it does, with "+size(got)
		if m.redacted {
			j.want = test.bare
		}
		j.evidence = []fact{{"run", "it " + ending(r)}}
		if truncated(r, id) {
			j.evidence = append(j.evidence, fact{"truncated", fmt.Sprintf("kept %d of %s", len(got), count(total, "byte"))})
			j.hint = "only a part was kept: raise MaxBytes of the stream in Cmd.Output to judge the whole"
		}
		i, differs := firstDifference(test.exact, got)
		if test.exact != nil && differs {
			j.evidence = append(j.evidence, fact{"differs", place(got, i)})
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
		text = plain(err.Error(), 300)
	}
	return fmt.Errorf("matchers: the matcher given to %s cannot judge %s: %s", name, size(got), text)
}

func captured(r *runner.Result, id runner.StreamID) (kept []byte, total int64) {
	if id == runner.Stderr {
		return r.Stderr(), r.StderrTotal()
	}
	return r.Stdout(), r.StdoutTotal()
}
