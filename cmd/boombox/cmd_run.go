package main

import "github.com/boombox-go/boombox/runner"

// runCmd is the subcommand run.
type runCmd struct {
	boxFlags
	Command command `arg:"" passthrough:"partial" name:"prog" help:"The program and its arguments, after --."`
}

// Help is the text below the summary.
func (*runCmd) Help() string {
	return "boombox run [flags] -- PROG ARGS...: standard input, output and error are the program's own. The exit status is the program's; 128+n for a " +
		"signal; 124 for a timeout, 123 for an idle timeout; 125 when boombox refused or failed; 126 when the program " +
		"cannot be executed, 127 when it is not found."
}

// Run implements the subcommand.
func (c *runCmd) Run() error {
	cmd, out, err := c.prepare(c.Command)
	if err != nil {
		return err
	}
	cmd.Stdin = liveStdin()
	s := newSession()
	defer s.stop()
	return s.play(runner.Contained{}, cmd, out)
}
