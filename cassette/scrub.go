package cassette

import (
	"bytes"
	"fmt"
	"maps"

	"github.com/boombox-go/boombox/runner"
)

// Scrub returns the cassette as it would be had it been recorded with these options: what [Tape.Scan] finds is replaced
// by placeholders. Runs without a finding keep their text. Scrubbing the result again changes nothing.
func (t *Tape) Scrub(opts ...Option) (*Tape, error) {
	o, err := gather(opts)
	if err != nil {
		return nil, err
	}
	g := newGuard(o.redaction)
	if g == nil {
		return t, nil
	}
	p := *t.state()
	redactor := g.redactor()
	redactor.reserve(p.body(nil))
	p.runs = append([]runText(nil), p.runs...)
	p.side = maps.Clone(p.side)
	if p.side == nil {
		p.side = sideFiles{}
	}
	changed := false
	for i := range p.runs {
		r := &p.runs[i]
		redactor.used = false
		d, err := redactor.draft(r.draft(), r.allowedOutput())
		if err == nil && redactor.used {
			text := append(d.append(nil, translator{}, p.side), r.annotations()...)
			*r, err = readRun(text, defaultLimits, p.side)
			changed = true
		}
		if err != nil {
			return nil, &RecordError{Run: i + 1, Program: programOf(t.state().runs[i].argv()), Err: err}
		}
	}
	if !changed {
		return t, nil
	}
	p.masked = true
	p.writeHeader(p.extensions())
	p.settle()
	p.trimSide()
	return newTape(&p), nil
}

// settle numbers the lines of a file whose runs were changed.
func (p *parsed) settle() {
	line := 1 + bytes.Count(p.header, []byte{'\n'})
	p.size, p.raw, p.last = len(p.header), nil, nil
	for i := range p.runs {
		r := &p.runs[i]
		r.line, r.masked = line, p.masked
		line += bytes.Count(r.text, []byte{'\n'})
		p.size += len(r.text)
	}
}

// draft is the run as it was before it was written, in the words of the file.
func (r *runText) draft() *draft {
	d := &draft{
		argv: r.argv(), dir: r.dir(), env: r.env(), stdin: r.stream(secIn), inherit: r.inherit, interactive: r.interactive, pty: r.pty, end: r.end, held: r.held, evidence: r.evidence(),
		tape: r.tape(), taped: r.start[secTape] != 0, effects: r.effects(),
	}
	for id := range d.stream {
		d.stream[id] = r.capture(runner.StreamID(id))
	}
	return d
}

// annotations are the lines of a run that people write.
func (r *runText) annotations() (lines []byte) {
	switch {
	case r.repeat < 0:
		lines = append(lines, "  repeat *\n"...)
	case r.repeat > 0:
		lines = fmt.Appendf(lines, "  repeat %d\n", r.repeat)
	}
	if r.optional {
		lines = append(lines, "  optional\n"...)
	}
	return append(lines, r.extensions()...)
}

// extensions are the x- lines of the run.
func (r *runText) extensions() (lines []byte) {
	for line := range bytes.Lines(r.text) {
		if bytes.HasPrefix(line, []byte("  x-")) {
			lines = append(lines, line...)
		}
	}
	return lines
}
