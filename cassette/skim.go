package cassette

import (
	"bytes"
	"sync"
)

// A large file is played before all of it is read. Its head, where its runs begin, and what they are matched by are all that a player
// needs to begin with; a run is checked when it is played, and the whole file, checksum included, beside the first plays. A fault that
// only this finds fails every later call, and the check at the end of a test.

// skimmedFrom is the size of a file from which on it is skimmed. Smaller ones are checked in full before anything of them is played.
const skimmedFrom = 4 << 20

// skim reads a file as far as a player needs it, or returns nil where it must be parsed in full, be it for a fault or for line ends that
// were turned. The runs that it returns are skimmed.
func skim(data []byte, lim limits) *parsed {
	body, trailer := cutTrailer(data)
	if len(data) > lim.File || trailer == nil {
		return nil
	}
	p := &parser{limits: lim, body: body, parsed: parsed{size: len(data), raw: body}}
	if p.version() != nil {
		return nil
	}
	if more, err := p.head(); err != nil || !more {
		return nil
	}
	if !p.skimRuns() || count(trailer) != len(p.runs) || len(p.runs) > lim.Runs {
		return nil
	}
	return &p.parsed
}

// skimRuns finds the runs, and what they are matched by: in one pass, in which each run is in the processor's cache. The first line of the
// first one was just read.
func (p *parser) skimRuns() bool {
	from, half := p.start, len(p.body)
	if i := bytes.Index(p.body[(from+half)/2:], runStart); i >= 0 {
		half = (from+half)/2 + i + 1
	}
	first, second := skimming{parser: p}, skimming{parser: p}
	wait := aside(len(p.body), func() { second.read(p.body[half:]) })
	first.read(p.body[from:half])
	wait()
	for i := range first.runs {
		first.runs[i].line += p.line
	}
	for i := range second.runs {
		second.runs[i].line += p.line + first.lines
	}
	p.runs = append(first.runs, second.runs...)
	return !first.bad && !second.bad
}

// skimming is one half of the work.
type skimming struct {
	*parser
	runs  []runText
	lines int
	// bad says that something is not as it should be.
	bad bool
}

func (s *skimming) read(part []byte) {
	for len(part) > 0 && !s.bad {
		n := bytes.Index(part, runStart) + 1
		if n == 0 {
			n = len(part)
		}
		r := runText{text: part[:n:n], line: s.lines, masked: s.masked, skimmed: true}
		s.bad = bytes.IndexByte(r.text, '\r') >= 0 || !r.skim(s.limits) || r.needs() > s.format
		if !s.bad && !r.masked {
			r.key = r.hash()
		}
		s.runs = append(s.runs, r)
		s.lines += bytes.Count(r.text, []byte{'\n'})
		part = part[n:]
	}
}

// count is the number of runs that a trailer tells, -1 when it does not read.
func count(trailer []byte) int {
	fields := bytes.Split(bytes.TrimSuffix(trailer, []byte{'\n'}), []byte{' '})
	if len(fields) != 3 {
		return -1
	}
	n, ok := parseInt(string(fields[1]), 1<<30)
	if !ok {
		return -1
	}
	return int(n)
}

// skim reads what a run is matched by, and how often it answers.
func (r *runText) skim(lim limits) bool {
	p := parser{limits: lim, body: r.text}
	if line, ok := p.next(); !ok || string(line) != "run" {
		return false
	}
	for {
		line, ok := p.next()
		if !ok || len(line) <= 2 || len(line) > lim.Line || line[0] != ' ' || line[1] != ' ' {
			return false
		}
		if !beforeOutput(line[2:]) {
			break
		}
		sec, problem := r.add(line[2:])
		if problem != "" {
			return false
		}
		if sec != secNone && r.start[sec] == 0 {
			r.start[sec] = int32(p.start)
		}
	}
	// Where the lines that matter for the key end, the section that is the last of them must end as well.
	r.start[secOut] = int32(p.start)
	for rest := bytes.TrimSuffix(r.text, []byte{'\n'}); ; {
		i := bytes.LastIndexByte(rest, '\n')
		if i < 0 || i+3 > len(rest) {
			return false
		}
		switch line := rest[i+3:]; {
		case bytes.HasPrefix(line, []byte("repeat ")), string(line) == "optional":
			if _, problem := r.add(line); problem != "" {
				return false
			}
		case !bytes.HasPrefix(line, []byte("x-")):
			return r.argc > 0
		}
		rest = rest[:i]
	}
}

// beforeOutput tells the lines of a run that stand before its output and its outcome.
func beforeOutput(line []byte) bool {
	tag, _, _ := bytes.Cut(line, []byte{' '})
	switch string(tag) {
	case "argv", "dir", "env", "pty", "stdin", "in", "in64":
		return true
	}
	return bytes.HasPrefix(tag, []byte("x-"))
}

// complete reads the rest of a run that was skimmed.
func (r *runText) complete(lim limits) error {
	if !r.skimmed {
		return nil
	}
	whole, err := readRun(r.text, lim, nil)
	if err != nil {
		return err
	}
	whole.line, whole.masked = r.line, r.masked
	*r = whole
	return nil
}

// inspection is the full check of a file that was skimmed.
type inspection struct {
	done sync.WaitGroup
	mu   sync.Mutex
	err  error
}

// inspect begins to check a file.
func inspect(path string, data []byte, lim limits) *inspection {
	c := &inspection{}
	c.done.Go(func() {
		if _, err := parse(data, lim, mustFit); err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.err = at(path, err)
		}
	})
	return c
}

// found is what the check has found until now.
func (c *inspection) found() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// result waits for the end of the check.
func (c *inspection) result() error {
	if c == nil {
		return nil
	}
	c.done.Wait()
	return c.found()
}
