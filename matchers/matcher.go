package matchers

import (
	"fmt"
	"strings"
	"sync/atomic"
)

// matcher is what all matchers of this package are made of: one look at the actual value, kept as one immutable
// judgement. Gomega may ask for a message from another goroutine while Match runs (it does for a progress report), so
// the judgement is published through an atomic pointer, and the messages read nothing else.
type matcher struct {
	// judge looks at the actual value. An error means that the question cannot be answered, in either direction.
	judge func(actual any) (*judgement, error)
	// final reports whether the answer for actual cannot change any more; nil means never. Gomega asks before Match.
	final func(actual any) bool

	last atomic.Pointer[judgement]
}

// look judges without a memory, for a matcher that is made of others.
func (m *matcher) look(actual any) (*judgement, error) { return m.judge(actual) }

// Match implements types.GomegaMatcher.
func (m *matcher) Match(actual any) (bool, error) {
	j, err := m.judge(actual)
	if err != nil {
		return false, err
	}
	m.last.Store(j)
	return j.ok, nil
}

// FailureMessage implements types.GomegaMatcher, for what the last Match saw.
func (m *matcher) FailureMessage(any) string { return m.message((*judgement).failure) }

// NegatedFailureMessage implements types.GomegaMatcher, for what the last Match saw.
func (m *matcher) NegatedFailureMessage(any) string { return m.message((*judgement).negatedFailure) }

func (m *matcher) message(render func(*judgement) string) string {
	j := m.last.Load()
	if j == nil {
		return "This matcher has not judged anything yet"
	}
	return bounded(render(j), maxMessage)
}

// MatchMayChangeInTheFuture ends an Eventually early when the answer is final.
func (m *matcher) MatchMayChangeInTheFuture(actual any) bool {
	return actual == nil || m.final == nil || !m.final(actual)
}

// judgement is what a matcher found: the verdict and the texts that explain it. It never changes.
type judgement struct {
	ok bool
	// subject and want make the verdict: "Expected <subject> <want>", and below it "got: <got>"; or, negated,
	// "Expected <subject> not <want>, but <found>".
	subject, want, got, found string
	// evidence is shown below either verdict.
	evidence []fact
	// details are further lines, below the evidence.
	details []string
	// hint says what to do about a failure; it is shown below the positive verdict alone, and only when it is sure.
	hint string
}

// fact is one labelled line of evidence. A fact without text is left out.
type fact struct{ label, text string }

func (j *judgement) failure() string {
	return j.render(fmt.Sprintf("Expected %s %s", j.subject, j.want), j.got, j.hint)
}

func (j *judgement) negatedFailure() string {
	return j.render(fmt.Sprintf("Expected %s not %s, but %s", j.subject, j.want, j.found), "", "")
}

func (j *judgement) render(verdict, got, hint string) string {
	var b strings.Builder
	b.WriteString(verdict)
	fact{"got", got}.write(&b)
	for _, f := range j.evidence {
		f.write(&b)
	}
	for _, line := range j.details {
		b.WriteString("\n    " + line)
	}
	fact{"hint", hint}.write(&b)
	return b.String()
}

func (f fact) write(b *strings.Builder) {
	if f.text != "" {
		fmt.Fprintf(b, "\n    %-11s %s", f.label+":", f.text)
	}
}
