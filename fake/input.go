package fake

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/boombox-go/boombox/runner"
)

// ErrInput: what was written to a scripted command is not what its script reads. The error is an [*InputError].
var ErrInput = errors.New("fake: input differs from the script")

// InputError reports interactive input that a script does not read, or a size that it does not wait for: the code under
// test says something else than the script answers. It shows no input.
type InputError struct {
	// Program is the base name of the program.
	Program string
	// At is how many bytes were as the script reads them.
	At int
	// Want is how many bytes the script reads in all.
	Want int
	// Closed says that the input was closed there; otherwise it went on differently.
	Closed bool
	// Resized is the size that the terminal was given in place of Due, which is zero where there is no further one. It is
	// zero where the input is what is wrong.
	Resized, Due runner.PTY
}

// Error implements error.
func (e *InputError) Error() string {
	if e.Resized != (runner.PTY{}) {
		return fmt.Sprintf("fake: terminal of %q: %s", e.Program, e.Reason())
	}
	return fmt.Sprintf("fake: interactive input of %q: %s", e.Program, e.Reason())
}

// Reason is what is wrong.
func (e *InputError) Reason() string {
	switch {
	case e.Resized != runner.PTY{} && e.Due == runner.PTY{}:
		return fmt.Sprintf("it was resized to %dx%d, and the script has no further size", e.Resized.Cols, e.Resized.Rows)
	case e.Resized != runner.PTY{}:
		return fmt.Sprintf("it was resized to %dx%d in place of %dx%d", e.Resized.Cols, e.Resized.Rows, e.Due.Cols, e.Due.Rows)
	case e.Closed:
		return fmt.Sprintf("it was closed after %d of the %d bytes that the script reads", e.At, e.Want)
	case e.At == e.Want:
		return fmt.Sprintf("it goes on after the %d bytes that the script reads", e.Want)
	default:
		return fmt.Sprintf("it differs from what the script reads, %d bytes, after %d of them", e.Want, e.At)
	}
}

// Is makes the error match [ErrInput].
func (e *InputError) Is(target error) bool { return target == ErrInput }

// conversation is the interactive input of one run as it is written, and its terminal as it is resized, held against what
// the script reads and waits for.
type conversation struct {
	program string
	// talks: there is input. Without a terminal nobody resizes.
	talks, terminal bool
	// want is all that the script reads; free: it reads nothing, and takes anything, since it is no recording.
	want  []byte
	free  bool
	alike func(want, got []byte) bool
	note  func(piece []byte)
	// sizes are those that the script waits for; anySize: it waits for none, and takes any.
	sizes     []runner.PTY
	anySize   bool
	alikeSize func(want, got runner.PTY) bool

	mu   sync.Mutex
	seen int
	// resized is how many of the sizes have come.
	resized int
	// line is what was written of a line that is not complete, where lines are compared.
	line    []byte
	closed  bool
	changed chan struct{} // closed, and replaced, at every change
}

func converse(cmd *runner.Cmd, s Script, note func([]byte)) *conversation {
	c := &conversation{
		program: cmd.Program(), talks: cmd.Stdin.Kind() == runner.StdinInteractive, terminal: cmd.PTY != nil,
		free: s.takesAnything(), anySize: s.takesAnySize(), alike: s.Alike, alikeSize: s.AlikeSize, note: note, changed: make(chan struct{}),
	}
	for _, chunk := range s.Chunks {
		c.want = append(c.want, chunk.Reads...)
		if chunk.resizes() {
			cols, rows := chunk.Resize.Size()
			c.sizes = append(c.sizes, runner.PTY{Cols: cols, Rows: rows})
		}
	}
	return c
}

// resize takes the next size, and says what is wrong with it.
func (c *conversation) resize(to runner.PTY) *InputError {
	c.mu.Lock()
	defer c.mu.Unlock()
	wrong := &InputError{Program: c.program, At: c.seen, Want: len(c.want), Resized: to}
	switch {
	case c.anySize:
		return nil
	case c.resized == len(c.sizes):
		return wrong
	case c.sizes[c.resized] != to && (c.alikeSize == nil || !c.alikeSize(c.sizes[c.resized], to)):
		wrong.Due = c.sizes[c.resized]
		return wrong
	}
	c.resized++
	c.advance(0, false)
	return nil
}

