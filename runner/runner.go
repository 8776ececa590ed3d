package runner

import (
	"context"
	"errors"
	"strings"
	"unicode"
)

// Runner starts commands. It is the one seam between the code under test and the operating system: [Contained] runs
// real processes, package cassette records and replays them, package fake scripts them.
type Runner interface {
	// Start launches cmd, which it neither changes nor keeps. ctx bounds the starting alone: the Process lives until it
	// ends, is closed, or its group is. A ctx that has ended already starts nothing and is a [*CancelError]; a command
	// that makes no sense ([Cmd.Validate]) is an [*InvalidError].
	Start(ctx context.Context, cmd *Cmd) (*Process, error)
}

// Run starts cmd and waits until it is settled. ctx bounds the whole run: when it ends first, the whole tree is killed,
// and Run returns the partial Result with a [*CancelError]; a deadline of ctx is a cancel like any other. An exit code
// other than 0, a signal, a timeout and an overflow are data in the Result, not errors.
func Run(ctx context.Context, r Runner, cmd *Cmd) (*Result, error) {
	if ctx.Err() != nil {
		return nil, NotStarted(ctx, cmd)
	}
	p, err := r.Start(ctx, cmd)
	if err != nil {
		if ctx.Err() != nil && !errors.Is(err, ErrCancelled) && errors.Is(err, ctx.Err()) {
			return nil, NotStarted(ctx, cmd)
		}
		return nil, err
	}
	_ = p.Stdin().Close() // nobody else can
	if p.live == nil {
		return p.result, p.result.failure()
	}
	stop := context.AfterFunc(ctx, func() { p.Cancel(context.Cause(ctx)) })
	defer stop()
	<-p.Settled()
	res, _ := p.Result()
	return res, res.failure()
}

// NotStarted is the [*CancelError] of a command that was not started because ctx had ended: what a [Runner] returns
// then.
func NotStarted(ctx context.Context, cmd *Cmd) error {
	return cancelError(cmd.Program(), context.Cause(ctx), nil)
}

// Output runs cmd, requires that it succeeded and that nothing of its standard output was dropped, and returns that
// output without trailing white space. An unsuccessful run is an [*ExitError], which holds the Result.
func Output(ctx context.Context, r Runner, cmd *Cmd) (string, error) {
	res, err := Run(ctx, r, cmd)
	if err != nil {
		return "", err
	}
	if err := res.Check(); err != nil {
		return "", err
	}
	if res.StdoutTruncated() {
		return "", &ExitError{result: res, truncated: true}
	}
	return strings.TrimRightFunc(string(res.Stdout()), unicode.IsSpace), nil
}

// Probe runs cmd as a question: exit code 0 is true, 1 is false, and every other outcome is an error.
func Probe(ctx context.Context, r Runner, cmd *Cmd) (bool, error) {
	res, err := Run(ctx, r, cmd)
	if err != nil {
		return false, err
	}
	if res.Outcome() == Exited(1) {
		return false, nil
	}
	return res.Success(), res.Check()
}
