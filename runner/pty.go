package runner

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sync/atomic"
)

// The size of a terminal that has no other.
const (
	defaultCols = 80
	defaultRows = 24
)

// PTY gives a command a terminal of its own as all three of its standard streams, for programs that behave differently
// there. The child leads a session that the terminal controls; a 0x03 in its input is Ctrl-C and becomes SIGINT.
//
// What the child writes comes as standard output alone, its errors with it, as a terminal shows it: with "\r\n" where a
// line ends. The terminal does not echo the input, unless the child says so. It has no end, but a key for it: behind the
// input Ctrl-D is typed, which one reader takes for the end of file. A line of input that is longer than 4095 bytes is cut
// by the system, unless the child reads without lines. TERM is the environment's: set it.
//
// On Unix. Elsewhere the start is refused with an error that matches [ErrUnsupported].
type PTY struct {
	// Cols and Rows are the size in characters; 0 means 80 and 24.
	Cols, Rows uint16
}

// Size is the size that applies.
func (p PTY) Size() (cols, rows uint16) {
	return orElse(p.Cols, defaultCols), orElse(p.Rows, defaultRows)
}

// bytes is the size as the taps have it; see sizeOf.
func (p PTY) bytes() []byte {
	cols, rows := p.Size()
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, cols), rows)
}

func sizeOf(piece []byte) PTY {
	return PTY{Cols: binary.BigEndian.Uint16(piece), Rows: binary.BigEndian.Uint16(piece[2:])}
}

// Resize changes the size of the child's terminal, and the child is sent SIGWINCH; 0 means 80 and 24. A command without a
// [PTY] has none, which is an [*InvalidError]. When the run is settled the error is [os.ErrProcessDone]. Where there is no
// process there is no terminal, and what a resize does is the Runner's to say: package fake has scripts that wait for it.
func (p *Process) Resize(cols, rows uint16) error {
	if p.live == nil || closed(p.live().settled) {
		return os.ErrProcessDone
	}
	r := p.live()
	if r.screen == nil {
		return &InvalidError{Program: r.program, Field: "PTY", Reason: "the command has no terminal"}
	}
	return r.screen.resize(PTY{Cols: cols, Rows: rows})
}

// screen is the size of a run's terminal, between those who change it and the child.
type screen struct {
	backend Backend
	taps    *taps
	// turn is held by the one resize that is under way. It is a lock; see taps.turn.
	turn   chan struct{}
	over   atomic.Bool
	tapErr error
}

func newScreen(cmd *Cmd, backend Backend, taps *taps) *screen {
	if cmd.PTY == nil {
		return nil
	}
	return &screen{backend: backend, taps: taps, turn: make(chan struct{}, 1)}
}

func (s *screen) resize(to PTY) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.over.Load() {
		return os.ErrProcessDone
	}
	if s.taps != nil {
		s.taps.catchUp()
		if err := s.taps.feed(screenStream, to.bytes(), &s.over); err != nil && s.tapErr == nil {
			s.tapErr = teeError(screenStream, err)
		}
	}
	b, ok := s.backend.(interface{ Resize(PTY) error })
	if !ok {
		return nil
	}
	to.Cols, to.Rows = to.Size()
	err := b.Resize(to)
	if errors.Is(err, os.ErrClosed) {
		return os.ErrProcessDone
	}
	return bare(err)
}

// finish ends the resizing, and returns what went wrong with a tap; see inputPipe.finish.
func (s *screen) finish() error {
	if s == nil {
		return nil
	}
	s.over.Store(true)
	if !acquire(s.turn, finishPatience) {
		return teeError(screenStream, errTeeStuck)
	}
	defer func() { <-s.turn }()
	return s.tapErr
}

// invalidPTY says which field does not go with a terminal, and why.
func (c *Cmd) invalidPTY() (field, reason string) {
	switch {
	case c.PTY == nil:
	case c.Stdin.Kind() == StdinInherit:
		return "Stdin", "with PTY the input is the terminal, and ours cannot be inherited"
	case !c.Output.Stderr.isZero():
		return "Output", "with PTY nothing comes as stderr, which has settings"
	}
	return "", ""
}

// merges reports whether both output streams are one.
func (c *Cmd) merges() bool { return c.Output.Merge || c.PTY != nil }

// endOfInput is what is typed behind the input: Ctrl-D gives the child what it has of a line, and the end of file if that
// is nothing.
const endOfInput = "\x04\x04"

// typed is src as the child's terminal gets it. close, if not nil, is to be called when it was read.
func (s *stdinSource) typed() (r io.Reader, close io.Closer, err error) {
	switch s.kind {
	case StdinFile:
		f, err := os.Open(s.path)
		return f, f, err
	case StdinReader:
		return s.reader, nil, nil
	default:
		return nil, nil, nil
	}
}
