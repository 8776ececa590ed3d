package main

import (
	"fmt"
	"strings"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/internal/plaintext"
	"github.com/boombox-go/boombox/internal/signame"
	"github.com/boombox-go/boombox/runner"
)

// showCmd is the subcommand show.
type showCmd struct {
	File text `arg:"" name:"file" help:"The cassette."`
}

// Help is the text below the summary.
func (*showCmd) Help() string {
	return "Everything is shown, arguments and output included. What a terminal could obey rather than show is escaped."
}

// Run implements the subcommand.
func (c *showCmd) Run() error {
	tape, err := cassette.Load(string(c.File))
	if err != nil {
		return refused("%w", err)
	}
	return printOut(rendered(tape))
}

// rendered is tape for a person to read, safe for a terminal.
func rendered(tape *cassette.Tape) string {
	var b strings.Builder
	for _, run := range tape.Runs() {
		renderRun(&b, run)
	}
	return b.String()
}

func renderRun(b *strings.Builder, run *cassette.Run) {
	argv := run.Argv()
	fmt.Fprintf(b, "run %d  %s\n", run.Number(), plaintext.Line(runner.Command(argv[0], argv[1:]...).CommandLine()))
	if dir := run.Dir(); dir != "" {
		fmt.Fprintf(b, "  dir  %s\n", plaintext.Line(dir))
	}
	if names := run.EnvNames(); len(names) > 0 {
		fmt.Fprintf(b, "  env  %s\n", plaintext.Line(strings.Join(names, " ")))
	}
	if size, ok := run.PTY(); ok {
		fmt.Fprintf(b, "  pty  %dx%d", size.Cols, size.Rows)
		for _, size := range run.Resizes() {
			fmt.Fprintf(b, ", then %dx%d", size.Cols, size.Rows)
		}
		b.WriteByte('\n')
	}
	if stdin, recorded := run.Stdin(); recorded {
		renderStream(b, "in ", stdin, int64(len(stdin)))
	} else {
		b.WriteString("  in   the caller's, not recorded\n")
	}
	renderStream(b, "out", run.Stdout(), run.StdoutTotal())
	renderStream(b, "err", run.Stderr(), run.StderrTotal())
	fmt.Fprintf(b, "  %s\n", renderEnd(run))
}

// renderStream writes data line by line. Of total bytes the cassette may hold a part only.
func renderStream(b *strings.Builder, label string, data []byte, total int64) {
	for line := range strings.Lines(string(data)) {
		text, whole := strings.CutSuffix(line, "\n")
		fmt.Fprintf(b, "  %s| %s\n", label, plaintext.Line(text))
		if !whole {
			fmt.Fprintf(b, "  %s  (no newline at the end)\n", label)
		}
	}
	if kept := int64(len(data)); kept < total {
		fmt.Fprintf(b, "  %s  (%d of %d bytes are recorded)\n", label, kept, total)
	}
}

// renderEnd says how the run ended.
func renderEnd(run *cassette.Run) string {
	if err := run.StartErr(); err != nil {
		return "never started: " + line(err.Error())
	}
	var end string
	switch outcome := run.Outcome(); outcome.Kind() {
	case runner.KindExited:
		code, _ := outcome.ExitCode()
		end = fmt.Sprintf("exit %d", code)
	case runner.KindSignalled:
		sig, _ := outcome.Signal()
		end = "signal " + signame.Of(sig)
	case runner.KindTimedOut:
		end = fmt.Sprintf("timed out after %v", run.Deadline())
	case runner.KindIdleTimedOut:
		end = fmt.Sprintf("no output for %v, timed out", run.Deadline())
	default:
		end = outcome.String()
	}
	if run.PipesHeld() {
		end += ", while somebody still held its output"
	}
	if d := run.Duration(); d > 0 {
		end += fmt.Sprintf("  (took %v)", d)
	}
	return end
}
