package cassette

import (
	"fmt"
	"slices"
	"strings"

	"github.com/boombox-go/boombox/internal/plaintext"
)

// MissClass says why a call found no run.
type MissClass string

// The classes of misses.
const (
	// MissNoCassette: there is no file.
	MissNoCassette MissClass = "no cassette"
	// MissEmpty: the cassette has no runs at all.
	MissEmpty MissClass = "empty cassette"
	// MissNoSuchProgram: no run is of this program.
	MissNoSuchProgram MissClass = "no such program"
	// MissMismatch: runs of this program differ in what is matched.
	MissMismatch MissClass = "mismatch"
	// MissExhausted: every run of this very call is played already.
	MissExhausted MissClass = "exhausted"
	// MissOutOfOrder: the run of this very call is there, and others come before it.
	MissOutOfOrder MissClass = "out of order"
	// MissInput: the run of this very call was being played, and was given other input, or its terminal another size, than is recorded. Such a
	// run is cancelled.
	MissInput MissClass = "input diverged"
	// MissTruncated: the run of this very call is there, and the cassette does not hold as much of its output as the
	// command would keep.
	MissTruncated MissClass = "truncated"
)

// MissError is a call that the cassette has no run for. Its message and its printers show the program, numbers and
// lengths; [MissError.Explain] shows the arguments themselves.
type MissError struct {
	Class MissClass
	// Program is the base name of the program that was called; "" for MissNoCassette.
	Program string
	// Path is the file, "" for one in memory.
	Path string
	// Mode and Origin say how the cassette was opened.
	Mode   Mode
	Origin Origin
	// Call is the number of the call at this player, from 1.
	Call int
	// Runs and Played count the runs of the cassette. NextUnplayed is the number of the first that is not played, 0 when
	// all are.
	Runs, Played, NextUnplayed int
	// Nearest are up to three runs of the same program, the nearest first.
	Nearest []Candidate
	// Cause is the most likely cause in words, "" when no rule knows one.
	Cause string
	// Matchers are the names of those in force for the program; see [WithMatchers].
	Matchers []string
	// Variant is the one that was asked for, "" for none, and Variants are those that there are; see [WithVariant].
	Variant  string
	Variants []string
	// Hint is the command that records anew.
	Hint string

	explain func() string
}

// Candidate is a recorded run of the program that was called.
type Candidate struct {
	// Run is its number, and Line where it begins in the file.
	Run, Line int
	// Played is the number of the call that it answered, 0 when it is unplayed.
	Played int
	// Differences say where it differs from the call. They are empty for the very same call.
	Differences []Difference
}

// Field is a part of what is matched.
type Field string

// The fields that can differ.
const (
	FieldArgument Field = "argument"
	FieldDir      Field = "directory"
	FieldStdin    Field = "input"
	FieldTerminal Field = "terminal"
)

// Difference is one thing in which a run differs from the call, without the text.
type Difference struct {
	Field Field
	// Index counts the arguments from 1; it is 0 for the other fields.
	Index int
	// Recorded and Called are the lengths in bytes, -1 where there is none. For a terminal they are -1 or 0; the cause has the sizes.
	Recorded, Called int
}

// String names the field and both lengths.
func (d Difference) String() string {
	what := string(d.Field)
	if d.Index > 0 {
		what = fmt.Sprintf("%s %d", d.Field, d.Index)
	}
	switch {
	case d.Field == FieldTerminal && d.Called == d.Recorded:
		return "the size of the terminal differs"
	case d.Field == FieldTerminal && d.Called < 0:
		return "a terminal is recorded and not in the call"
	case d.Field == FieldTerminal:
		return "the terminal of the call is not recorded"
	case d.Called < 0:
		return fmt.Sprintf("%s is recorded (%s) and not in the call", what, plaintext.Count(d.Recorded, "byte"))
	case d.Recorded < 0:
		return fmt.Sprintf("%s of the call (%s) is not recorded", what, plaintext.Count(d.Called, "byte"))
	}
	return fmt.Sprintf("%s differs (%s recorded, %d called)", what, plaintext.Count(d.Recorded, "byte"), d.Called)
}

