package cassette

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"slices"

	"github.com/boombox-go/boombox/runner"
)

// call is what a command is matched by, in the words of the file: its program's base name, its arguments, what it is
// given to read, and the directory if one was set.
type call struct {
	argv    []string
	dir     string
	stdin   []byte
	inherit bool
	// interactive says that the input is a conversation, which is compared while it goes on. stdin is then empty.
	interactive bool
	// pty is the size of the terminal at the start, zero for none.
	pty runner.PTY
}

// callOf is the call that cmd is, in live words.
func callOf(cmd *runner.Cmd, stdin []byte) call {
	kind := cmd.Stdin.Kind()
	return call{
		argv: cmd.Argv(), dir: cmd.Dir, stdin: stdin, inherit: kind == runner.StdinInherit, interactive: kind == runner.StdinInteractive,
		pty: sized(cmd.PTY),
	}
}

// inFile is the call in the words of the file: redacted, then with tokens.
func (c call) inFile(r *redactor, t translator) (call, error) {
	if r != nil {
		var err error
		if c.argv, c.dir, c.stdin, err = r.call(c.argv, c.dir, c.stdin); err != nil {
			return c, err
		}
	}
	if t.none() {
		return c, nil
	}
	c.argv = slices.Clone(c.argv)
	for i, arg := range c.argv {
		c.argv[i] = string(t.toFile([]byte(arg), nil))
	}
	c.dir = string(t.toFile([]byte(c.dir), nil))
	c.stdin = t.toFile(c.stdin, nil)
	return c, nil
}

// canonical is the call as it is matched where placeholders stand for whatever they replaced.
func (c call) canonical() call {
	c.argv = slices.Clone(c.argv)
	for i, arg := range c.argv {
		c.argv[i] = string(canonical([]byte(arg)))
	}
	c.dir, c.stdin = string(canonical([]byte(c.dir))), canonical(c.stdin)
	return c
}

func (c *call) equal(other *call) bool {
	return c.inherit == other.inherit && c.interactive == other.interactive && c.pty == other.pty && c.dir == other.dir && bytes.Equal(c.stdin, other.stdin) &&
		programOf(c.argv) == programOf(other.argv) && slices.Equal(c.argv[1:], other.argv[1:])
}

// readStdin reads the whole input of a command, until ctx ends. Inherited input is nobody's to read, interactive input comes later,
// and a file that cannot be opened is the business of the start.
func readStdin(ctx context.Context, cmd *runner.Cmd) ([]byte, error) {
	if field := unrecorded(cmd); field != "" {
		return nil, &runner.UnsupportedError{Program: cmd.Program(), Field: field, Reason: "a cassette does not hold it"}
	}
	kind := cmd.Stdin.Kind()
	if kind == runner.StdinInherit || kind == runner.StdinClosed || kind == runner.StdinInteractive {
		return nil, nil
	}
	r, err := cmd.Stdin.Open()
	if err != nil {
		if kind == runner.StdinFile {
			return nil, nil
		}
		return nil, err
	}
	if kind == runner.StdinBytes {
		return readBounded(r)
	}
	// A reader, and a file that is a pipe, can block for ever.
	type content struct {
		data []byte
		err  error
	}
	done := make(chan content, 1)
	go func() {
		data, err := readBounded(r)
		done <- content{data, err}
	}()
	select {
	case c := <-done:
		return c.data, c.err
	case <-ctx.Done():
		return nil, runner.NotStarted(ctx, cmd)
	}
}

// unrecorded is a field that is set and that decides what a run does without being part of what is matched.
func unrecorded(cmd *runner.Cmd) string {
	switch {
	case len(cmd.Files) > 0:
		return "Files"
	case cmd.Arg0.Len() > 0:
		return "Arg0"
	}
	return ""
}

