// Package agent runs the tools that a language model asks for, and tells it what came of them.
package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/boombox-go/boombox/runner"
)

// Tools runs tools of which nothing is known beforehand.
type Tools struct {
	Runner runner.Runner
	// Adjust, if not nil, changes a command before it starts: another timeout, or a cap that this host does not have given
	// up by name.
	Adjust func(*runner.Cmd)
}

// kept is what the model gets to see of each stream: its last 4 KiB.
var kept = runner.Stream{Policy: runner.Tail, MaxBytes: 4 << 10}

// Call runs one tool and returns what to tell the model. The error is for us: the host cannot hold the tool as it must
// be held, or we were cancelled. All that the tool itself can do wrong is in the answer.
func (t Tools) Call(ctx context.Context, tool string, args ...string) (answer string, err error) {
	cmd := runner.Untrusted(tool, args...)
	cmd.Output = runner.Both(kept)
	if t.Adjust != nil {
		t.Adjust(cmd)
	}
	res, err := runner.Run(ctx, t.Runner, cmd)
	switch {
	case errors.Is(err, runner.ErrNotFound), errors.Is(err, runner.ErrNotExecutable):
		return fmt.Sprintf("there is no tool %q", tool), nil
	case err != nil:
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", res.Program(), ending(res))
	b.Write(res.Stdout())
	if text := res.Stderr(); len(text) > 0 {
		fmt.Fprintf(&b, "on standard error:\n%s", text)
	}
	if res.StdoutTruncated() || res.StderrTruncated() {
		b.WriteString("\n(only the end of its output is shown)")
	}
	return b.String(), nil
}

// ending is how a run ended, in the words of the kernel's own evidence where a cap was hit.
func ending(res *runner.Result) string {
	s := res.Outcome().String()
	if res.Outcome() == runner.TimedOut {
		s = fmt.Sprintf("killed after %s", res.Timeout())
	}
	for _, l := range res.Evidence().Limits {
		if l.Tripped.String() == "yes" {
			s += fmt.Sprintf(", and it hit its limit of %s", l.Kind)
		}
	}
	return s
}
