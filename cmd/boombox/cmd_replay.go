package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/runner"
)

// replayCmd is the subcommand replay.
type replayCmd struct {
	Pace    pace    `placeholder:"PACE" help:"How fast: instant (the default), real, or a speed such as 2x."`
	Dir     text    `placeholder:"DIR" help:"The directory that the run was recorded with."`
	Report  text    `placeholder:"FILE" help:"Write a JSON report of the run to FILE, or - for standard error."`
	File    text    `arg:"" name:"file" help:"The cassette."`
	Command command `arg:"" passthrough:"partial" name:"prog" help:"The program and its arguments, after --."`
}

// Help is the text below the summary.
func (*replayCmd) Help() string {
	return "boombox replay FILE [flags] -- PROG ARGS...: the run whose program, arguments, input and --dir match is played on " +
		"the same streams, with the same exit status. Without one the status is 125, and the nearest run is named. " +
		"Standard input is read to its end before; a terminal counts as empty."
}

// Run implements the subcommand.
func (c *replayCmd) Run() error {
	argv, err := c.Command.argv()
	if err != nil {
		return err
	}
	out, err := openReport(string(c.Report))
	if err != nil {
		return err
	}
	cmd := runner.Command(argv[0], argv[1:]...)
	cmd.Dir = string(c.Dir)
	cmd.Output = runner.Both(runner.Stream{Policy: runner.Discard})
	cmd.Stdin = wholeStdin()
	player, err := c.player()
	if err != nil {
		return out.end(refused("%w", err), notStarted(cmd.Limits))
	}
	s := newSession()
	defer s.stop()
	return s.play(explaining{player}, cmd, out)
}

func (c *replayCmd) player() (*cassette.Player, error) {
	tape, err := cassette.Load(string(c.File))
	if err != nil {
		return nil, err
	}
	return cassette.NewPlayer(tape, cassette.WithPace(c.Pace.Pace),
		cassette.WithHint("boombox record FILE -- PROG ARGS..."))
}

// explaining is a player whose misses are told in full where a person looks at them. Elsewhere, in logs, the arguments
// stay out.
type explaining struct{ *cassette.Player }

// Start implements [runner.Runner].
func (e explaining) Start(ctx context.Context, cmd *runner.Cmd) (*runner.Process, error) {
	process, err := e.Player.Start(ctx, cmd)
	var miss *cassette.MissError
	if errors.As(err, &miss) && isTerminal(os.Stderr) {
		fmt.Fprint(os.Stderr, miss.Explain())
		err = &exitError{status: statusFailed}
	}
	return process, err
}
