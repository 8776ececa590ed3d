package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/boombox-go/boombox/cassette"
)

// cassetteTools are the subcommands that look after cassettes. They run nothing but for verify, and end with 0, with 1 when they
// found something, and with 2 when they were used wrongly or could not do their work.
type cassetteTools struct {
	Diff   diffCmd   `cmd:"" help:"Tell what differs between two cassettes, run by run."`
	Lint   lintCmd   `cmd:"" help:"Look cassettes over: grammar, checksum, paths of one machine, runs that are never played."`
	Scan   scanCmd   `cmd:"" help:"Look for secrets in cassettes."`
	Scrub  scrubCmd  `cmd:"" help:"Replace the secrets in cassettes by placeholders."`
	Verify verifyCmd `cmd:"" help:"Run the commands of a cassette for real, and tell what differs."`
	Fix    fixCmd    `cmd:"" help:"Seal cassettes again that were edited or merged by hand."`
	Prune  pruneCmd  `cmd:"" help:"Find cassettes that no test opens any more, and delete them with --delete."`
	Merge  mergeCmd  `cmd:"" help:"Merge what two sides made of a cassette; a merge driver for git."`
	Export exportCmd `cmd:"" help:"Write a cassette as asciicast, txtar or JSON lines."`
	Import importCmd `cmd:"" help:"Make a cassette of a recording of processkit."`
	Stats  statsCmd  `cmd:"" help:"Tell how large cassettes are, and what is in them."`
}

var toolNames = []string{"diff", "lint", "scan", "scrub", "verify", "fix", "prune", "merge", "export", "import", "stats"}

// isTool reports whether a command line is of a cassette tool.
func isTool(args []string) bool { return len(args) > 0 && slices.Contains(toolNames, args[0]) }

const (
	statusFindings  = 1
	statusToolError = 2
)

// findings ends with 1: what was found is printed already.
func findings(found bool) error {
	if found {
		return &exitError{status: statusFindings}
	}
	return nil
}

// toolError ends with 2 and a line.
func toolError(err error) error {
	var end *exitError
	if err == nil || errors.As(err, &end) {
		return err
	}
	return &exitError{status: statusToolError, err: err}
}

// toolVersion is the version of what --json writes.
const toolVersion = 1

// printJSON writes what a tool found as one JSON object.
func printJSON(fields map[string]any) error {
	fields["version"] = toolVersion
	data, err := json.Marshal(fields)
	if err != nil {
		return toolError(err)
	}
	return toolError(printOut(string(data) + "\n"))
}

// sealedTape reads a cassette whose trailer may not fit, and says whether it does.
func sealedTape(path string) (tape *cassette.Tape, fits bool, err error) {
	if tape, err = cassette.Load(path); !errors.Is(err, cassette.ErrCorrupt) {
		return tape, true, err
	}
	data, readErr := readCassette(path)
	if readErr != nil {
		return nil, false, readErr
	}
	resealed, unreadable := cassette.Reseal(data)
	if unreadable != nil {
		return nil, false, err
	}
	tape, err = cassette.ParseAt(resealed, path)
	return tape, false, err
}

// readCassette reads a regular file that is no larger than a cassette may be.
func readCassette(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%q is not a regular file", path)
	case info.Size() > cassette.MaxFile:
		return nil, fmt.Errorf("%q is larger than a cassette may be", path)
	}
	return os.ReadFile(path)
}

// cassettesIn are the cassettes below what was named: a file is taken as it is, a directory is walked.
func cassettesIn(paths []text) (list []string, err error) {
	for _, path := range paths {
		info, err := os.Stat(string(path))
		if err != nil {
			return nil, toolError(err)
		}
		if !info.IsDir() {
			list = append(list, string(path))
			continue
		}
		err = filepath.WalkDir(string(path), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".cassette") && !strings.HasPrefix(d.Name(), ".") {
				list = append(list, path)
			}
			return err
		})
		if err != nil {
			return nil, toolError(err)
		}
	}
	return list, nil
}
