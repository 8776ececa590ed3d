package cassette

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/internal/plaintext"
	"github.com/boombox-go/boombox/runner"
)

// A conversation is a run with interactive input. Input and output are stored joined, as those of other runs; which came when stands
// on the tape, and here alone it is more than evidence: output that followed an input is played when that input was written.

// talk is the input of a conversation in live words, nil for other runs.
func (r *runText) talk(arrivals *tape, t translator) (input []byte) {
	if r.interactive {
		input, *arrivals = translateStream(capture{data: r.stream(secIn)}, inStream, *arrivals, t.toLive)
	}
	return input
}

// turn is how much output a child had written when so much had been written to it.
type turn struct {
	in, out, err int64
	closed       bool
	// size is what the terminal was given, zero where something was written.
	size runner.PTY
}

// turns are where a conversation goes from one side to the other.
func (r *runText) turns() (list []turn) {
	var at turn
	for _, a := range r.tape().chunks {
		switch a.stream {
		case runner.Stdout:
			at.out += a.n
		case runner.Stderr:
			at.err += a.n
		case inStream:
			if n := len(list); n > 0 && !list[n-1].closed && list[n-1].size == noPTY && list[n-1].out == at.out && list[n-1].err == at.err {
				list = list[:n-1] // how input was cut into writes says nothing
			}
			at.in += a.n
			list = append(list, at)
		case inClosed:
			list = append(list, turn{at.in, at.out, at.err, true, noPTY})
		case resized:
			list = append(list, turn{at.in, at.out, at.err, false, unpackSize(a.n)})
		}
	}
	return list
}

// sameTalk compares what two conversations of one call were told, and when.
func (r *runText) sameTalk(other *runText) bool {
	return !r.gated() && !other.gated() || bytes.Equal(r.stream(secIn), other.stream(secIn)) && slices.Equal(r.turns(), other.turns())
}

// converse plays a conversation.
func (s *playing) converse(ctx context.Context, cmd *runner.Cmd, c call, r *runText) (*runner.Process, error) {
	heard := &hearing{}
	script := r.script(s.words, s.pace)
	if s.pace == Instant && r.end.outcome != runner.Cancelled {
		script.Pending = false // the deadline that ended it is over at once
	}
	script.AlikeSize = func(want, got runner.PTY) bool { return s.alikeSize(c, want, got) }
	script.Mismatch = func(wrong *fake.InputError) error { return s.diverged(c, r, wrong, heard) }
	if r.masked || len(namesFor(s.index.matchers, programOf(c.argv))) > 0 || s.guard != nil && len(s.guard.hooks) > 0 {
		script.Alike = func(want, got []byte) bool { return s.alike(c, r, want, got) }
	}
	return fake.Play(context.WithoutCancel(ctx), s.timed(cmd, r).TappedStdin(heard.note), s.cut(script))
}

// alike compares one line of a conversation as the input of a command is compared: want is of the file, in live words.
func (s *playing) alike(c call, r *runText, want, got []byte) bool {
	recorded, live := c, c
	recorded.stdin, live.stdin = s.words.toFile(want, nil), s.lineInFile(got)
	if r.masked {
		recorded.stdin, live.stdin = canonical(recorded.stdin), canonical(live.stdin)
	}
	recorded, live = adapt(s.index.matchers, recorded), adapt(s.index.matchers, live)
	return bytes.Equal(recorded.stdin, live.stdin)
}

// alikeSize compares two sizes of a terminal as those of the calls are compared.
func (s *playing) alikeSize(c call, want, got runner.PTY) bool {
	recorded, live := c, c
	recorded.pty, live.pty = want, got
	return adapt(s.index.matchers, recorded).pty == adapt(s.index.matchers, live).pty
}

// lineInFile is a line of a conversation in the words of the file: redacted, then with tokens. One whose hook panicked is empty.
func (s *playing) lineInFile(line []byte) []byte {
	if s.guard != nil {
		var err error
		if _, _, line, err = s.guard.redactor().call(nil, "", line); err != nil {
			return nil
		}
	}
	return s.words.toFile(line, nil)
}

// hearing is the end of what was written to a run, as much as an explanation shows.
type hearing struct {
	mu    sync.Mutex
	total int
	last  []byte
}

func (h *hearing) note(piece []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.total += len(piece)
	if h.last = append(h.last, piece...); len(h.last) > 2*mostShown {
		h.last = append([]byte(nil), h.last[len(h.last)-mostShown:]...)
	}
}

