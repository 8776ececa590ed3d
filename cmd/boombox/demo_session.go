package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/runner"
)

// demoTool is the program of the session that the demo records: git, or, where there is none, a fixture child that
// answers as git does.
type demoTool struct {
	name string
	// argv begins every call, env goes to every call, dir is where it runs.
	argv []string
	env  runner.Env
	dir  string
	// session lists the calls.
	session [][]string
}

// command is one call.
func (t demoTool) command(args ...string) *runner.Cmd {
	line := append(append([]string{}, t.argv...), args...)
	cmd := runner.Command(line[0], line[1:]...)
	cmd.Dir = t.dir
	cmd.Env = t.env
	cmd.Timeout = 10 * time.Second
	return cmd
}

// replayed is the same call where the program cannot be found.
func (t demoTool) replayed(args []string) *runner.Cmd {
	cmd := t.command(args...)
	cmd.Env = cmd.Env.Set("PATH", "")
	return cmd
}

// chooseTool makes the directory of the session and finds its program.
func (d *demo) chooseTool() (demoTool, error) {
	tool := demoTool{
		name: "git",
		argv: []string{"git"},
		dir:  filepath.Join(d.dir, "repo"),
		// Hermetic: no configuration, no home, no clock of the host shows in what is recorded.
		env: runner.AllowEnv("PATH").Set("HOME", d.dir).Set("LC_ALL", "C").Set("TZ", "UTC").
			Set("GIT_CONFIG_NOSYSTEM", "1").Set("GIT_CONFIG_GLOBAL", os.DevNull).
			Set("GIT_AUTHOR_NAME", "Ann").Set("GIT_AUTHOR_EMAIL", "ann@example.org").
			Set("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z").
			Set("GIT_COMMITTER_NAME", "Ann").Set("GIT_COMMITTER_EMAIL", "ann@example.org").
			Set("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z"),
		session: [][]string{
			{"-c", "init.defaultBranch=main", "init", "-q"},
			{"add", "logo.bin"},
			{"commit", "-m", "first commit"},
			{"log", "--format=%h %an %ad %s"},
			{"rev-parse", "--verify", "no-such-branch"},
			{"cat-file", "blob", "HEAD:logo.bin"},
		},
	}
	if err := os.Mkdir(tool.dir, 0o700); err != nil {
		return tool, refused("%w", withoutDir(err))
	}
	logo := []byte("\x89LOGO\r\n\x1a\n\x00\xff\xfe\x80 no newline at the end")
	if err := os.WriteFile(filepath.Join(tool.dir, "logo.bin"), logo, 0o600); err != nil {
		return tool, refused("%w", withoutDir(err))
	}
	if _, err := runner.Output(d.ctx, runner.Contained{}, tool.command("--version")); err == nil {
		return tool, nil
	}
	return d.fixtureTool(tool), nil
}

// fixtureTool is the stand-in for git. It is this very program, found by its base name through a PATH of one directory,
// so that an empty PATH hides it as well.
func (d *demo) fixtureTool(tool demoTool) demoTool {
	argv := fixtures.Argv("tool")
	tool.name = "the fixtures' own tool (there is no git here)"
	tool.argv = append([]string{filepath.Base(argv[0])}, argv[1:]...)
	tool.env = runner.CleanEnv().Set("PATH", filepath.Dir(argv[0]))
	tool.session = [][]string{
		{"init"},
		{"commit", "-m", "first commit"},
		{"log"},
		{"rev-parse", "no-such-branch"},
		{"cat-file", "blob", "HEAD"},
	}
	return tool
}

// recordSession runs the session for real and saves it.
func (d *demo) recordSession(tool demoTool, path string) ([]*runner.Result, error) {
	recorder, err := cassette.NewRecorder(path, runner.Contained{}, cassette.WithToken("tmp", d.dir))
	if err != nil {
		return nil, refused("%w", err)
	}
	defer func() { _ = recorder.Close() }()
	var lived []*runner.Result
	for i, args := range tool.session {
		res, err := runner.Run(d.ctx, recorder, tool.command(args...))
		if err != nil {
			return nil, refused("%w", err)
		}
		if fails := args[0] == "rev-parse"; res.Success() == fails {
			return nil, refused("call %d of the session: %w", i+1, errors.Join(res.Check(), errUnexpected))
		}
		lived = append(lived, res)
		d.say("   %-52s %s, %d bytes out, %d err\n", strings.Join(append([]string{filepath.Base(tool.argv[0])}, args...), " "),
			res.Outcome(), res.StdoutTotal(), res.StderrTotal())
	}
	if err := recorder.Save(); err != nil {
		return nil, refused("%w", err)
	}
	return lived, nil
}

var errUnexpected = errors.New("it did not end as it should")

func asMiss(err error) (*cassette.MissError, bool) {
	var miss *cassette.MissError
	return miss, errors.As(err, &miss)
}
