package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// cli is the grammar: one field, one type and one file for each subcommand.
type cli struct {
	Demo   demoCmd   `cmd:"" help:"Show in a few seconds what boombox does: contain, kill, record, replay."`
	Run    runCmd    `cmd:"" help:"Run a program in a box, its streams passed through."`
	Record recordCmd `cmd:"" help:"The same, and record the run on a cassette."`
	Replay replayCmd `cmd:"" help:"Replay the matching run of a cassette. No process runs."`
	Show   showCmd   `cmd:"" help:"Show what is on a cassette."`
	Doctor doctorCmd `cmd:"" help:"Tell what this host can guarantee, and why not more."`
	cassetteTools
}

const about = "Run real commands in a box they cannot leave, record them on cassettes, replay them with no process at all."

// dispatch parses args, runs the subcommand and returns the exit status.
func dispatch(args []string) int {
	helped := false
	var grammar cli
	parser, err := kong.New(&grammar, kong.Name("boombox"), kong.Description(about),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110}),
		kong.Exit(func(int) { helped = true }), kong.Writers(os.Stdout, os.Stderr))
	if err != nil {
		return finish(err)
	}
	ctx, err := parser.Parse(args)
	switch {
	case helped:
		return 0
	case err != nil && isTool(args):
		return finish(toolError(errors.New(usageText(err) + " (see boombox --help)")))
	case err != nil:
		return finish(usageError(usageText(err)))
	}
	return finish(ctx.Run())
}

// usageText is kong's message without any value that was given: it may be a secret in the wrong place.
func usageText(err error) string {
	text, _, _ := strings.Cut(err.Error(), " but got ")
	if strings.HasPrefix(text, "unexpected flag argument") {
		text = "unexpected value of a flag that takes none"
	}
	return text
}

// finish prints what went wrong, in one line, and returns the exit status.
func finish(err error) int {
	if err == nil {
		return 0
	}
	var end *exitError
	if !errors.As(err, &end) {
		end = &exitError{status: statusFailed, err: err}
	}
	if end.err != nil {
		fmt.Fprintf(os.Stderr, "boombox: %s\n", line(end.err.Error()))
	}
	return end.status
}
