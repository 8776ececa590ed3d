package cassette

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ErrConflict: two cassettes change the same run in different ways. The error is a [*ConflictError].
var ErrConflict = errors.New("cassette: both sides change the same run")

// ConflictError says which runs two sides of a merge change in different ways.
type ConflictError struct {
	// Runs describe them: the number in our cassette or, where it is gone from there, in the base.
	Runs []string
}

// Error implements error.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v: %s", ErrConflict, strings.Join(e.Runs, "; "))
}

// Is makes the error match [ErrConflict].
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// Merge joins what ours and theirs made of base, run by run: runs are paired by what is matched. A run that one side alone
// changed, added or removed is as that side has it; arrival times alone are no change, and ours stay. What theirs added stands behind
// the run that it stands behind there. Both changing a run in different ways is a [*ConflictError].
func Merge(base, ours, theirs *Tape) (*Tape, error) {
	p, err := merge(base.state(), ours.state(), theirs.state())
	if err != nil {
		return nil, err
	}
	return newTape(p), nil
}

// MergeFiles is [Merge] for the contents of three files whose side files are not at hand, as they are not for a merge driver of git: it has
// three temporary files, and theirs may be on no disk at all. Two side files are the same when their digests are. git merges the side files
// themselves, as it does any files that one side adds or removes; where that would remove one that the result has, it is a
// [*ConflictError].
func MergeFiles(base, ours, theirs []byte) ([]byte, error) {
	var sides [3]*parsed
	for i, data := range [][]byte{base, ours, theirs} {
		p, err := parse(bytes.Clone(data), defaultLimits, mustFit)
		if err != nil {
			return nil, err
		}
		p.standIn()
		sides[i] = p
	}
	b, o, t := sides[0], sides[1], sides[2]
	p, err := merge(b, o, t)
	if err != nil {
		return nil, err
	}
	inOurs, inTheirs := o.usedSide(), t.usedSide()
	var removed []string
	for i := range p.runs {
		p.runs[i].eachSide(func(name string, _ int) {
			if slices.Contains(b.usedSide(), name) && !(slices.Contains(inOurs, name) && slices.Contains(inTheirs, name)) {
				removed = append(removed, describePlace(p, i)+" of the result, whose side file "+name[:12]+"... one side removes")
			}
		})
	}
	if len(removed) > 0 {
		return nil, &ConflictError{Runs: removed}
	}
	return p.marshal(), nil
}

// standIn gives each side file its name for a content: it is as unique.
func (p *parsed) standIn() {
	p.side = sideFiles{}
	for i := range p.runs {
		p.runs[i].attach(func(name string, _ int) ([]byte, string) {
			p.side[name] = []byte(name)
			return p.side[name], ""
		})
	}
}

func merge(b, o, t *parsed) (*parsed, error) {
	inOurs, inTheirs := pair(b, o), pair(b, t)
	var conflicts []string
	conflict := func(p *parsed, i int) { conflicts = append(conflicts, describePlace(p, i)) }

	merged := *o
	merged.runs = nil
	place := map[int]int{} // where a run of theirs is in merged, from 1
	fromOurs := invert(inOurs, len(o.runs))
	for i := range o.runs {
		run := o.runs[i]
		if at := fromOurs[i]; at >= 0 {
			their := inTheirs[at]
			switch {
			case their < 0 && same(&b.runs[at], &run):
				continue // theirs removed it
			case their < 0:
				conflict(o, i)
			case same(&b.runs[at], &run):
				if !same(&b.runs[at], &t.runs[their]) {
					run = t.runs[their]
				}
			case !same(&b.runs[at], &t.runs[their]) && !same(&run, &t.runs[their]):
				conflict(o, i)
			}
			if their >= 0 {
				place[their] = len(merged.runs) + 1
			}
		}
		merged.runs = append(merged.runs, run)
	}
	for at := range b.runs {
		if their := inTheirs[at]; inOurs[at] < 0 && their >= 0 && !same(&b.runs[at], &t.runs[their]) {
			conflict(b, at) // ours removed what theirs changed
		}
	}
	fromTheirs := invert(inTheirs, len(t.runs))
	shift := 0
	behind := 0
	for i := range t.runs {
		if at := place[i]; at > 0 {
			behind = at
		}
		if fromTheirs[i] >= 0 {
			continue
		}
		if slices.ContainsFunc(o.runs, func(r runText) bool { return bytes.Equal(r.text, t.runs[i].text) }) {
			continue // both added the same
		}
		merged.runs = slices.Insert(merged.runs, behind+shift, t.runs[i])
		shift++
	}
	if len(conflicts) > 0 {
		return nil, &ConflictError{Runs: conflicts}
	}
	for _, token := range t.tokens {
		if !slices.Contains(merged.tokens, token) {
			merged.tokens = append(slices.Clip(merged.tokens), token)
		}
	}
	merged.masked = o.masked || t.masked
	merged.writeHeader(o.extensions())
	merged.settle()
	p, err := parse(merged.marshal(), defaultLimits, mustFit)
	if err != nil {
		return nil, err
	}
	p.side = sideFiles{}
	maps.Copy(p.side, t.side)
	maps.Copy(p.side, o.side)
	if err := p.attach("", defaultLimits); err != nil {
		return nil, err
	}
	p.trimSide()
	return p, nil
}

// pair finds for each run of base the one in p of the same key, -1 for none.
func pair(base, p *parsed) []int {
	to := make([]int, len(base.runs))
	for i := range to {
		to[i] = -1
	}
	index := newIndex(base.runs, nil)
	for i := range p.runs {
		c := p.runs[i].call()
		if at := index.claim(&c, c.hash(), nil, 1); at >= 0 && to[at] < 0 {
			to[at] = i
		}
	}
	return to
}

func invert(to []int, n int) []int {
	from := make([]int, n)
	for i := range from {
		from[i] = -1
	}
	for i, at := range to {
		if at >= 0 {
			from[at] = i
		}
	}
	return from
}

// same reports whether two runs of one key say the same, arrival aside.
func same(a, b *runText) bool {
	class, _ := a.changed(b)
	return (class == ClassSame || class == ClassTiming) && a.repeat == b.repeat && a.optional == b.optional &&
		bytes.Equal(a.extensions(), b.extensions())
}

func describePlace(p *parsed, i int) string {
	return fmt.Sprintf("run %d (line %d), of %s", i+1, p.runs[i].line, showName(programOf(p.runs[i].argv())))
}
