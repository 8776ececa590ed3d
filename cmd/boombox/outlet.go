package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"syscall"

	"github.com/boombox-go/boombox/runner"
)

// brokenError is the cause of a cancel by an output that cannot be written.
type brokenError struct {
	name string
	err  error
}

func (e *brokenError) Error() string { return fmt.Sprintf("cannot write %s: %v", e.name, e.err) }
func (e *brokenError) Unwrap() error { return e.err }

// broken makes a brokenError of a failed write. The file's path says nothing that name does not.
func broken(name string, err error) *brokenError {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return &brokenError{name, err}
}

// end is how boombox ends over it. A closed pipe ends us as it would end the program itself, and as silently: a shell
// expects that of whatever stands before head.
func (e *brokenError) end() error {
	if errors.Is(e.err, syscall.EPIPE) {
		return signalled(syscall.SIGPIPE)
	}
	return refused("%w", e)
}

// outlet passes what the program writes on to one of our own streams, up to the cap of --max-output.
type outlet struct {
	name    string
	file    *os.File
	session *session
	// room is how many more bytes may pass.
	room int64
}

func newOutlet(name string, file *os.File, s *session, stream runner.Stream) *outlet {
	o := &outlet{name, file, s, math.MaxInt64}
	if stream.Policy == runner.Fail {
		o.room = stream.MaxBytes
	}
	return o
}

// Write implements [io.Writer]. The first failure ends the session.
func (o *outlet) Write(p []byte) (int, error) {
	pass := p[:min(int64(len(p)), o.room)]
	o.room -= int64(len(pass))
	if n, err := o.file.Write(pass); err != nil {
		o.session.cancel(broken(o.name, err))
		return n, err
	}
	return len(p), nil
}

// printOut writes text of our own to standard output.
func printOut(text string) error {
	if _, err := io.WriteString(os.Stdout, text); err != nil {
		return broken("standard output", err).end()
	}
	return nil
}
