package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/boombox-go/boombox/contain"
)

// Client is one tool, for wrappers that give its verbs Go types. It holds what all calls have in common; each call adds
// its arguments.
//
//	type Git struct{ runner.Client }
//
//	func (g Git) Head(ctx context.Context) (string, error) { return g.Output(ctx, "rev-parse", "HEAD") }
//
//	base := runner.Command("git", "-C", repo)
//	base.Timeout = time.Minute
//	git := Git{runner.Client{Runner: runner.Contained{}, Base: base}}
type Client struct {
	// Runner starts the calls: the real one, a cassette, a double.
	Runner Runner
	// Base is the command that each call begins with: the program, arguments that come first, and every other field. It
	// is never changed.
	Base *Cmd
}

// Command is Base with args after its own: a command of the caller's own, to be changed and run with c.Runner.
func (c Client) Command(args ...string) *Cmd { return c.Base.With(args...) }

// Run is [Run] of the call.
func (c Client) Run(ctx context.Context, args ...string) (*Result, error) {
	return Run(ctx, c.Runner, c.Command(args...))
}

// Output is [Output] of the call.
func (c Client) Output(ctx context.Context, args ...string) (string, error) {
	return Output(ctx, c.Runner, c.Command(args...))
}

// Probe is [Probe] of the call.
func (c Client) Probe(ctx context.Context, args ...string) (bool, error) {
	return Probe(ctx, c.Runner, c.Command(args...))
}

// Lines is [Lines] of the call.
func (c Client) Lines(ctx context.Context, args ...string) iter.Seq2[Line, error] {
	return Lines(ctx, c.Runner, c.Command(args...))
}

// With is a clone with args after its own arguments.
func (c *Cmd) With(args ...string) *Cmd {
	clone := c.Clone()
	clone.argv = contain.Seal(append(c.argv.Reveal(), args...)...)
	return clone
}

// Lines starts cmd, loops over its lines as they come, as [Process.Lines] does, and requires that the run succeeds: what
// [Run] and [Result.Check] have to say against it is the last error. When the loop is left early, the run is ended, and
// gone when the loop is.
func Lines(ctx context.Context, r Runner, cmd *Cmd) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		p, err := r.Start(ctx, cmd)
		if err != nil {
			yield(Line{}, err)
			return
		}
		defer func() { _ = p.Close() }()
		_ = p.Stdin().Close() // nobody else can
		stop := context.AfterFunc(ctx, func() { p.Cancel(context.Cause(ctx)) })
		defer stop()
		// A cancel ends the run, and with it the lines: the loop has all that came before, and then the error of the run.
		for line, err := range p.Lines(context.WithoutCancel(ctx)) {
			if !yield(line, err) {
				return
			}
		}
		<-p.Settled()
		res, _ := p.Result()
		if err = res.failure(); err == nil {
			err = res.Check()
		}
		if err != nil {
			yield(Line{}, err)
		}
	}
}

// JSON is [Output] for a tool that answers with one JSON value, decoded into a T. An answer that is none is a
// [*DecodeError].
func JSON[T any](ctx context.Context, r Runner, cmd *Cmd) (T, error) {
	var v T
	out, err := Output(ctx, r, cmd)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		var zero T
		return zero, decodeError(cmd.Program(), err)
	}
	return v, nil
}

// ErrDecode: the output of a successful run is not what it should be. The error is a [*DecodeError].
var ErrDecode = errors.New("runner: output cannot be decoded")

// DecodeError reports output that could not be decoded. It says where, and nothing of what is there: an error of package
// json shows parts of its input.
type DecodeError struct {
	// Program is the base name of the program.
	Program string
	// Offset is the byte of its output, from 0, before which the decoding failed; -1 where that is not known.
	Offset int64
}

func decodeError(program string, err error) *DecodeError {
	e := &DecodeError{Program: program, Offset: -1}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		e.Offset = syntax.Offset
	} else if value, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		e.Offset = value.Offset
	}
	return e
}

// Error implements error.
func (e *DecodeError) Error() string {
	s := fmt.Sprintf("runner: output of %q is not the JSON that it should be", plain(e.Program))
	if e.Offset >= 0 {
		s += fmt.Sprintf(", before byte %d", e.Offset)
	}
	return s
}

// Is makes the error match [ErrDecode].
func (e *DecodeError) Is(target error) bool { return target == ErrDecode }
