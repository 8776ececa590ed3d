package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/internal/plaintext"
	"github.com/boombox-go/boombox/runner"
)

// verifyCmd is the subcommand verify.
type verifyCmd struct {
	JSON    bool     `name:"json" help:"Write one JSON object instead of text. It has no output of any run."`
	Timeout positive `default:"60s" placeholder:"DURATION" help:"Kill a run that takes longer (60s by default)."`
	Token   []text   `placeholder:"NAME=VALUE" help:"The live value of a token that the cassette uses; repeatable, in the order of their numbers."`
	Paths   bool     `help:"Take the usual paths for the tokens home, module and cwd."`
	File    text     `arg:"" name:"file" help:"The cassette."`
}

// Help is the text below the summary.
func (*verifyCmd) Help() string {
	return "Every command of the cassette is run for real, in a box, in the order of the file, with our environment: what it does to " +
		"files and networks it does again. A conversation is held as it is recorded. Runs are the same, timing, output, outcome, missing (could not be run), or " +
		"unsupported (a secret was redacted in the command). The status is 1 unless all are same or timing. Nothing is written."
}

// Run implements the subcommand.
func (c *verifyCmd) Run() error {
	var opts []cassette.Option
	for _, token := range c.Token {
		name, value, found := strings.Cut(string(token), "=")
		if !found {
			return toolError(errors.New("--token: wants NAME=VALUE"))
		}
		opts = append(opts, cassette.WithToken(name, value))
	}
	if c.Paths {
		opts = append(opts, cassette.WithPaths())
	}
	if err := os.Unsetenv(cassette.EnvMode); err != nil { // it is about tests
		return toolError(err)
	}
	deck, err := cassette.Open(string(c.File), append(opts, cassette.WithMode(cassette.Verify))...)
	if err != nil {
		return toolError(err)
	}
	defer deck.Close()
	tape, err := cassette.Load(string(c.File))
	if err != nil {
		return toolError(err)
	}
	cmds, err := tape.Commands(opts...)
	if err != nil {
		return toolError(err)
	}
	unsupported, err := c.runAll(deck, tape, cmds, opts)
	if err != nil {
		return err
	}
	changes, err := deck.Changes()
	if err != nil {
		return toolError(err)
	}
	for i := range changes {
		if changes[i].Class == cassette.ClassMissing && slices.Contains(unsupported, changes[i].Old) {
			changes[i].Class = "unsupported"
		}
	}
	return c.report(changes)
}

// runAll runs the commands, and returns the numbers of those that cannot be run.
func (c *verifyCmd) runAll(deck *cassette.Deck, tape *cassette.Tape, cmds []*runner.Cmd, opts []cassette.Option) (unsupported []int, err error) {
	s := newSession()
	defer s.stop()
	runs := tape.Runs()
	for i, cmd := range cmds {
		if isTerminal(os.Stderr) {
			fmt.Fprintf(os.Stderr, "\rrun %d of %d", i+1, len(cmds))
		}
		if cmd == nil {
			unsupported = append(unsupported, i+1)
			continue
		}
		if cmd.Timeout == 0 {
			cmd.Timeout = time.Duration(c.Timeout)
		}
		// How the run ended is told by the comparison; a start error too.
		again := func() (*runner.Result, error) { return runner.Run(s.ctx, deck, cmd) }
		if runs[i].Interactive() || len(runs[i].Resizes()) > 0 {
			again = func() (*runner.Result, error) { return tape.Converse(s.ctx, deck, i+1, cmd, opts...) }
		}
		if _, err := again(); errors.Is(err, runner.ErrCancelled) {
			return nil, s.end(toolError(err), &reportFile{}, report{})
		}
	}
	if isTerminal(os.Stderr) {
		fmt.Fprint(os.Stderr, "\r\033[K")
	}
	return unsupported, nil
}

func (c *verifyCmd) report(changes []cassette.Change) error {
	drift := slices.ContainsFunc(changes, func(ch cassette.Change) bool {
		return ch.Class != cassette.ClassSame && ch.Class != cassette.ClassTiming
	})
	var err error
	if c.JSON {
		err = printJSON(map[string]any{"runs": changesOf(changes)})
	} else {
		var b strings.Builder
		for _, ch := range changes {
			fmt.Fprintf(&b, "%s: %s\n", plaintext.Line(string(c.File)), line(ch.String()))
		}
		err = toolError(printOut(b.String()))
	}
	if err != nil {
		return err
	}
	return findings(drift)
}