// from is what was written from some place on, and before that what is on its line.
func (h *hearing) from(at int) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := h.total - len(h.last)
	if at < first || at > h.total {
		return h.last
	}
	line := 1 + bytes.LastIndexByte(h.last[:at-first], '\n')
	return append([]byte(nil), h.last[line:]...)
}

// diverged keeps the miss of a conversation that went another way.
func (s *playing) diverged(c call, r *runText, wrong *fake.InputError, heard *hearing) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	number := 1 + slices.IndexFunc(s.index.runs, func(other runText) bool { return &other.text[0] == &r.text[0] })
	left, next := s.index.left()
	e := &MissError{
		Class: MissInput, Program: programOf(c.argv), Path: s.tape.path, Mode: s.from.mode, Origin: s.from.origin,
		Runs: len(s.index.runs), Played: len(s.index.runs) - left, NextUnplayed: next, Hint: s.hint,
		Matchers: namesFor(s.index.matchers, programOf(c.argv)),
	}
	candidate := Candidate{Run: number, Line: r.line}
	if number > 0 {
		e.Call = int(s.index.played[number-1])
		candidate.Played = e.Call
	}
	candidate.Differences = []Difference{{Field: FieldStdin, Recorded: wrong.Want, Called: wrong.At}}
	if wrong.Resized != noPTY {
		candidate.Differences = []Difference{{Field: FieldTerminal}}
		e.Nearest = []Candidate{candidate}
		e.Cause = describeResize(wrong)
		e.explain = func() string { return explainResize(e, s.shown(c)) }
		s.misses = append(s.misses, e)
		return e
	}
	e.Nearest = []Candidate{candidate}
	e.Cause = fmt.Sprintf("after %s it went on differently", plaintext.Count(wrong.At, "byte"))
	if wrong.Closed {
		e.Cause = fmt.Sprintf("it was closed after %s", plaintext.Count(wrong.At, "byte"))
	}
	recorded := s.words.toLive(r.stream(secIn), nil)
	line := 1 + bytes.LastIndexByte(recorded[:min(wrong.At, len(recorded))], '\n')
	want := s.words.toFile(recorded[line:], nil)
	called := s.shown(c)
	called.stdin = s.lineInFile(heard.from(wrong.At))
	e.explain = func() string { return explainInput(e, called, want, wrong) }
	s.misses = append(s.misses, e)
	return e
}

// describeResize says what is wrong with a size.
func describeResize(wrong *fake.InputError) string {
	if wrong.Due == noPTY {
		return fmt.Sprintf("its terminal was given the size %s, and the recording has no further one", showSize(wrong.Resized))
	}
	return fmt.Sprintf("its terminal was given the size %s, and not %s as it was recorded", showSize(wrong.Resized), showSize(wrong.Due))
}

// explainResize is the long form of a conversation whose terminal was resized in another way.
func explainResize(e *MissError, called *call) string {
	return fmt.Sprintf("cassette: a conversation went another way than is recorded (%s)\n  called    %s\n  recorded  run %d, line %d\n  cause     %s\n  anew      %s\n",
		e.Class, shellLine(called.argv), e.Nearest[0].Run, e.Nearest[0].Line, e.Cause, e.Hint)
}

// explainInput is the long form of a conversation that diverged.
func explainInput(e *MissError, called *call, want []byte, wrong *fake.InputError) string {
	var b strings.Builder
	fmt.Fprintf(&b, "cassette: a conversation went another way than is recorded (%s)\n", e.Class)
	fmt.Fprintf(&b, "  called    %s\n", shellLine(called.argv))
	fmt.Fprintf(&b, "  recorded  run %d, line %d, in which %s are written\n", e.Nearest[0].Run, e.Nearest[0].Line, plaintext.Count(wrong.Want, "byte"))
	text := func(data []byte) string {
		if len(data) == 0 {
			return "(nothing)"
		}
		return quoteShown(lineOf(data, 1))
	}
	fmt.Fprintf(&b, "  want      %s\n", text(want))
	if wrong.Closed {
		fmt.Fprintf(&b, "  written   %s, and then it was closed\n", text(called.stdin))
	} else {
		fmt.Fprintf(&b, "  written   %s\n", text(called.stdin))
	}
	fmt.Fprintf(&b, "  anew      %s\n", e.Hint)
	return b.String()
}
