package fake

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"sync"

	"github.com/boombox-go/boombox/runner"
)

// call is one command that a [Runner] was asked to start.
type call struct {
	cmd *runner.Cmd
	// input is set when the command's input is a reader, which feeds one start.
	input *input

	mu sync.Mutex
	// written is what was written to interactive input.
	written []byte
}

func newCall(cmd *runner.Cmd) *call {
	c := &call{cmd: cmd.Clone()}
	if cmd.Stdin.Kind() == runner.StdinReader {
		c.input = &input{source: cmd.Stdin}
		c.cmd.Stdin = runner.StdinStream(c.input)
	}
	return c
}

// argv is the command's, with the base name of its program.
func (c *call) argv() []string {
	argv := c.cmd.Argv()
	argv[0] = filepath.Base(argv[0])
	return argv
}

// claim takes the command's reader, if it has one: it feeds one start.
func (c *call) claim() error {
	if c.input != nil && c.input.open() != nil {
		return &runner.InvalidError{Program: c.cmd.Program(), Field: "Stdin", Reason: "its reader was used before"}
	}
	return nil
}

// start claims the command's reader and reads what an answer left of it in a goroutine of its own, as a real start
// does: whoever writes it is not held up, and a Read that never returns keeps that goroutine. A panic of the reader is
// its own business, and ends no test binary.
func (c *call) start() error {
	if err := c.claim(); err != nil || c.input == nil {
		return err
	}
	go func() {
		defer func() { _ = recover() }()
		_, _ = io.Copy(io.Discard, c.input)
	}()
	return nil
}

// command is the command as it was given, but with what was read or written where its input was a reader or interactive.
func (c *call) command() *runner.Cmd {
	cmd := c.cmd.Clone()
	switch {
	case c.input != nil:
		cmd.Stdin = runner.StdinOf(c.input.bytes())
	case c.interactive():
		c.mu.Lock()
		defer c.mu.Unlock()
		cmd.Stdin = runner.StdinOf(c.written)
	}
	return cmd
}

func (c *call) interactive() bool { return c.cmd.Stdin.Kind() == runner.StdinInteractive }

// passed is the command for another Runner.
func (c *call) passed() *runner.Cmd {
	if !c.interactive() {
		return c.cmd.Clone()
	}
	return c.cmd.TappedStdin(c.note)
}

// note keeps what was written to interactive input.
func (c *call) note(piece []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written = append(c.written, piece...)
}

// play plays the script as the command, whose input is dealt with already, unless it is interactive.
func (c *call) play(ctx context.Context, s Script) (*runner.Process, error) {
	cmd := c.cmd.Clone()
	if !c.interactive() {
		cmd.Stdin = runner.Stdin{}
	}
	return play(ctx, cmd, s, c.note)
}

// input is the reader of a command, taken when it is first read, and a record of what it gave.
type input struct {
	source runner.Stdin

	opening sync.Once
	reader  io.Reader
	err     error

	mu   sync.Mutex
	read bytes.Buffer
}

func (in *input) open() error {
	in.opening.Do(func() { in.reader, in.err = in.source.Open() })
	return in.err
}

// Read reads on, and keeps what it reads.
func (in *input) Read(p []byte) (int, error) {
	if err := in.open(); err != nil {
		return 0, err
	}
	n, err := in.reader.Read(p)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.read.Write(p[:n])
	return n, err
}

func (in *input) bytes() []byte {
	in.mu.Lock()
	defer in.mu.Unlock()
	return bytes.Clone(in.read.Bytes())
}