// Error says in one line which call missed what, and how to record anew.
func (e *MissError) Error() string {
	var b strings.Builder
	if e.Class == MissNoCassette {
		fmt.Fprintf(&b, "cassette: there is no cassette %q (%s)", e.Path, setting{e.Mode, e.Origin})
		return b.String() + describeVariants(e.Variant, e.Variants) + "; record it with: " + e.Hint
	}
	fmt.Fprintf(&b, "cassette: miss at call %d, of %s", e.Call, showName(e.Program))
	if e.Path != "" {
		fmt.Fprintf(&b, ", in %q", e.Path)
	}
	fmt.Fprintf(&b, ": %s", e.Class)
	if len(e.Nearest) > 0 {
		c := e.Nearest[0]
		fmt.Fprintf(&b, "; nearest is run %d (%s)", c.Run, c.state())
		for i, d := range c.Differences {
			if i == 3 {
				fmt.Fprintf(&b, ", and %s", plaintext.Count(len(c.Differences)-i, "further difference"))
				break
			}
			b.WriteString([]string{": ", ", ", ", "}[min(i, 2)] + d.String())
		}
	}
	if e.Cause != "" {
		b.WriteString("; " + e.Cause)
	}
	fmt.Fprintf(&b, " (%s; %s, %d played)", setting{e.Mode, e.Origin}, plaintext.Count(e.Runs, "run"), e.Played)
	return b.String() + describeVariants(e.Variant, e.Variants) + "; record anew with: " + e.Hint
}

// Is makes the error match [ErrMiss].
func (e *MissError) Is(target error) bool { return target == ErrMiss }

// Explain shows, over several lines, the call and the nearest runs with their arguments, directories and input. It
// reveals what the message keeps back: use it where a person looks, and not in logs.
func (e *MissError) Explain() string {
	if e.explain == nil {
		return e.Error() + "\n"
	}
	return e.explain()
}

func (c Candidate) state() string {
	if c.Played == 0 {
		return "unplayed"
	}
	return fmt.Sprintf("played at call %d", c.Played)
}

// maxCandidates is how many runs a miss shows.
const maxCandidates = 3

// miss makes the error of a call that found no run; s.mu is held.
func (s *playing) miss(c call) *MissError {
	left, next := s.index.left()
	e := &MissError{
		Program: programOf(c.argv), Path: s.tape.path, Mode: s.from.mode, Origin: s.from.origin, Call: s.calls,
		Runs: len(s.index.runs), Played: len(s.index.runs) - left, NextUnplayed: next, Hint: s.hint,
		Matchers: namesFor(s.index.matchers, programOf(c.argv)), Variant: s.variant, Variants: variantsOf(s.name),
	}
	var same []Candidate
	for i := range s.index.runs {
		r := &s.index.runs[i]
		recorded := s.index.call(i)
		if programOf(recorded.argv) != e.Program {
			continue
		}
		same = append(same, Candidate{
			Run: i + 1, Line: r.line, Played: int(s.index.played[i]), Differences: differences(&recorded, &c),
		})
	}
	slices.SortStableFunc(same, func(a, b Candidate) int {
		if d := len(a.Differences) - len(b.Differences); d != 0 {
			return d
		}
		return min(a.Played, 1) - min(b.Played, 1) // the unplayed one first
	})
	same = same[:min(len(same), maxCandidates)]
	var shown []call
	for _, r := range same {
		e.Nearest = append(e.Nearest, r)
		shown = append(shown, s.index.call(r.Run-1))
	}
	switch {
	case len(s.index.runs) == 0:
		e.Class = MissEmpty
	case len(same) == 0:
		e.Class = MissNoSuchProgram
	case len(same[0].Differences) > 0:
		e.Class, e.Cause = MissMismatch, likelyCause(&shown[0], &c, same[0].Differences)
	case s.order == Strict && !s.index.spent(same[0].Run-1) && !s.index.due(same[0].Run-1):
		e.Class, e.Cause = MissOutOfOrder, fmt.Sprintf("the order is strict, and run %d has still to be played", next)
	case same[0].Played == 0:
		e.Class, e.Cause = MissTruncated, "the cassette holds a part of the output only, and the command asks for more"
	default:
		e.Class, e.Cause = MissExhausted, "the call was made more often than it was recorded"
	}
	e.explain = func() string { return explain(e, s.shown(c), shown) }
	return e
}

