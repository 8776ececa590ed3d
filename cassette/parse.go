package cassette

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// Version is the latest version of the format that this package knows. It reads every version up to it, and writes the earliest that
// has all that a file needs.
const Version = 2

// parsed is a whole file: its header, its runs, and the names of its tokens.
type parsed struct {
	// path is the file it was loaded from, "" for none.
	path string
	// header is everything before the first run.
	header []byte
	tokens []token
	// masked says that something was redacted: placeholders then stand for whatever they replaced.
	masked bool
	runs   []runText
	// format is the version that its first line names.
	format int
	// raw is the file up to the trailer, and last the trailer that was found to fit; nil for one that was not read as it is.
	raw, last []byte
	// side are the contents of its side files.
	side sideFiles
	// size is the length of the whole file.
	size int
}

// parser makes one pass over a file. It checks all of it and copies nothing.
type parser struct {
	limits limits
	body   []byte // the file up to the trailer
	start  int    // where the line that next has returned begins in body
	pos    int    // where the line after it begins
	line   int    // the number of that line, from 1
	parsed
}

// sealing says what parse makes of the trailer.
type sealing int

const (
	mustFit  sealing = iota // the count and the checksum must fit
	unsealed                // the trailer may be missing or wrong
)

// parse reads a file. What it returns refers to data.
func parse(data []byte, lim limits, seal sealing) (*parsed, error) {
	if len(data) > lim.File {
		return nil, tooLarge(0, "file", lim.File)
	}
	if bytes.IndexByte(data, '\r') >= 0 {
		// A checkout may have turned the line ends. A CR inside a string is always escaped, so nothing is lost.
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	body, trailer := cutTrailer(data)
	p := &parser{limits: lim, body: body, parsed: parsed{size: len(data), raw: body}}
	if err := p.version(); err != nil {
		return nil, err
	}
	p.expect(trailer)
	if seal == unsealed {
		if err := p.content(); err != nil {
			return nil, err
		}
		return &p.parsed, nil
	}
	if trailer == nil {
		return nil, &CorruptError{Reason: "the file is cut short: it does not end with its trailer"}
	}
	// The checksum of a large file is worked out beside the reading, and waited for in any case.
	var digest [sha256.Size]byte
	done := aside(len(body), func() { digest = sha256.Sum256(body) })
	err := p.content()
	done()
	if err == nil {
		err = p.trailer(trailer, digest)
	}
	if err != nil {
		return nil, err
	}
	p.last = trailer
	return &p.parsed, nil
}

// expect makes room for the runs that a trailer tells, as far as the body can have them.
func (p *parser) expect(trailer []byte) {
	const shortest = len("run\n  argv \"\"\n  exit 0\n")
	if n := min(count(trailer), p.limits.Runs, len(p.body)/shortest); n > 0 {
		p.runs = make([]runText, 0, n)
	}
}

// aside does work that looks at size bytes in a goroutine of its own, or at once where that is not worth one. What it returns waits for
// the end of it.
func aside(size int, work func()) (wait func()) {
	if size < largeWork {
		work()
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	return func() { <-done }
}

// largeWork is how many bytes are worth a goroutine.
const largeWork = 1 << 20

// cutTrailer splits off the last line if it is a trailer.
func cutTrailer(data []byte) (body, trailer []byte) {
	i := bytes.LastIndexByte(bytes.TrimSuffix(data, []byte{'\n'}), '\n') + 1
	if bytes.HasPrefix(data[i:], []byte("end ")) {
		return data[:i], data[i:]
	}
	return data, nil
}

// next returns the next line without its end, or false at the end of the body or with a line that has none.
func (p *parser) next() ([]byte, bool) {
	n := bytes.IndexByte(p.body[p.pos:], '\n')
	if n < 0 {
		return nil, false
	}
	p.start, p.pos = p.pos, p.pos+n+1
	p.line++
	return p.body[p.start : p.start+n], true
}

func (p *parser) corrupt(reason string) error { return &CorruptError{Line: p.line, Reason: reason} }

func tooLarge(line int, what string, most int) error {
	return &CorruptError{Line: line, Reason: fmt.Sprintf("the %s is larger than %d bytes", what, most), Err: ErrTooLarge}
}

// version reads the first line.
func (p *parser) version() error {
	const not = `not a cassette: the first line is not "cassette 1"`
	if len(p.body) == 0 {
		return &CorruptError{Reason: "not a cassette: the file is empty"}
	}
	first, ok := p.next()
	number, found := bytes.CutPrefix(first, []byte("cassette "))
	if !ok || !found || len(number) > 9 {
		return &CorruptError{Line: 1, Reason: not}
	}
	switch version, ok := parseInt(string(number), 1<<30); {
	case !ok || version < 1:
		return &CorruptError{Line: 1, Reason: not}
	case version > Version:
		return &VersionError{Version: int(version)}
	default:
		p.format = int(version)
	}
	return nil
}

// content reads everything between the first line and the trailer. Of a large file, the second half is read beside the first.
func (p *parser) content() error {
	more, err := p.head()
	if err != nil || !more {
		return err
	}
	rest := p.split()
	if rest == nil {
		return p.all()
	}
	var late error
	wait := aside(len(rest.body), func() {
		rest.next()
		late = rest.all()
	})
	err = p.all()
	wait()
	if err != nil {
		return err
	}
	return p.join(rest, late)
}

// head reads what stands before the first run, and that run's first line, if there is one.
func (p *parser) head() (more bool, err error) {
	line, ok := p.next()
	if names, found := bytes.CutPrefix(line, []byte("tokens ")); ok && found {
		var problem string
		if p.tokens, problem = parseTokens(string(names)); problem != "" {
			return false, p.corrupt(problem)
		}
		line, ok = p.next()
	}
	if sets, found := bytes.CutPrefix(line, []byte("redact ")); ok && found {
		if !ruleSets(string(sets)) {
			return false, p.corrupt("not rule sets: want a name and a number, such as builtin/1")
		}
		p.masked = true
		line, ok = p.next()
	}
	for ok && bytes.HasPrefix(line, []byte("x-")) {
		if len(line) > p.limits.Line {
			return false, tooLarge(p.line, "line", p.limits.Line)
		}
		if problem := checkExtension(line); problem != "" {
			return false, p.corrupt(problem)
		}
		line, ok = p.next()
	}
	p.header = p.body[:p.pos]
	if ok {
		p.header = p.body[:p.start]
	}
	if ok && string(line) != "run" {
		return false, p.corrupt(outside(line))
	}
	if !ok {
		return false, p.ended()
	}
	return true, nil
}

// all reads runs to the end of the body. The first line of the first of them was just read.
func (p *parser) all() error {
	for more := true; more; {
		if len(p.runs) == p.limits.Runs {
			return p.tooMany(p.line)
		}
		var err error
		if more, err = p.run(); err != nil {
			return err
		}
	}
	return p.ended()
}

func (p *parser) tooMany(line int) error {
	return &CorruptError{Line: line, Reason: fmt.Sprintf("more than %d runs", p.limits.Runs), Err: ErrTooLarge}
}

// ended refuses a last line that has no end.
func (p *parser) ended() error {
	if p.pos < len(p.body) {
		p.line++
		return p.corrupt("the last line is cut short")
	}
	return nil
}

// runStart is where a run begins: no other line is this one.
var runStart = []byte("\nrun\n")

// split leaves the second half of a large body to another parser, nil when there is no such half.
func (p *parser) split() *parser {
	if len(p.body)-p.pos < 2*largeWork {
		return nil
	}
	at := (p.pos + len(p.body)) / 2
	i := bytes.Index(p.body[at:], runStart)
	if i < 0 {
		return nil
	}
	at += i + 1
	rest := &parser{limits: p.limits, body: p.body[at:], parsed: parsed{masked: p.masked, format: p.format}}
	rest.runs = make([]runText, 0, cap(p.runs)/2)
	p.body = p.body[:at]
	return rest
}

// join takes what the parser of the second half has read.
func (p *parser) join(rest *parser, err error) error {
	var corrupt *CorruptError
	if errors.As(err, &corrupt) && corrupt.Line > 0 {
		corrupt.Line += p.line
	}
	for i := range rest.runs {
		rest.runs[i].line += p.line
	}
	if over := len(p.runs) + len(rest.runs) - p.limits.Runs; err == nil && over > 0 {
		return p.tooMany(rest.runs[len(rest.runs)-over].line)
	}
	p.line += rest.line
	p.runs = append(p.runs, rest.runs...)
	return err
}

// outside says what is wrong with a line that stands where a run should begin.
func outside(line []byte) string {
	switch {
	case bytes.HasPrefix(line, []byte("<<<<<<<")), bytes.HasPrefix(line, []byte("=======")), bytes.HasPrefix(line, []byte(">>>>>>>")):
		return "conflict marker of an unfinished merge"
	case bytes.HasPrefix(line, []byte("end ")):
		return "trailer in the middle of the file"
	case bytes.HasPrefix(line, []byte("tokens ")), bytes.HasPrefix(line, []byte("redact ")), bytes.HasPrefix(line, []byte("x-")):
		return "line that belongs before the first run"
	case len(line) == 0:
		return "empty line"
	}
	return `want "run" here, or a line of a run, which is indented by two spaces`
}

// run reads one run whose first line was just read, and reports whether another begins behind it.
func (p *parser) run() (more bool, err error) {
	r := runText{line: p.line, masked: p.masked}
	from := p.start
	last := secArgv
	var line []byte
	var ok bool
	for {
		sec, problem, fast := p.outputLine(&r)
		if !fast {
			if line, ok = p.next(); !ok || len(line) <= 2 || line[0] != ' ' || line[1] != ' ' {
				break
			}
			if len(line) > p.limits.Line {
				return false, tooLarge(p.line, "line", p.limits.Line)
			}
			sec, problem = r.add(line[2:])
		}
		if p.pos-from > p.limits.Run {
			return false, tooLarge(r.line, "run", p.limits.Run)
		}
		switch {
		case problem != "":
		case sec == secNone:
			continue
		case sec < last:
			problem = "line out of order"
		case r.start[sec] == 0:
			r.start[sec] = int32(p.start - from)
		case sec == last && sec.repeats():
		default:
			problem = "line that a run can have once"
		}
		if problem != "" {
			return false, p.corrupt(problem)
		}
		last = sec
	}
	end := p.pos
	if ok {
		if string(line) != "run" {
			return false, p.corrupt(outside(line))
		}
		end = p.start
	}
	r.text = p.body[from:end:end]
	problem := r.finish()
	if need := r.needs(); problem == "" && need > p.format {
		problem = fmt.Sprintf("run that a cassette of version %d cannot have: it takes version %d", p.format, need)
	}
	if problem != "" {
		return false, &CorruptError{Line: r.line, Reason: problem}
	}
	p.runs = append(p.runs, r)
	return ok, nil
}

// outputLine reads the next line if it is a sound line of text of an output stream, which most lines of a large file are: in one
// pass, where next and add look at each byte twice. Every other line it leaves to them.
func (p *parser) outputLine(r *runText) (sec section, problem string, ok bool) {
	rest := p.body[p.pos:]
	const prefix = len(`  out "`)
	if len(rest) < prefix || rest[prefix-1] != '"' {
		return 0, "", false
	}
	switch string(rest[:prefix-1]) {
	case "  out ":
		sec = secOut
	case "  err ":
		sec = secErr
	default:
		return 0, "", false
	}
	length, size := scanQuoted(rest[prefix:])
	if length <= 0 || prefix+size > p.limits.Line {
		return 0, "", false
	}
	p.start, p.pos = p.pos, p.pos+prefix+size
	p.line++
	return sec, r.grow(sec, length, encText, encText), true
}

// trailer checks the count and the checksum.
func (p *parser) trailer(line []byte, sum [sha256.Size]byte) error {
	p.line++
	text, ended := bytes.CutSuffix(line, []byte{'\n'})
	fields := bytes.Split(text, []byte{' '})
	if !ended || len(fields) != 3 {
		return p.corrupt("the trailer is cut short")
	}
	count, ok := parseInt(string(fields[1]), 1<<30)
	want, found := bytes.CutPrefix(fields[2], []byte("sha256:"))
	if !ok || !found || len(want) != 2*sha256.Size {
		return p.corrupt("the trailer does not read: want a count of runs and a sha256 checksum")
	}
	if int(count) != len(p.runs) || hex.EncodeToString(sum[:]) != string(want) {
		return &CorruptError{Line: p.line, Err: ErrChecksum, Reason: "the checksum does not fit: the file was edited, or " +
			"badly merged; look it over and seal it anew with boombox fix, or record it anew"}
	}
	return nil
}

func trailerOf(runs int, sum []byte) []byte { return fmt.Appendf(nil, "end %d sha256:%x\n", runs, sum) }

// checkExtension checks a line that only its writer understands: x-name, and a text that a terminal can show.
func checkExtension(line []byte) (problem string) {
	name, text, _ := bytes.Cut(line[2:], []byte{' '})
	if len(name) == 0 {
		return "extension line without a name"
	}
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return "name of an extension line that is not made of a-z, 0-9 and -"
		}
	}
	for len(text) > 0 {
		if text[0] == '"' || text[0] == '\\' {
			text = text[1:]
			continue
		}
		u, problem := readUnit(text)
		if problem != "" {
			return problem
		}
		text = text[u.size:]
	}
	return ""
}
