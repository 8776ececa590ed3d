package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/boombox-go/boombox/internal/plaintext"
)

// statsCmd is the subcommand stats.
type statsCmd struct {
	JSON  bool   `name:"json" help:"Write one JSON object instead of text."`
	Files []text `arg:"" name:"file" help:"The cassettes, or directories of them."`
}

// Help is the text below the summary.
func (*statsCmd) Help() string { return "The status is 0. No content is shown." }

// tapeStats is one entry of the JSON object.
type tapeStats struct {
	File         string `json:"file"`
	Bytes        int64  `json:"bytes"`
	Runs         int    `json:"runs"`
	LargestRun   int    `json:"largest_run"`
	LargestBytes int    `json:"largest_run_bytes"`
	StdoutBytes  int64  `json:"stdout_bytes"`
	StderrBytes  int64  `json:"stderr_bytes"`
	Placeholders int    `json:"placeholders"`
}

// Run implements the subcommand.
func (c *statsCmd) Run() error {
	paths, err := cassettesIn(c.Files)
	if err != nil {
		return err
	}
	list := []tapeStats{}
	for _, path := range paths {
		tape, _, err := sealedTape(path)
		if err != nil {
			return toolError(fmt.Errorf("%q: %w", path, err))
		}
		info, err := os.Stat(path)
		if err != nil {
			return toolError(err)
		}
		s := tapeStats{File: path, Bytes: info.Size(), Runs: tape.Len(), Placeholders: bytes.Count(tape.Marshal(), []byte("<redacted:"))}
		for _, run := range tape.Runs() {
			if n := len(run.Text()); n > s.LargestBytes {
				s.LargestRun, s.LargestBytes = run.Number(), n
			}
			s.StdoutBytes += run.StdoutTotal()
			s.StderrBytes += run.StderrTotal()
		}
		list = append(list, s)
	}
	if c.JSON {
		return printJSON(map[string]any{"cassettes": list})
	}
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "%s: %d runs, %d bytes, %d on stdout, %d on stderr, %d placeholders", plaintext.Line(s.File), s.Runs, s.Bytes, s.StdoutBytes, s.StderrBytes, s.Placeholders)
		if s.Runs > 0 {
			fmt.Fprintf(&b, "; largest is run %d with %d bytes", s.LargestRun, s.LargestBytes)
		}
		b.WriteByte('\n')
	}
	return toolError(printOut(b.String()))
}
