package main

import (
	"fmt"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/internal/plaintext"
)

// lintCmd is the subcommand lint.
type lintCmd struct {
	JSON  bool   `name:"json" help:"Write one JSON object instead of text."`
	Files []text `arg:"" name:"file" help:"The cassettes, or directories of them."`
}

// Help is the text below the summary.
func (*lintCmd) Help() string {
	return "The status is 1 when there is anything to look at. No content is shown. Secrets are looked for by scan."
}

// finding is one entry of the JSON objects of lint and scan.
type finding struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Run  int    `json:"run"`
	Rule string `json:"rule,omitempty"`
	Text string `json:"text"`
}

// report writes what was found, and ends accordingly.
func reportFindings(list []finding, asJSON bool) error {
	if asJSON {
		if err := printJSON(map[string]any{"findings": append([]finding{}, list...)}); err != nil {
			return err
		}
		return findings(len(list) > 0)
	}
	for _, f := range list {
		place := plaintext.Line(f.File)
		if f.Line > 0 {
			place += fmt.Sprintf(":%d", f.Line)
		}
		if err := printOut(fmt.Sprintf("%s: %s\n", place, line(f.Text))); err != nil {
			return toolError(err)
		}
	}
	return findings(len(list) > 0)
}

// Run implements the subcommand.
func (c *lintCmd) Run() error {
	paths, err := cassettesIn(c.Files)
	if err != nil {
		return err
	}
	var list []finding
	for _, path := range paths {
		data, err := readCassette(path)
		if err != nil {
			return toolError(err)
		}
		for _, p := range cassette.LintAt(data, path) {
			text := p.Text
			if p.Run > 0 {
				text = fmt.Sprintf("run %d: %s", p.Run, text)
			}
			list = append(list, finding{File: path, Line: p.Line, Run: p.Run, Text: text})
		}
	}
	return reportFindings(list, c.JSON)
}
