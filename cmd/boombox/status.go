package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/boombox-go/boombox/internal/plaintext"
	"github.com/boombox-go/boombox/runner"
)

// The exit statuses that are not the program's own.
const (
	statusIdleTimedOut  = 123
	statusTimedOut      = 124
	statusFailed        = 125 // refused, or failed ourselves
	statusNotExecutable = 126
	statusNotFound      = 127
	statusSignal        = 128 // plus the signal's number
)

// exitError ends boombox with a status and, if err is not nil, one line that says why.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("status %d", e.status)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// refused ends with 125 and a line.
func refused(format string, args ...any) error {
	return &exitError{status: statusFailed, err: fmt.Errorf(format, args...)}
}

// usageError ends with 125, a line, and where to read more.
func usageError(text string) error { return refused("%s (see boombox --help)", text) }

// signalled is the status of an end by sig.
func signalled(sig syscall.Signal) error { return &exitError{status: statusSignal + int(sig)} }

// startError ends as the program that could not be started.
func startError(err error) error {
	var told *exitError
	if errors.As(err, &told) {
		return told
	}
	if lack, ok := errors.AsType[*runner.UnsupportedError](err); ok && lack.Field == "Credential" {
		return refused("--user cannot be honoured: %s", lack.Reason)
	}
	status := statusFailed
	switch {
	case errors.Is(err, runner.ErrNotFound):
		status = statusNotFound
	case errors.Is(err, runner.ErrNotExecutable):
		status = statusNotExecutable
	}
	return &exitError{status: status, err: err}
}

// outcomeError ends as res did.
func outcomeError(res *runner.Result) error {
	outcome := res.Outcome()
	switch outcome.Kind() {
	case runner.KindExited:
		if code, _ := outcome.ExitCode(); code != 0 {
			return &exitError{status: code}
		}
		return nil
	case runner.KindSignalled:
		sig, _ := outcome.Signal()
		return signalled(sig)
	case runner.KindTimedOut:
		return &exitError{statusTimedOut, res.Check()}
	case runner.KindIdleTimedOut:
		return &exitError{statusIdleTimedOut, res.Check()}
	default:
		return &exitError{statusFailed, res.Check()}
	}
}

// line makes text safe to print as one line on a terminal: the name of the package that made an error goes, and
// whatever is not plain text is escaped.
func line(text string) string {
	for _, prefix := range []string{"runner: ", "contain: ", "cassette: ", "boombox: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return plaintext.Line(strings.TrimSpace(text))
}
