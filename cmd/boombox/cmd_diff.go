package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/internal/plaintext"
)

// diffCmd is the subcommand diff.
type diffCmd struct {
	JSON   bool `name:"json" help:"Write one JSON object instead of text. It has no output of any run."`
	Timing bool `help:"Count runs whose output came at other times as different."`
	Old    text `arg:"" name:"old" help:"The old cassette."`
	New    text `arg:"" name:"new" help:"The new one."`
}

// Help is the text below the summary.
func (*diffCmd) Help() string {
	return "Runs are paired by program, arguments, input, terminal and directory. The status is 1 when anything differs. The output of runs " +
		"is shown line by line, escaped."
}

// change is one entry of the JSON object.
type change struct {
	Class   cassette.Class `json:"class"`
	Old     *int           `json:"old"`
	New     *int           `json:"new"`
	Program string         `json:"program"`
	Fields  []string       `json:"fields"`
}

// changesOf are changes for a JSON object.
func changesOf(list []cassette.Change) []change {
	out := []change{}
	for _, c := range list {
		number := func(n int) *int {
			if n == 0 {
				return nil
			}
			return &n
		}
		out = append(out, change{c.Class, number(c.Old), number(c.New), strings.ToValidUTF8(c.Program, "\ufffd"), append([]string{}, c.Fields...)})
	}
	return out
}

// Run implements the subcommand.
func (c *diffCmd) Run() error {
	old, _, err := sealedTape(string(c.Old))
	if err != nil {
		return toolError(err)
	}
	now, _, err := sealedTape(string(c.New))
	if err != nil {
		return toolError(err)
	}
	changes, err := cassette.Compare(old, now)
	if err != nil {
		return toolError(err)
	}
	changes = slices.DeleteFunc(changes, func(ch cassette.Change) bool {
		return ch.Class == cassette.ClassSame || ch.Class == cassette.ClassTiming && !c.Timing
	})
	if c.JSON {
		err = printJSON(map[string]any{"changes": changesOf(changes)})
	} else {
		err = toolError(printOut(renderChanges(changes, old.Runs(), now.Runs())))
	}
	if err != nil {
		return err
	}
	return findings(len(changes) > 0)
}

func renderChanges(changes []cassette.Change, old, now []*cassette.Run) string {
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "%s\n", line(c.String()))
		if c.Old == 0 || c.New == 0 {
			continue
		}
		was, is := old[c.Old-1], now[c.New-1]
		for _, field := range c.Fields {
			switch field {
			case "stdout":
				renderLines(&b, "out", was.Stdout(), is.Stdout())
			case "stderr":
				renderLines(&b, "err", was.Stderr(), is.Stderr())
			case "outcome":
				fmt.Fprintf(&b, "  - %s\n  + %s\n", renderEnd(was), renderEnd(is))
			case "environment":
				fmt.Fprintf(&b, "  -env %s\n  +env %s\n", plaintext.Line(strings.Join(was.EnvNames(), " ")), plaintext.Line(strings.Join(is.EnvNames(), " ")))
			}
		}
	}
	return b.String()
}

// mostLines is how many lines of each side of a difference are shown.
const mostLines = 40

// renderLines shows the lines that differ: what is between the common ones at the beginning and at the end.
func renderLines(b *strings.Builder, label string, old, now []byte) {
	was, is := slices.Collect(strings.Lines(string(old))), slices.Collect(strings.Lines(string(now)))
	head := 0
	for head < min(len(was), len(is)) && was[head] == is[head] {
		head++
	}
	tail := 0
	for tail < min(len(was), len(is))-head && was[len(was)-1-tail] == is[len(is)-1-tail] {
		tail++
	}
	for _, side := range []struct {
		sign  string
		lines []string
	}{{"-", was[head : len(was)-tail]}, {"+", is[head : len(is)-tail]}} {
		for i, text := range side.lines {
			if i == mostLines {
				fmt.Fprintf(b, "  %s%s| (%d more lines)\n", side.sign, label, len(side.lines)-i)
				break
			}
			whole, ended := strings.CutSuffix(text, "\n")
			end := ""
			if !ended {
				end = "  (no newline at the end)"
			}
			fmt.Fprintf(b, "  %s%s| %s%s\n", side.sign, label, plaintext.Line(whole), end)
		}
	}
}
