package cassette

import (
	"bytes"
	"time"

	"github.com/boombox-go/boombox/runner"
)

// section numbers the kinds of lines of a run, in the order in which they must stand.
type section int

const (
	secArgv section = iota
	secDir
	secEnv
	secPTY
	secIn
	secOut
	secErr
	secEnding
	secHeld
	secLimit
	secCut
	secTape
	secEffect
	secRepeat
	secOptional
	sections
)

// runText is one run as it stands in the file, with what the parser found out about it. Streams are decoded when they
// are asked for: opening a large cassette costs one pass over it and no copy.
type runText struct {
	// text begins with the run line and ends before the next run or the trailer. Each line ends in LF.
	text []byte
	// line is the number of the run line in the file, 0 for a run that was never in one.
	line int
	// start is where the first line of each section begins in text; 0 means that there is none.
	start [sections]int32
	// size is how many bytes the lines of each of the three streams stand for.
	size [3]int
	argc int
	// inherit says that the run read our own standard input, which was not recorded.
	inherit bool
	// interactive says that the input is one side of a conversation: the tape has its order.
	interactive bool
	// pty is the size of the terminal that it began with, zero for none.
	pty  runner.PTY
	end  ending
	held bool
	// limits is the place, from 1, of the last cap that there is a line of, 0 for none.
	limits int
	// repeat is how often the run answers: 0 means once, -1 without end. optional says that it need not be played.
	repeat   int32
	optional bool
	// skimmed says that only what the run is matched by was read; see skim.
	skimmed bool
	// key is the hash of what the run is matched by; 0 when it was not worked out.
	key uint64
	// masked says that placeholders stand for whatever they replaced.
	masked bool
	cut    [2]cut
	enc    [3]encoding
	// side has the contents of its side files by name, nil when there are none, or they were not looked at.
	side sideFiles
	// effectPath and effectEnc are the file at hand, while the run is parsed.
	effectPath string
	effectEnc  encoding
}

// needs is the version of the format that has what the run has.
func (r *runText) needs() int {
	if r.pty != noPTY {
		return 2
	}
	return 1
}

// cut says that the file holds only a part of a stream: its head, or its tail.
type cut struct {
	tail  bool
	total int64 // bytes that the child wrote; 0 means that nothing is cut
}

// section is the lines of a section, and what extension lines stand among and behind them.
func (r *runText) section(s section) []byte {
	from := r.start[s]
	if from == 0 {
		return nil
	}
	if s == secIn && r.interactive {
		from += int32(len("  stdin interactive\n"))
	}
	for next := s + 1; next < sections; next++ {
		if to := r.start[next]; to != 0 {
			return r.text[from:to]
		}
	}
	return r.text[from:]
}

// lines calls fn with the tag and the payload of each line of a section.
func (r *runText) lines(s section, fn func(tag, payload []byte)) {
	rest := r.section(s)
	for len(rest) > 0 {
		eol := bytes.IndexByte(rest, '\n')
		line := rest[2:eol] // behind the indentation
		rest = rest[eol+1:]
		if line[0] == 'x' {
			continue
		}
		tag, payload, _ := bytes.Cut(line, []byte{' '})
		fn(tag, payload)
	}
}

// payload is what stands behind the first prefix bytes of the first line from at on that is no extension, and where the next line begins.
func (r *runText) payload(at, prefix int) (payload []byte, next int) {
	for {
		next = at + bytes.IndexByte(r.text[at:], '\n') + 1
		if r.text[at+2] != 'x' {
			return r.text[at+prefix : next-1], next
		}
		at = next
	}
}

// tags are the tags of the text lines of the three streams.
var tags = [...]string{"in", "out", "err"}

// stream decodes one of the three streams.
func (r *runText) stream(s section) []byte {
	if r.start[s] == 0 || r.size[s-secIn] == 0 {
		return nil
	}
	if r.enc[s-secIn] == encFile {
		return bytes.Clone(r.side[r.sideName(s)])
	}
	if r.enc[s-secIn] == encText {
		return readText(r.section(s), len(`  out "`)-len("out")+len(tags[s-secIn]), r.size[s-secIn])
	}
	data := make([]byte, 0, r.size[s-secIn])
	r.lines(s, func(tag, payload []byte) {
		if tag[len(tag)-1] == '4' {
			data = appendBase64(data, payload)
		} else {
			data = appendUnquoted(data, payload)
		}
	})
	return data
}

func (r *runText) output(id runner.StreamID) []byte {
	if id == runner.Stderr {
		return r.stream(secErr)
	}
	return r.stream(secOut)
}

func (r *runText) argv() []string {
	argv := make([]string, 0, r.argc)
	r.lines(secArgv, func(_, payload []byte) { argv = append(argv, unquoted(payload)) })
	return argv
}

func (r *runText) dir() (dir string) {
	r.lines(secDir, func(_, payload []byte) { dir = unquoted(payload) })
	return dir
}

func (r *runText) env() (names []string) {
	r.lines(secEnv, func(_, payload []byte) { names, _ = parseNames(payload) })
	return names
}

func (r *runText) tape() (t tape) {
	r.lines(secTape, func(_, payload []byte) { t, _ = parseTape(payload) })
	return t
}

// arrivals is the order in which the output of a run came, nil where there is none to tell, and how long the run took.
func (r *runText) arrivals() (order []runner.Span, took time.Duration) {
	if r.start[secTape] == 0 {
		return nil, 0
	}
	both := r.total(runner.Stdout) > 0 && r.total(runner.Stderr) > 0
	payload, _ := r.payload(int(r.start[secTape]), len("  tape "))
	if both {
		order = make([]runner.Span, 0, bytes.Count(payload, []byte{' '}))
	}
	exit, _ := eachArrival(payload, func(a arrival) {
		took += a.after
		if both {
			order = append(order, runner.Span{Stream: a.stream, Bytes: a.n})
		}
	})
	return order, took + exit
}

func unquoted(payload []byte) string { return string(appendUnquoted(nil, payload)) }
