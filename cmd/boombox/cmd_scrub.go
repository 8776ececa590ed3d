package main

import (
	"bytes"
	"fmt"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/internal/plaintext"
)

// scrubCmd is the subcommand scrub.
type scrubCmd struct {
	secretFlags
	Check bool   `help:"Write nothing; the status is 1 when a cassette would be changed."`
	Files []text `arg:"" name:"file" help:"The cassettes, or directories of them."`
}

// Help is the text below the summary.
func (*scrubCmd) Help() string {
	return "What scan finds is replaced, as if it had been redacted when it was recorded. What git has already stays in its history: " +
		"give such a secret up."
}

// Run implements the subcommand.
func (c *scrubCmd) Run() error {
	paths, err := cassettesIn(c.Files)
	if err != nil {
		return err
	}
	changed := []string{}
	for _, path := range paths {
		tape, err := cassette.Load(path)
		if err != nil {
			return toolError(err)
		}
		clean, err := tape.Scrub(c.options()...)
		if err != nil {
			return toolError(fmt.Errorf("%q: %w", path, err))
		}
		left, err := clean.Scan(c.options()...)
		if err != nil {
			return toolError(err)
		}
		if len(left) > 0 {
			return toolError(fmt.Errorf("%q: %w", path, &cassette.SecretError{Findings: left}))
		}
		if bytes.Equal(clean.Marshal(), tape.Marshal()) {
			continue
		}
		changed = append(changed, path)
		if !c.Check {
			if err := clean.Save(path); err != nil {
				return toolError(err)
			}
		}
	}
	if c.JSON {
		err = printJSON(map[string]any{"scrubbed": changed})
	} else {
		for _, path := range changed {
			if err == nil {
				err = toolError(printOut(plaintext.Line(path) + ": scrubbed\n"))
			}
		}
	}
	if err != nil {
		return err
	}
	return findings(c.Check && len(changed) > 0)
}
