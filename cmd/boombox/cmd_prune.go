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
		"there is something to delete; side files that no cassette uses, and what a recording that was cut short left, are found as well. An index that is older than a test file below DIR is refused."
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
	if c.Delete {
		if err := remove(orphans, sides); err != nil {
			return toolError(err)
		}
	}
	for _, s := range sides {
		orphans = append(orphans, s.files...)
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

// remove deletes cassettes, and then what belongs to none by the cassette that it is beside.
func remove(cassettes []string, sides []beside) error {
	for _, path := range cassettes {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	for _, s := range sides {
		if err := cassette.RemoveOrphans(s.cassette); err != nil {
			return err
		}
	}
	return nil
}

// beside are files that a cassette has beside it and has no use for.
type beside struct {
	cassette string
	files    []string
}

// sideOrphans are the files beside cassettes that belong to none of those that stay.
func sideOrphans(dirs []text, cassettes, orphans []string) (list []beside, err error) {
	owners := slices.Clone(cassettes)
	for _, dir := range dirs {
		err := filepath.WalkDir(string(dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if owner := besideWhich(path, d.IsDir()); owner != "" && !slices.Contains(owners, owner) {
				owners = append(owners, owner)
			}
			return nil
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
		if slices.Contains(orphans, owner) {
			orphaned = append(orphaned, used...)
		}
		if len(orphaned) > 0 {
			list = append(list, beside{owner, orphaned})
		}
	}
	return list, nil
}

// besideWhich is the cassette that a folder of side files, a lock or a temporary file is of, "" for anything else.
func besideWhich(path string, isDir bool) string {
	if name, found := strings.CutSuffix(path, ".blobs"); found && isDir {
		return name + ".cassette"
	}
	dir, base := filepath.Split(path)
	for _, kind := range []string{".lock", ".tmp"} {
		if name, found := strings.CutSuffix(base, ".cassette"+kind); found && strings.HasPrefix(name, ".") {
			return filepath.Join(dir, name[1:]+".cassette")
		}
	}
	return ""
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
