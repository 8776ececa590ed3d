package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/boombox-go/boombox/cassette"
)

// mergeCmd is the subcommand merge.
type mergeCmd struct {
	Base   text `arg:"" name:"base" help:"What both sides began with; an empty file for nothing."`
	Ours   text `arg:"" name:"ours" help:"Our side. The result is written here."`
	Theirs text `arg:"" name:"theirs" help:"Their side."`
	Path   text `arg:"" optional:"" name:"path" help:"What git calls the file. Side files are not looked at then: git merges them itself."`
}

// Help is the text below the summary.
func (*mergeCmd) Help() string {
	return "As a driver of git: git config merge.cassette.driver 'boombox merge %O %A %B %P', and *.cassette merge=cassette in " +
		".gitattributes. When both sides change the same run in different ways, nothing is written and the status is 1."
}

// Run implements the subcommand.
func (c *mergeCmd) Run() (err error) {
	if c.Path != "" {
		err = c.driver()
	} else {
		err = c.merge()
	}
	if errors.Is(err, cassette.ErrConflict) {
		return &exitError{status: statusFindings, err: err}
	}
	return toolError(err)
}

// driver merges the temporary files of git. The folders of their side files are not beside them, and theirs may be nowhere yet.
func (c *mergeCmd) driver() error {
	var sides [3][]byte
	for i, path := range []text{c.Base, c.Ours, c.Theirs} {
		data, err := readSide(string(path))
		if err != nil {
			return fmt.Errorf("%q: %w", string(c.Path), err)
		}
		sides[i] = data
	}
	merged, err := cassette.MergeFiles(sides[0], sides[1], sides[2])
	if err != nil {
		return fmt.Errorf("%q: %w", string(c.Path), err)
	}
	return os.WriteFile(string(c.Ours), merged, 0o600)
}

// merge merges cassettes with their side files.
func (c *mergeCmd) merge() error {
	var tapes [3]*cassette.Tape
	for i, path := range []text{c.Base, c.Ours, c.Theirs} {
		data, err := readSide(string(path))
		if err == nil {
			tapes[i], err = cassette.ParseAt(data, string(path))
		}
		if err != nil {
			return fmt.Errorf("%q: %w", string(path), err)
		}
	}
	merged, err := cassette.Merge(tapes[0], tapes[1], tapes[2])
	if err != nil {
		return err
	}
	return merged.Save(string(c.Ours))
}

// readSide reads one side of a merge, whose trailer need not fit. git gives an empty file for one that is not there.
func readSide(path string) ([]byte, error) {
	data, err := readCassette(path)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("cassette 1\n")
	}
	return cassette.Reseal(data)
}