// shown is a call as an explanation may show it: without secrets, whatever the file holds.
func (s *playing) shown(c call) *call {
	if s.tape.masked || s.guard == nil {
		return &c
	}
	r := s.guard.redactor()
	c.argv, c.dir, c.stdin = r.argv(c.argv), string(r.text([]byte(c.dir), nil, false, nil)), r.text(c.stdin, nil, false, nil)
	return &c
}

// differences compares what is matched, in the order of the file. Both programs are the same.
func differences(recorded, called *call) (list []Difference) {
	length := func(argv []string, i int) int {
		if i < len(argv) {
			return len(argv[i])
		}
		return -1
	}
	for i := 1; i < max(len(recorded.argv), len(called.argv)); i++ {
		r, c := length(recorded.argv, i), length(called.argv, i)
		if r != c || recorded.argv[i] != called.argv[i] {
			list = append(list, Difference{FieldArgument, i, r, c})
		}
	}
	if recorded.dir != called.dir {
		d := Difference{Field: FieldDir, Recorded: len(recorded.dir), Called: len(called.dir)}
		if d.Recorded == 0 {
			d.Recorded = -1 // an empty directory is none
		}
		if d.Called == 0 {
			d.Called = -1
		}
		list = append(list, d)
	}
	if recorded.inherit != called.inherit || recorded.interactive != called.interactive || string(recorded.stdin) != string(called.stdin) {
		list = append(list, Difference{Field: FieldStdin, Recorded: len(recorded.stdin), Called: len(called.stdin)})
	}
	if recorded.pty != called.pty {
		d := Difference{Field: FieldTerminal}
		if recorded.pty == noPTY {
			d.Recorded = -1
		}
		if called.pty == noPTY {
			d.Called = -1
		}
		list = append(list, d)
	}
	return list
}

// likelyCause is a guess by rule, without text of the call.
func likelyCause(recorded, called *call, differ []Difference) string {
	sorted := func(argv []string) []string { return slices.Sorted(slices.Values(argv[1:])) }
	switch first := differ[0]; {
	case first.Field == FieldTerminal:
		return describePTY(recorded.pty, called.pty)
	case recorded.inherit != called.inherit && len(differ) == 1:
		return "one of them reads the standard input of its caller, and the other does not"
	case recorded.interactive != called.interactive && len(differ) == 1:
		return "one of them has interactive input, and the other does not"
	case first.Field == FieldStdin:
		return "only the input differs"
	case slices.Equal(sorted(recorded.argv), sorted(called.argv)) && first.Field == FieldArgument:
		return "the arguments are the same in another order"
	case temporary(recorded, first) && temporary(called, first):
		return "it looks like a temporary directory; register it with WithToken"
	}
	return ""
}

// temporary reports whether the differing text holds a path below a usual directory for temporary files.
func temporary(c *call, d Difference) bool {
	text := c.dir
	if d.Field == FieldArgument {
		if d.Index >= len(c.argv) {
			return false
		}
		text = c.argv[d.Index]
	}
	for _, dir := range []string{"/tmp/", "/var/folders/", `\Temp\`} {
		if strings.Contains(text, dir) {
			return true
		}
	}
	return false
}

// UnplayedError reports runs of a cassette that no call asked for.
type UnplayedError struct {
	// Path is the file, "" for one in memory.
	Path string
	// Runs describe them: number, program and counts.
	Runs []string
}

// Error implements error.
func (e *UnplayedError) Error() string {
	where := ""
	if e.Path != "" {
		where = fmt.Sprintf(" of %q", e.Path)
	}
	were := "was"
	if len(e.Runs) > 1 {
		were = "were"
	}
	return fmt.Sprintf("cassette: %s%s %s not played: %s", plaintext.Count(len(e.Runs), "run"), where, were, strings.Join(e.Runs, "; "))
}