func readBounded(r io.ReadCloser) ([]byte, error) {
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, MaxRun+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cassette: reading the input of a command: %w", err)
	case len(data) > MaxRun:
		return nil, fmt.Errorf("%w: the input of a command is longer than %d bytes", ErrTooLarge, MaxRun)
	}
	return data, nil
}

// keySeed makes the hashes of this process like those of no other.
var keySeed = maphash.MakeSeed()

// hash is the key of the index. Two different calls can share a hash: is decides.
func (c *call) hash() uint64 {
	var h maphash.Hash
	h.SetSeed(keySeed)
	h.WriteString(programOf(c.argv))
	for _, arg := range c.argv[1:] {
		h.WriteByte(0)
		h.WriteString(arg)
	}
	h.WriteByte(1)
	h.WriteString(c.dir)
	h.WriteByte(1)
	h.Write(c.stdin)
	if c.inherit {
		h.WriteByte(2)
	}
	if c.interactive {
		h.WriteByte(3)
	}
	hashPTY(&h, c.pty)
	return h.Sum64()
}

// input is what the run's input adds to its key.
func (r *runText) input() []byte {
	if r.interactive {
		return nil
	}
	return r.stream(secIn)
}

// hash is what that of the run's call is, without decoding more of it than it must.
func (r *runText) hash() uint64 {
	if r.masked {
		c := r.call()
		return c.hash()
	}
	var h maphash.Hash
	h.SetSeed(keySeed)
	first := true
	r.lines(secArgv, func(_, payload []byte) {
		if first {
			h.WriteString(programOf([]string{unquoted(payload)}))
			first = false
			return
		}
		h.WriteByte(0)
		writeQuoted(&h, payload)
	})
	h.WriteByte(1)
	r.lines(secDir, func(_, payload []byte) { writeQuoted(&h, payload) })
	h.WriteByte(1)
	h.Write(r.input())
	if r.inherit {
		h.WriteByte(2)
	}
	if r.interactive {
		h.WriteByte(3)
	}
	hashPTY(&h, r.pty)
	return h.Sum64()
}

func hashPTY(h *maphash.Hash, size runner.PTY) {
	if size != noPTY {
		var b [13]byte
		h.Write(appendSize(append(b[:0], 4), size))
	}
}

func writeQuoted(h *maphash.Hash, payload []byte) {
	if inner := payload[1 : len(payload)-1]; bytes.IndexByte(inner, '\\') < 0 {
		h.Write(inner)
	} else {
		h.WriteString(unquoted(payload))
	}
}

// call is what the run is matched by.
func (r *runText) call() call {
	c := call{argv: r.argv(), dir: r.dir(), stdin: r.input(), inherit: r.inherit, interactive: r.interactive, pty: r.pty}
	if r.masked {
		return c.canonical()
	}
	return c
}

// answers reports whether the run was recorded of this very call.
func (r *runText) answers(c *call) bool {
	if r.masked {
		recorded := r.call()
		return recorded.equal(c)
	}
	if r.argc != len(c.argv) || r.inherit != c.inherit || r.interactive != c.interactive || r.pty != c.pty || !r.interactive && r.size[0] != len(c.stdin) || (r.start[secDir] == 0) != (c.dir == "") {
		return false
	}
	same, i := true, 0
	r.lines(secArgv, func(_, payload []byte) {
		if i == 0 {
			same = equalQuoted(payload, c.argv[0]) || programOf([]string{unquoted(payload)}) == programOf(c.argv)
		} else {
			same = same && equalQuoted(payload, c.argv[i])
		}
		i++
	})
	if same && c.dir != "" {
		r.lines(secDir, func(_, payload []byte) { same = equalQuoted(payload, c.dir) })
	}
	return same && (len(c.stdin) == 0 || bytes.Equal(r.stream(secIn), c.stdin))
}

// equalQuoted compares without unquoting where there is nothing to unquote.
func equalQuoted(payload []byte, s string) bool {
	inner := payload[1 : len(payload)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == s
	}
	return unquoted(payload) == s
}
