package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/boombox-go/boombox/cassette"
)

// importCmd is the subcommand import.
type importCmd struct {
	JSON bool `name:"json" help:"Write one JSON object instead of text."`
	From text `arg:"" name:"from" help:"The recording of processkit, JSON of version 1 to 4."`
	To   text `arg:"" name:"to" help:"The cassette, which must not be there."`
}

// Help is the text below the summary.
func (*importCmd) Help() string {
	return "Secrets are redacted. Entries that cannot be taken over truly, such as those with input, are told, and the status is 1."
}

// Run implements the subcommand.
func (c *importCmd) Run() error {
	if _, err := os.Lstat(string(c.To)); !errors.Is(err, fs.ErrNotExist) {
		return toolError(fmt.Errorf("%q is there already", string(c.To)))
	}
	data, err := readCassette(string(c.From))
	if err != nil {
		return toolError(err)
	}
	tape, skipped, err := cassette.Import(data)
	if err != nil {
		return toolError(err)
	}
	if err := tape.Save(string(c.To)); err != nil {
		return toolError(err)
	}
	if c.JSON {
		err = printJSON(map[string]any{"runs": tape.Len(), "skipped": append([]string{}, skipped...)})
	} else {
		text := fmt.Sprintf("%d runs\n", tape.Len())
		for _, s := range skipped {
			text += "left out: " + line(s) + "\n"
		}
		err = toolError(printOut(text))
	}
	if err != nil {
		return err
	}
	return findings(len(skipped) > 0)
}