// write takes the next piece, nil for the end, and says what is wrong with it.
func (c *conversation) write(piece []byte) *InputError {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	if c.alike != nil && !c.free {
		return c.writeLines(piece)
	}
	rest := c.want[c.seen:]
	wrong := &InputError{Program: c.program, At: c.seen, Want: len(c.want), Closed: piece == nil}
	switch {
	case c.free:
		return nil
	case piece == nil && len(rest) > 0:
		return wrong
	case !bytes.HasPrefix(rest, piece):
		for wrong.At < len(c.want) && piece[wrong.At-c.seen] == c.want[wrong.At] {
			wrong.At++
		}
		return wrong
	}
	c.advance(len(piece), piece == nil)
	return nil
}

// advance notes how much more of what is read has been written; c.mu is held.
func (c *conversation) advance(n int, closed bool) {
	c.seen += n
	c.closed = c.closed || closed
	close(c.changed)
	c.changed = make(chan struct{})
}

// writeLines is write where lines are compared. Of a line that is not complete, only what is equal is known to be right.
func (c *conversation) writeLines(piece []byte) *InputError {
	c.line = append(c.line, piece...)
	for {
		start := 1 + bytes.LastIndexByte(c.want[:c.seen], '\n') // of the line that is being written
		want := c.want[start:]
		if i := bytes.IndexByte(want, '\n'); i >= 0 {
			want = want[:i+1]
		}
		wrong := &InputError{Program: c.program, At: start, Want: len(c.want), Closed: piece == nil}
		end := 1 + bytes.IndexByte(c.line, '\n')
		switch {
		case end == 0 && piece != nil:
			if len(c.line) > 0 && len(want) == 0 {
				return wrong
			}
			if n := start + len(c.line) - c.seen; n > 0 && bytes.HasPrefix(want, c.line) {
				c.advance(n, false)
			}
			return nil
		case end == 0:
			if len(c.line) == 0 && len(want) > 0 || len(c.line) > 0 && !c.alike(want, c.line) || start+len(want) < len(c.want) {
				return wrong
			}
			c.line = nil
			c.advance(len(c.want)-c.seen, true)
			return nil
		case len(want) == 0 || !c.alike(want, c.line[:end]):
			return wrong
		}
		c.line = c.line[end:]
		c.advance(start+len(want)-c.seen, false)
	}
}

// point is how far a script has come: so much must have been written, the input must be closed where end is set, and so
// many sizes must have come.
type point struct {
	read, sizes int
	end         bool
}

// pass moves the point behind what a chunk waits for, and reports whether that is anything.
func (p *point) pass(chunk Chunk, c *conversation) bool {
	if c == nil {
		return false
	}
	reads, resizes := c.talks && chunk.reads(), c.terminal && chunk.resizes()
	if reads {
		p.read += len(chunk.Reads)
		p.end = p.end || chunk.ReadsEOF
	}
	if resizes {
		p.sizes++
	}
	return reads || resizes
}

// await waits until the point is reached. It reports false when over came first.
func (c *conversation) await(p point, over <-chan struct{}) bool {
	for {
		c.mu.Lock()
		reached, changed := c.seen >= p.read && (c.closed || !p.end) && c.resized >= p.sizes, c.changed
		c.mu.Unlock()
		if reached {
			return true
		}
		select {
		case <-changed:
		case <-over:
			return false
		}
	}
}

// inputEnd is where a scripted run is written to. Nobody is ever held up, and what is written after the end goes
// nowhere: so the code under test fares the same each time.
type inputEnd struct{ b *backend }

func (in inputEnd) Write(p []byte) (int, error) {
	if in.b.input.note != nil {
		in.b.input.note(p)
	}
	in.b.hear(p)
	return len(p), nil
}

func (in inputEnd) Close() error {
	in.b.hear(nil)
	return nil
}
