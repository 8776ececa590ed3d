package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/internal/plaintext"
)

// pruneCmd is the subcommand prune.
type pruneCmd struct {
	JSON   bool   `name:"json" help:"Write one JSON object instead of text."`
	Index  text   `required:"" placeholder:"FILE" help:"The index that a full run of the tests has written."`
	Delete bool   `help:"Delete what belongs to no test."`
	Dirs   []text `arg:"" name:"dir" help:"Where the cassettes are."`
}

// Help is the text below the summary.
func (*pruneCmd) Help() string {
	return "First run all tests with " + cassette.EnvIndex + "=FILE (absolute), go test -count=1 ./..., without -run, -short or a " +
		"focus: a test that did not run opens nothing, and its cassette would seem to belong to none. The status is 1 when " +
		"there is something to delete; side files that no cassette uses are found as well. An index that is older than a test file below DIR is refused."
}

// Run implements the subcommand.
func (c *pruneCmd) Run() error {
	used, written, err := readIndex(string(c.Index))
	if err != nil {
		return toolError(err)
	}
	for _, dir := range c.Dirs {
		if err := olderThanTests(string(dir), written); err != nil {
			return toolError(err)
		}
	}
	paths, err := cassettesIn(c.Dirs)
	if err != nil {
		return err
	}
	orphans := []string{}
	for _, path := range paths {
		abs, err := filepath.Abs(path)
		if err != nil {
			return toolError(err)
		}
		if !used[abs] {
			orphans = append(orphans, path)
		}
	}
	if len(orphans) == len(paths) && len(paths) > 0 {
		return toolError(errors.New("none of these cassettes is in the index: it is of other tests"))
	}
	sides, err := sideOrphans(c.Dirs, paths, orphans)
	if err != nil {
		return toolError(err)
	}
	orphans = append(orphans, sides...)
	if c.Delete {
		for _, path := range orphans {
			if err := os.Remove(path); err != nil {
				return toolError(err)
			}
		}
		for _, path := range sides {
			_ = os.Remove(filepath.Dir(path)) // if nothing is left in it
		}
	}
	if c.JSON {
		err = printJSON(map[string]any{"orphans": orphans, "deleted": c.Delete})
	} else {
		verb := "belongs to no test"
		if c.Delete {
			verb = "deleted"
		}
		for _, path := range orphans {
			if err == nil {
				err = toolError(printOut(fmt.Sprintf("%s: %s\n", plaintext.Line(path), verb)))
			}
		}
	}
	if err != nil {
		return err
	}
	return findings(!c.Delete && len(orphans) > 0)
}

// sideOrphans are the side files that belong to none of the cassettes that stay.
func sideOrphans(dirs []text, cassettes, orphans []string) (list []string, err error) {
	owners := slices.Clone(cassettes)
	for _, dir := range dirs {
		err := filepath.WalkDir(string(dir), func(path string, d fs.DirEntry, err error) error {
			if name, found := strings.CutSuffix(path, ".blobs"); err == nil && found && d.IsDir() && !slices.Contains(owners, name+".cassette") {
				owners = append(owners, name+".cassette")
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for _, owner := range owners {
		used, orphaned, err := cassette.SideFiles(owner)
		if err != nil {
			return nil, err
		}
		if list = append(list, orphaned...); slices.Contains(orphans, owner) {
			list = append(list, used...)
		}
	}
	return list, nil
}

// readIndex reads the paths that were opened, and when the first of them was.
func readIndex(path string) (used map[string]bool, written time.Time, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, written, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, written, err
	}
	used = map[string]bool{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		name, err := strconv.Unquote(lines.Text())
		if err != nil || !filepath.IsAbs(name) {
			return nil, written, fmt.Errorf("line %d of the index does not read", n)
		}
		used[name] = true
	}
	return used, info.ModTime(), lines.Err()
}

// olderThanTests refuses an index that is older than a test.
func olderThanTests(dir string, written time.Time) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		info, err := d.Info()
		if err == nil && info.ModTime().After(written) {
			err = fmt.Errorf("the index is older than %q: run the tests again", path)
		}
		return err
	})
}
