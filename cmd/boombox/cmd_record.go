package main

import (
	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/runner"
)

// recordCmd is the subcommand record.
type recordCmd struct {
	boxFlags
	Replace bool    `help:"Start the cassette anew instead of adding a run to it."`
	File    text    `arg:"" name:"file" help:"The cassette."`
	Command command `arg:"" passthrough:"partial" name:"prog" help:"The program and its arguments, after --."`
}

// Help is the text below the summary.
func (*recordCmd) Help() string {
	return "boombox record FILE [flags] -- PROG ARGS...: as run, and the run is added to FILE, arguments, input and output " +
		"included. Standard input is read to its end before; a terminal counts as empty. A program that cannot be started, " +
		"and a run that was cut short by a signal or a closed output, are not recorded."
}

// Run implements the subcommand.
func (c *recordCmd) Run() error {
	cmd, out, err := c.prepare(c.Command)
	if err != nil {
		return err
	}
	cmd.Stdin = wholeStdin()
	recorder, err := c.recorder()
	if err != nil {
		return out.end(refused("%w", err), notStarted(cmd.Limits))
	}
	defer func() { _ = recorder.Close() }()
	s := newSession()
	defer s.stop()
	end := s.play(recorder, cmd, out)
	if s.result == nil || s.result.Outcome() == runner.Cancelled {
		return end
	}
	if err := recorder.Save(); err != nil {
		finish(end)
		return refused("%w", err)
	}
	return end
}

func (c *recordCmd) recorder() (*cassette.Recorder, error) {
	if c.Replace {
		return cassette.NewRecorder(string(c.File), runner.Contained{})
	}
	return cassette.NewRecorder(string(c.File), runner.Contained{}, cassette.WithExtend())
}
