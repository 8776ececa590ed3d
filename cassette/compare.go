package cassette

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/boombox-go/boombox/runner"
)

// Class says what became of a recorded run.
type Class string

// The classes, from the most harmless.
const (
	// ClassSame: nothing differs.
	ClassSame Class = "same"
	// ClassTiming: only the arrival of the output differs, which it does each time.
	ClassTiming Class = "timing"
	// ClassOutput: what it wrote differs.
	ClassOutput Class = "output"
	// ClassOutcome: how it ended differs, and maybe its output too.
	ClassOutcome Class = "outcome"
	// ClassMissing: the run is recorded, and was not made again.
	ClassMissing Class = "missing"
	// ClassNew: the run was made, and is not recorded.
	ClassNew Class = "new"
)

// Change is one run of two cassettes, or of a cassette and what was run live.
type Change struct {
	Class Class
	// Old and New are the numbers of the run in either cassette, from 1; 0 where it is not.
	Old, New int
	// Program is the base name of its program.
	Program string
	// Fields name what differs: outcome, stdout, stderr, environment, files, pipes-held, limits, tape, and the input and the sizes of a conversation.
	Fields []string
}

// String names the run and what differs, and shows nothing of it.
func (c Change) String() string {
	number, where := c.Old, ""
	if c.Old == 0 {
		number, where = c.New, " of the new one"
	}
	s := fmt.Sprintf("run %d%s, of %s: %s", number, where, showName(c.Program), c.Class)
	if len(c.Fields) > 0 {
		s += " (" + strings.Join(c.Fields, ", ") + ")"
	}
	return s
}

// Compare pairs the runs of two cassettes by what is matched, in their order, and says what differs: first what is in
// both or in the new one, in its order, then what is missing from it. Placeholders are equal whatever they stand for. [WithMatchers]
// applies.
func Compare(old, new *Tape, opts ...Option) ([]Change, error) {
	o, err := gather(opts)
	if err != nil {
		return nil, err
	}
	return compare(old.state(), new.state(), o.matchers), nil
}

func compare(old, new *parsed, matchers []programMatcher) (list []Change) {
	index := newIndex(old.runs, matchers)
	for i := range new.runs {
		r := &new.runs[i]
		c := adapt(matchers, r.call())
		change := Change{Class: ClassNew, New: i + 1, Program: programOf(c.argv)}
		if at := index.claim(&c, c.hash(), nil, i+1); at >= 0 {
			change.Old = at + 1
			change.Class, change.Fields = old.runs[at].changed(r)
		}
		list = append(list, change)
	}
	for i := range old.runs {
		if index.times[i] == 0 && !old.runs[i].optional {
			list = append(list, Change{Class: ClassMissing, Old: i + 1, Program: programOf(old.runs[i].argv())})
		}
	}
	return list
}

// changed compares what two runs of one key say besides it.
func (r *runText) changed(other *runText) (class Class, fields []string) {
	class = ClassSame
	differ := func(c Class, field string, same bool) {
		if !same {
			class, fields = c, append(fields, field)
		}
	}
	a, b := r.tape(), other.tape()
	differ(ClassTiming, "tape", slices.Equal(a.chunks, b.chunks) && a.exit == b.exit)
	differ(ClassOutput, "input", !r.interactive || bytes.Equal(r.unmaskedInput(), other.unmaskedInput()))
	differ(ClassOutput, "sizes", slices.Equal(r.sizes(), other.sizes()))
	differ(ClassOutput, "environment", slices.Equal(r.env(), other.env()))
	for id, name := range [2]string{"stdout", "stderr"} {
		id := runner.StreamID(id)
		same := r.cut[id] == other.cut[id] && bytes.Equal(r.unmasked(id), other.unmasked(id))
		differ(ClassOutput, name, same)
	}
	differ(ClassOutput, "files", sameEffects(r.effects(), other.effects(), r.masked))
	differ(ClassOutcome, "pipes-held", r.held == other.held)
	differ(ClassOutcome, "limits", r.sameLimits(other))
	differ(ClassOutcome, "outcome", bytes.Equal(appendEnding(nil, r.end), appendEnding(nil, other.end)))
	return class, fields
}

func (r *runText) unmaskedInput() []byte {
	if r.masked {
		return canonical(r.stream(secIn))
	}
	return r.stream(secIn)
}

// unmasked is an output stream as it is compared.
func (r *runText) unmasked(id runner.StreamID) []byte {
	if r.masked {
		return canonical(r.output(id))
	}
	return r.output(id)
}
