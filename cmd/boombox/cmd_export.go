package main

import (
	"os"

	"github.com/boombox-go/boombox/cassette"
)

// exportCmd is the subcommand export.
type exportCmd struct {
	Format text `default:"jsonl" placeholder:"FORMAT" help:"asciicast, txtar, or jsonl (the default)."`
	File   text `arg:"" name:"file" help:"The cassette."`
}

// Help is the text below the summary.
func (*exportCmd) Help() string {
	return "It goes to standard output. JSON lines keep every byte; a text archive quotes what it cannot hold; asciicast has both " +
		"streams as one, and U+FFFD for what is not UTF-8."
}

// Run implements the subcommand.
func (c *exportCmd) Run() error {
	tape, err := cassette.Load(string(c.File))
	if err != nil {
		return toolError(err)
	}
	return toolError(tape.Export(os.Stdout, cassette.Format(c.Format)))
}
