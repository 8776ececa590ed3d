package main

import (
	"fmt"

	"github.com/boombox-go/boombox/cassette"
)

// secretFlags are the flags of the tools that look for secrets.
type secretFlags struct {
	JSON        bool   `name:"json" help:"Write one JSON object instead of text."`
	WithoutRule []text `placeholder:"RULE" help:"Turn one rule off, by the name that findings show; repeatable."`
}

func (f *secretFlags) options() (opts []cassette.Option) {
	for _, rule := range f.WithoutRule {
		opts = append(opts, cassette.WithoutRule(string(rule)))
	}
	return opts
}

// scanCmd is the subcommand scan.
type scanCmd struct {
	secretFlags
	Files []text `arg:"" name:"file" help:"The cassettes, or directories of them."`
}

// Help is the text below the summary.
func (*scanCmd) Help() string {
	return "Looked for are what the built-in rules know and the values of the environment variables whose names say that they are " +
		"secret. Rule, run and place are told, the value never. The status is 1 when anything is found. What a line x-allow " +
		"in a run allows is not."
}

// Run implements the subcommand.
func (c *scanCmd) Run() error {
	paths, err := cassettesIn(c.Files)
	if err != nil {
		return err
	}
	var list []finding
	for _, path := range paths {
		tape, _, err := sealedTape(path)
		if err != nil {
			return toolError(fmt.Errorf("%q: %w", path, err))
		}
		found, err := tape.Scan(c.options()...)
		if err != nil {
			return toolError(err)
		}
		for _, f := range found {
			list = append(list, finding{File: path, Line: f.Line, Run: f.Run, Rule: f.Rule, Text: f.String()})
		}
	}
	return reportFindings(list, c.JSON)
}
