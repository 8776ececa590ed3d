package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
)

// Retry runs a command again when it failed. It has the verbs that require success, and those alone: what counts as a
// failure is what they return as an error. The zero value tries once.
//
//	out, err := runner.Retry{Attempts: 5, When: func(error) bool { return true }}.Output(ctx, r, cmd)
//
// A cancel is never tried again, and ends a wait at once. A command whose input feeds one start alone cannot be tried
// again: it is refused before the first start, with an [*InvalidError].
type Retry struct {
	// Attempts is how often the command is started at most, the first time included. 0 means once; a negative value is
	// refused.
	Attempts int
	// Backoff says how long to wait before each further attempt.
	Backoff Backoff
	// When says whether an error is worth another attempt. By default it is [Transient]: an exit code or a timeout is
	// not, because nobody but the caller knows whether the command can be run twice.
	When func(error) bool
}

// Output is [Output] with retries.
func (t Retry) Output(ctx context.Context, r Runner, cmd *Cmd) (string, error) {
	return retry(ctx, t, cmd, func() (string, error) { return Output(ctx, r, cmd) })
}

// Probe is [Probe] with retries. An answer of no is an answer: it is not tried again.
func (t Retry) Probe(ctx context.Context, r Runner, cmd *Cmd) (bool, error) {
	return retry(ctx, t, cmd, func() (bool, error) { return Probe(ctx, r, cmd) })
}

// Check runs cmd until [Result.Check] is content, and returns the last Result; it is nil when the last attempt did not
// start.
func (t Retry) Check(ctx context.Context, r Runner, cmd *Cmd) (*Result, error) {
	return retry(ctx, t, cmd, func() (*Result, error) {
		res, err := Run(ctx, r, cmd)
		if err == nil {
			err = res.Check()
		}
		return res, err
	})
}

func retry[T any](ctx context.Context, t Retry, cmd *Cmd, try func() (T, error)) (last T, err error) {
	if err := t.admit(cmd); err != nil {
		return last, err
	}
	when := t.When
	if when == nil {
		when = Transient
	}
	var failed []error
	for {
		if last, err = try(); err == nil {
			return last, nil
		}
		failed = append(failed, err)
		if len(failed) >= t.Attempts || ctx.Err() != nil || errors.Is(err, ErrCancelled) || !when(err) {
			break
		}
		if !sleep(ctx, t.Backoff.Delay(len(failed))) {
			err = NotStarted(ctx, cmd)
			break
		}
	}
	if len(failed) == 1 && err == failed[0] {
		return last, err
	}
	return last, &RetryError{Program: cmd.Program(), Attempts: failed, Err: err}
}

// admit refuses what cannot be tried as often as it is asked for.
func (t Retry) admit(cmd *Cmd) error {
	switch reason := t.Backoff.invalid(); {
	case reason != "":
		return cmd.invalid("Retry.Backoff", reason)
	case t.Attempts < 0:
		return cmd.invalid("Retry.Attempts", "it is negative")
	case t.Attempts > 1 && cmd.Stdin.once():
		return cmd.invalid("Stdin", "its reader feeds one start, and retries may need more")
	}
	return nil
}

// Transient reports whether err is a refusal of the system that may well pass: a start that was interrupted, or that
// found a resource or the program's file busy. It never is an exit code, a timeout or a cancel.
func Transient(err error) bool {
	start, ok := errors.AsType[*StartError](err)
	if !ok {
		return false
	}
	errno, ok := errors.AsType[syscall.Errno](start.Err)
	return ok && slices.Contains(transientErrnos[:], errno)
}

// RetryError reports a command that was tried more than once, or was to be, and did not succeed. It matches whatever Err
// matches.
type RetryError struct {
	// Program is the base name of the program.
	Program string
	// Attempts are the errors of all attempts, in order.
	Attempts []error
	// Err is why there was no further one: the last attempt's error, or the [*CancelError] of a cancel while waiting.
	Err error
}

// Error implements error.
func (e *RetryError) Error() string {
	return fmt.Sprintf("runner: %q failed %s: %s", plain(e.Program), times(len(e.Attempts)), e.Err)
}

// Unwrap gives Err.
func (e *RetryError) Unwrap() error { return e.Err }

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
