package main

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/boombox-go/boombox/cassette"
)

// mergeCmd is the subcommand merge.
type mergeCmd struct {
	Base   text `arg:"" name:"base" help:"What both sides began with; an empty file for nothing."`
	Ours   text `arg:"" name:"ours" help:"Our side. The result is written here."`
	Theirs text `arg:"" name:"theirs" help:"Their side."`
}

// Help is the text below the summary.
func (*mergeCmd) Help() string {
	return "As a driver of git: git config merge.cassette.driver 'boombox merge %O %A %B', and *.cassette merge=cassette in " +
		".gitattributes. When both sides change the same run in different ways, nothing is written and the status is 1."
}

// Run implements the subcommand.
func (c *mergeCmd) Run() error {
	var tapes [3]*cassette.Tape
	for i, path := range []text{c.Base, c.Ours, c.Theirs} {
		tape, err := mergeSide(string(path))
		if err != nil {
			return toolError(fmt.Errorf("%q: %w", string(path), err))
		}
		tapes[i] = tape
	}
	merged, err := cassette.Merge(tapes[0], tapes[1], tapes[2])
	if errors.Is(err, cassette.ErrConflict) {
		return &exitError{status: statusFindings, err: err}
	}
	if err == nil {
		err = merged.Save(string(c.Ours))
	}
	return toolError(err)
}

// mergeSide reads one side of a merge. git gives an empty file for one that is not there.
func mergeSide(path string) (*cassette.Tape, error) {
	data, err := readCassette(path)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		if data, err = cassette.Reseal([]byte("cassette 1\n")); err != nil {
			return nil, err
		}
		return cassette.Parse(data)
	}
	tape, _, err := sealedTape(path)
	return tape, err
}
