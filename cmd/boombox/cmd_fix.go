package main

import (
	"fmt"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/internal/plaintext"
)

// fixCmd is the subcommand fix.
type fixCmd struct {
	JSON  bool   `name:"json" help:"Write one JSON object instead of text."`
	Check bool   `help:"Write nothing; the status is 1 when a cassette would be changed."`
	Files []text `arg:"" name:"file" help:"The cassettes, or directories of them."`
}

// Help is the text below the summary.
func (*fixCmd) Help() string {
	return "Whatever was edited must read well: what does not is told with its line, and stays as it is. Line ends that a checkout " +
		"has turned are turned back. A cassette that is sound is not touched."
}

// Run implements the subcommand.
func (c *fixCmd) Run() error {
	paths, err := cassettesIn(c.Files)
	if err != nil {
		return err
	}
	fixed := []string{}
	for _, path := range paths {
		data, err := readCassette(path)
		if err != nil {
			return toolError(err)
		}
		resealed, err := cassette.Reseal(data)
		if err != nil {
			return toolError(fmt.Errorf("%q: %w", path, err))
		}
		if string(resealed) == string(data) {
			continue
		}
		fixed = append(fixed, path)
		if c.Check {
			continue
		}
		tape, err := cassette.ParseAt(resealed, path)
		if err == nil {
			err = tape.Save(path)
		}
		if err != nil {
			return toolError(fmt.Errorf("%q: %w", path, err))
		}
	}
	if c.JSON {
		err = printJSON(map[string]any{"fixed": fixed})
	} else {
		verb := "sealed"
		if c.Check {
			verb = "would be sealed"
		}
		for _, path := range fixed {
			if err == nil {
				err = toolError(printOut(fmt.Sprintf("%s: %s\n", plaintext.Line(path), verb)))
			}
		}
	}
	if err != nil {
		return err
	}
	return findings(c.Check && len(fixed) > 0)
}
