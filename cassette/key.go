package cassette

import (
	"bytes"
	"context"
	"encoding/binary"
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

// hash is the key of the index. Two different calls can share a hash: equal and answers decide.
func (c *call) hash() uint64 {
	var room [keyRoom]byte
	key := append(room[:0], programOf(c.argv)...)
	for _, arg := range c.argv[1:] {
		key = append(append(key, 0), arg...)
	}
	key = append(append(key, 1), c.dir...)
	return hashKey(key, c.stdin, c.inherit, c.interactive, c.pty)
}

// keyRoom is for most keys enough not to need memory of their own.
const keyRoom = 256

// hashKey adds what there is beside words to a key.
func hashKey(key, stdin []byte, inherit, interactive bool, pty runner.PTY) uint64 {
	if key = append(key, 1); len(stdin) > 0 {
		key = binary.LittleEndian.AppendUint64(key, maphash.Bytes(keySeed, stdin))
	}
	if inherit {
		key = append(key, 2)
	}
	if interactive {
		key = append(key, 3)
	}
	if pty != noPTY {
		key = appendSize(append(key, 4), pty)
	}
	return maphash.Bytes(keySeed, key)
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
	var room [keyRoom]byte
	key := room[:0]
	r.lines(secArgv, func(_, payload []byte) {
		if len(key) == 0 {
			key = append(key, programOf([]string{unquoted(payload)})...)
		} else {
			key = appendUnquoted(append(key, 0), payload)
		}
	})
	key = append(key, 1)
	r.lines(secDir, func(_, payload []byte) { key = appendUnquoted(key, payload) })
	return hashKey(key, r.input(), r.inherit, r.interactive, r.pty)
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
	return r.sameWords(c) && (len(c.stdin) == 0 || bytes.Equal(r.stream(secIn), c.stdin))
}

// sameWords compares the arguments, of which there are as many, and the directory.
func (r *runText) sameWords(c *call) bool {
	at := int(r.start[secArgv])
	for i, arg := range c.argv {
		payload, next := r.payload(at, len("  argv "))
		same := equalQuoted(payload, arg) || i == 0 && programOf([]string{unquoted(payload)}) == programOf(c.argv)
		if !same {
			return false
		}
		at = next
	}
	if c.dir == "" {
		return true
	}
	payload, _ := r.payload(int(r.start[secDir]), len("  dir "))
	return equalQuoted(payload, c.dir)
}

// equalQuoted compares without unquoting where there is nothing to unquote.
func equalQuoted(payload []byte, s string) bool {
	inner := payload[1 : len(payload)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == s
	}
	return unquoted(payload) == s
}
