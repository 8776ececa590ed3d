package cassette

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/boombox-go/boombox/runner"
)

// existing reads the file that is about to be replaced, nil when there is none. Only a cassette is replaced. One whose
// checksum does not fit is a cassette still, but nothing is added to it.
func (s *recording) existing() (*parsed, error) {
	data, err := readFile(s.file.path, s.limits)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	old, err := parse(data, s.limits, mustFit)
	if errors.Is(err, ErrChecksum) && !s.extend {
		old, err = parse(data, s.limits, unsealed)
	}
	if err == nil {
		err = old.attach(s.file.path, s.limits)
		if errors.Is(err, ErrSideFile) && !s.extend {
			old.runs, err = nil, nil // a recording that replaces them all is what brings lost ones back
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w (it is not recorded over; remove it to record anew)", at(s.file.path, err))
	}
	if s.extend && slices.ContainsFunc(old.tokens, func(t token) bool { return !slices.Contains(s.tokens, t) }) {
		return nil, fmt.Errorf("%w: %q has other tokens than are registered, and nothing can be added to it", ErrToken, s.file.path)
	}
	return old, nil
}

// assemble is the recording as a file: written and read back, so that nothing is saved that cannot be loaded. s.mu is
// held.
func (s *recording) assemble() (*parsed, error) {
	var old *parsed
	var err error
	if !s.verify {
		old, err = s.existing()
	}
	if err != nil {
		return nil, err
	}
	p := &parsed{path: s.file.path, side: sideFiles{}}
	if old != nil {
		maps.Copy(p.side, old.side)
	}
	if s.extend && old != nil {
		p.runs = append(p.runs, old.runs...)
		p.masked = old.masked
	}
	first := len(p.runs)
	if p.runs, err = s.append(p.runs, old, p.side); err != nil {
		return nil, err
	}
	for i := range p.runs[first:] {
		p.masked = p.masked || p.runs[first+i].masked
	}
	for i := range p.runs {
		p.runs[i].masked = p.masked // what is kept from the file has the same words
	}
	for _, t := range s.tokens {
		if s.words.used(t) || s.extend && old != nil && slices.Contains(old.tokens, t) {
			p.tokens = append(p.tokens, t)
		}
	}
	if err := s.undeclared(old, p.tokens); err != nil {
		return nil, err
	}
	if old != nil && !s.extend && slices.Equal(old.tokens, p.tokens) {
		p.runs = append(p.runs[:first], keepTexts(old.runs, p.runs[first:], s.matchers)...)
	}
	var extensions []byte
	if old != nil {
		extensions = old.extensions()
	}
	p.writeHeader(extensions)
	if len(p.runs) > s.limits.Runs {
		return nil, fmt.Errorf("%w: more than %d runs", ErrTooLarge, s.limits.Runs)
	}
	p.settle()
	if p.size > s.limits.File-128 {
		return nil, fmt.Errorf("%w: the recording is longer than %d bytes", ErrTooLarge, s.limits.File)
	}
	if n := p.trimSide(); n > s.limits.SideFiles {
		return nil, fmt.Errorf("%w: the side files of the recording are longer than %d bytes", ErrTooLarge, s.limits.SideFiles)
	}
	return p, nil
}

// undeclared refuses to add a token to a file whose runs have text of that form, which would come to mean the token.
func (s *recording) undeclared(old *parsed, tokens []token) error {
	if old == nil || !s.extend {
		return nil
	}
	for _, t := range tokens {
		if !slices.Contains(old.tokens, t) && bytes.Contains(old.body(nil), []byte(t.bare())) {
			return fmt.Errorf("%w: %q has text that reads like <%s>, and that token cannot be added to it", ErrToken, s.file.path, t.bare())
		}
	}
	return nil
}

// append adds what was recorded to runs. Each run is masked that something was redacted in.
func (s *recording) append(runs []runText, old *parsed, side sideFiles) ([]runText, error) {
	redactor := s.guard.redactor()
	if redactor != nil && s.extend && old != nil {
		redactor.reserve(old.body(nil))
	}
	permits := permitsOf(old, s.matchers)
	for i, t := range s.takes {
		d, err := s.draft(t)
		if err == nil && d == nil {
			continue
		}
		if redactor != nil {
			redactor.used = false
		}
		var run runText
		if err == nil {
			run, err = s.write(d, redactor, permits, side)
		}
		if err != nil {
			return nil, &RecordError{Run: i + 1, Program: programOf(t.argv), Err: err}
		}
		run.masked = redactor != nil && redactor.used
		runs = append(runs, run)
	}
	return runs, nil
}

// write makes the text of one run. What the same run in the old file allows is allowed again.
func (s *recording) write(d *draft, redactor *redactor, permits *index, side sideFiles) (runText, error) {
	clean, err := redactor.draft(d, [2][]string{})
	if err != nil {
		return runText{}, err
	}
	run, err := readRun(clean.append(nil, s.words, side), s.limits, side)
	if err != nil || permits == nil || redactor == nil {
		return run, err
	}
	run.masked = true
	c := adapt(s.matchers, run.call())
	at := permits.claim(&c, c.hash(), nil, 1)
	if at < 0 {
		return run, nil
	}
	if clean, err = redactor.draft(d, permits.runs[at].allowedOutput()); err != nil {
		return runText{}, err
	}
	return readRun(append(clean.append(nil, s.words, side), permits.runs[at].allowLines()...), s.limits, side)
}

// permitsOf are the runs of the old file that allow a rule something, nil when there is none.
func permitsOf(old *parsed, matchers []programMatcher) *index {
	if old == nil {
		return nil
	}
	var runs []runText
	for i := range old.runs {
		if r := old.runs[i]; len(r.allowances()) > 0 {
			r.masked = true
			runs = append(runs, r)
		}
	}
	if len(runs) == 0 {
		return nil
	}
	return newIndex(runs, matchers)
}

// writeHeader writes everything before the first run, of the earliest version that has what the runs need.
func (p *parsed) writeHeader(extensions []byte) {
	p.format = 1
	for i := range p.runs {
		p.format = max(p.format, p.runs[i].needs())
	}
	p.header = appendTokens(fmt.Appendf(nil, "cassette %d\n", p.format), p.tokens)
	if p.masked {
		p.header = appendRedact(p.header)
	}
	p.header = append(p.header, extensions...)
}

// extensions are the x- lines of the header.
func (p *parsed) extensions() (lines []byte) {
	for line := range bytes.Lines(p.header) {
		if bytes.HasPrefix(line, []byte("x-")) {
			lines = append(lines, line...)
		}
	}
	return lines
}

// readRun parses one run on its own.
func readRun(text []byte, lim limits, side sideFiles) (runText, error) {
	p := parser{limits: lim, body: text, parsed: parsed{format: Version}}
	p.next()
	if _, err := p.run(); err != nil {
		return runText{}, err
	}
	if name, problem := p.runs[0].attach(side.of); problem != "" {
		return runText{}, &SideFileError{Name: name, Reason: problem}
	}
	return p.runs[0], nil
}

// keepTexts gives each run that was recorded before, with the same key, content and outcome, its old text back: its
// old arrival times, extensions and program path. What did not change then does not show in a diff.
// Runs that repeat what an old run with a line "repeat" says are that one run.
func keepTexts(old, runs []runText, matchers []programMatcher) []runText {
	index := newIndex(old, matchers)
	kept := runs[:0]
	for i := range runs {
		c := adapt(matchers, runs[i].call())
		at := index.claim(&c, c.hash(), nil, 1)
		run := runs[i]
		if at >= 0 && old[at].sameContent(&run) {
			if index.times[at] > 1 {
				continue
			}
			run = old[at]
			run.masked = runs[i].masked
		}
		kept = append(kept, run)
	}
	return kept
}

// sameContent compares what a run says besides its key and its tape.
func (r *runText) sameContent(other *runText) bool {
	return r.size == other.size && r.held == other.held && r.sameLimits(other) && r.cut == other.cut &&
		bytes.Equal(appendEnding(nil, r.end), appendEnding(nil, other.end)) &&
		slices.Equal(r.env(), other.env()) && r.sameTalk(other) && sameEffects(r.effects(), other.effects(), false) &&
		bytes.Equal(r.stream(secOut), other.stream(secOut)) && bytes.Equal(r.stream(secErr), other.stream(secErr))
}

// draft is the run as it is to be written, nil when it is not to be recorded.
func (s *recording) draft(t *take) (*draft, error) {
	d := &draft{argv: t.argv, dir: t.dir, env: t.env, stdin: t.stdin, inherit: t.inherit, interactive: t.interactive, pty: t.pty}
	if t.failure != nil {
		d.end.failure = t.failure
		return d, nil
	}
	if t.process == nil {
		return nil, ErrOpenRun
	}
	res, ok := t.process.Result()
	if !ok {
		return nil, ErrOpenRun
	}
	d.end.outcome = res.Outcome()
	switch d.end.outcome.Kind() {
	case runner.KindCancelled:
		if !s.cancelled {
			return nil, nil
		}
	case runner.KindTimedOut:
		d.end.limit = res.Timeout()
	case runner.KindIdleTimedOut:
		d.end.limit = res.IdleTimeout()
	}
	d.end.status, d.end.known = res.Status()
	d.held, d.evidence = res.PipesHeld(), res.Evidence()
	t.files.gather(MaxRun) // where the inner runner knows no observers
	if t.files.err != nil {
		return nil, t.files.err
	}
	d.effects, d.undeclared = t.files.effects, t.files.undeclared
	return d, t.observed(d, res)
}

// observed puts the output into the draft.
func (t *take) observed(d *draft, res *runner.Result) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.interactive {
		d.stdin = t.stdin
	}
	if len(t.stdin) > MaxRun || t.clock.talk && len(t.clock.marks) > maxTurns {
		return fmt.Errorf("%w: its conversation is longer than a cassette holds", ErrTooLarge)
	}
	totals := [2]int64{res.StdoutTotal(), res.StderrTotal()}
	whole := [2]func() []byte{res.Stdout, res.Stderr}
	truncated := [2]bool{res.StdoutTruncated(), res.StderrTruncated()}
	for id := range t.streams {
		o := &t.streams[id]
		if missing := totals[id] - o.total; missing > 0 && !truncated[id] {
			// What a stream gave after its tap was abandoned is in the result alone.
			data := whole[id]()
			t.clock.note(res.SettledAfter(), runner.StreamID(id), int(missing))
			o.write(data[len(data)-int(missing):])
		}
		c, problem := o.capture()
		if problem != "" {
			return fmt.Errorf("%w: %s", ErrTooLarge, problem)
		}
		d.stream[id] = c
	}
	d.tape, d.taped = t.clock.tape(res.Duration()), true
	return nil
}
