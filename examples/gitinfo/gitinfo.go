// Package gitinfo asks git about a working copy.
package gitinfo

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/boombox-go/boombox/runner"
)

// Git asks git. All it needs from the world is a Runner.
type Git struct {
	Runner runner.Runner
	// Dir is the working copy.
	Dir string
}

// ErrNoCommit: the working copy has no commit yet.
var ErrNoCommit = errors.New("gitinfo: no commit yet")

func (g Git) command(args ...string) *runner.Cmd {
	cmd := runner.Command("git", args...)
	cmd.Dir = g.Dir
	cmd.Timeout = 10 * time.Second
	return cmd
}

// Subject is the first line of the last commit's message.
func (g Git) Subject(ctx context.Context) (string, error) {
	res, err := runner.Run(ctx, g.Runner, g.command("log", "-1", "--format=%s"))
	if err != nil {
		return "", err
	}
	if code, exited := res.ExitCode(); exited && code == 128 {
		return "", ErrNoCommit
	}
	return strings.TrimSpace(string(res.Stdout())), res.Check()
}

// Clean reports whether nothing is changed.
func (g Git) Clean(ctx context.Context) (bool, error) {
	out, err := runner.Output(ctx, g.Runner, g.command("status", "--porcelain"))
	return out == "", err
}
