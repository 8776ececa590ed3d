package cassette

import (
	"crypto/sha256"
	"time"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/runner"
)

// Sample is a run for specs: what a recorder would have observed.
type Sample struct {
	Argv        []string
	Dir         string
	Env         []string
	Stdin       []byte
	Inherit     bool
	Out, Err    []byte
	Dropped     [2]int64
	Tail        [2]bool
	Outcome     runner.Outcome
	Status      *contain.ExitStatus
	Limit       time.Duration
	Failure     *runner.StartError
	Held        bool
	Evidence    contain.Evidence
	Chunks      []SampleChunk
	Exit        time.Duration
	WithoutTape bool
}

// SampleChunk is one arrival.
type SampleChunk struct {
	After  time.Duration
	Stream runner.StreamID
	N      int64
}

func (s Sample) draft() *draft {
	d := &draft{
		argv: s.Argv, dir: s.Dir, env: s.Env, stdin: s.Stdin, inherit: s.Inherit, held: s.Held, evidence: s.Evidence, taped: !s.WithoutTape && s.Failure == nil,
		stream: [2]capture{{s.Out, s.Dropped[0], s.Tail[0]}, {s.Err, s.Dropped[1], s.Tail[1]}},
		end:    ending{outcome: s.Outcome, limit: s.Limit},
	}
	if s.Status != nil {
		d.end.status, d.end.known = *s.Status, true
	}
	if s.Failure != nil {
		d.end = ending{failure: failureOf(s.Failure)}
	}
	for _, c := range s.Chunks {
		d.tape.chunks = append(d.tape.chunks, arrival{c.After, c.Stream, c.N})
	}
	if s.Chunks == nil {
		for id, c := range d.stream {
			if n := int64(len(c.data)) + c.dropped; n > 0 {
				d.tape.chunks = append(d.tape.chunks, arrival{stream: runner.StreamID(id), n: n})
			}
		}
	}
	d.tape.exit = s.Exit
	return d
}

// File is the cassette of some samples, with tokens registered by opts.
func File(samples []Sample, opts ...Option) []byte {
	o, err := gather(opts)
	if err != nil {
		panic(err)
	}
	var tokens []token
	for _, r := range o.values {
		tokens = append(tokens, r.token)
	}
	words, err := bind(tokens, o.values)
	if err != nil {
		panic(err)
	}
	file := appendTokens([]byte("cassette 1\n"), tokens)
	for _, s := range samples {
		file = s.draft().append(file, words, nil)
	}
	sum := sha256.Sum256(file)
	return append(file, trailerOf(len(samples), sum[:])...)
}

// TapeOf is the tape of some samples, with the side files that a recorder would make of them.
func TapeOf(samples ...Sample) *Tape {
	side, file := sideFiles{}, []byte("cassette 1\n")
	for _, s := range samples {
		file = s.draft().append(file, translator{}, side)
	}
	sum := sha256.Sum256(file)
	p, err := parse(append(file, trailerOf(len(samples), sum[:])...), defaultLimits, mustFit)
	if err != nil {
		panic(err)
	}
	p.side = side
	if err := p.attach("", defaultLimits); err != nil {
		panic(err)
	}
	return newTape(p)
}

// Quoted, Unquote and Base64Lines are the codecs of single lines.
func Quoted(data []byte) []byte { return append(appendEscaped([]byte{'"'}, data), '"') }

// Unquote reads a string of the file, or says what is wrong with it.
func Unquote(s []byte) (data []byte, length int, problem string) {
	if length, problem = checkQuoted(s); problem != "" {
		return nil, 0, problem
	}
	return appendUnquoted(nil, s), length, ""
}

// ReadText and ReadLines read the text lines of standard output: the one quickly, the other line by line.
func ReadText(lines []byte, size int) []byte {
	return readText(lines, len(`  out "`), size)
}

func ReadLines(lines []byte) []byte { return appendText(nil, lines, len(`  out "`)) }

// ReadEven reports whether the quick reader reads the lines by itself.
func ReadEven(lines []byte, size int) bool {
	return readEven(make([]byte, size), lines, len(`  out "`))
}

// EscapedLen is the length that the choice of an encoding goes by.
func EscapedLen(data []byte) (int, bool) { return escapedLen(data) }

// Redact redacts one text, and moves the marks.
func Redact(data []byte, marks []int, opts ...Option) ([]byte, []int) {
	o, err := gather(opts)
	if err != nil {
		panic(err)
	}
	g := newGuard(o.redaction)
	return g.redactor().text(data, marks, g.keepLength, nil), marks
}

// ParseLimited is Parse with other caps.
func ParseLimited(data []byte, file, run, line, runs int) error {
	_, err := parse(data, limits{File: file, Run: run, Line: line, Runs: runs}, mustFit)
	return err
}

// Unsealed is a tape whose checksum has still to be worked out, as that of a recording.
func Unsealed(t *Tape) *Tape {
	p := *t.state()
	p.settle()
	return newTape(&p)
}

// SkimmedFrom is from which size on a file is skimmed.
const SkimmedFrom = skimmedFrom

// SkimPlayer plays a file of any size as a large one is played, nil when it cannot be skimmed.
func SkimPlayer(data []byte, opts ...Option) *Player {
	p := skim(data, defaultLimits)
	if p == nil {
		return nil
	}
	o, err := gather(opts)
	if err != nil {
		panic(err)
	}
	player, err := newPlayer(p, o, setting{Replay, FromPlayer}, inspect("", data, defaultLimits))
	if err != nil {
		panic(err)
	}
	return player
}
