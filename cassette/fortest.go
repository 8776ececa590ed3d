package cassette

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/boombox-go/boombox/contain"
)

// ForTest opens the cassette of one test, at [PathFor] of its name. When the test and its later clean-ups are over, a
// recording is saved if the test passed; in replay the test fails if a call found no run, or a run was not called for.
// A test that has failed keeps the old file, and logs its misses.
//
//	func TestBranch(t *testing.T) {
//		git := wrapper{runner: cassette.ForTest(t)}
//		...
//	}
//
// Record it with BOOMBOX_CASSETTE=record go test -count=1 -run '^TestBranch$'; a miss says so, for the test at hand. It
// must be called from the test's own goroutine.
func ForTest(tb contain.TB, opts ...Option) *Deck {
	tb.Helper()
	return OpenForTest(tb, PathFor(tb.Name()), opts...)
}

// OpenForTest is [ForTest] with a path of your own.
func OpenForTest(tb contain.TB, path string, opts ...Option) *Deck {
	tb.Helper()
	opts = append([]Option{WithHint(hintFor(tb.Name())), withTempDir(tb.TempDir)}, opts...)
	deck, err := Open(path, opts...)
	if err != nil {
		tb.Fatalf("no cassette for this test: %v", err)
		return nil
	}
	tb.Cleanup(func() {
		tb.Helper()
		if err := deck.finish(tb.Failed(), tb.Logf); err != nil {
			tb.Fatalf("%v", err)
		}
	})
	return deck
}

// finish ends the deck of a test.
func (d *Deck) finish(failed bool, logf func(string, ...any)) (err error) {
	defer func() {
		if closeErr := d.Close(); err == nil {
			err = closeErr
		}
	}()
	switch {
	case !failed:
		if d.recorder != nil {
			for _, u := range d.recorder.Undeclared() {
				logf("%v", u)
			}
		}
		return errors.Join(d.Save(), d.Check())
	case d.Recording():
		logf("the test failed: nothing was recorded")
	default:
		for _, miss := range d.Misses() {
			logf("%v", miss)
		}
	}
	return nil
}

// maxSlug is how much of a name a file name shows, in bytes: with the digest, the ending and a temporary file's prefix
// it stays below the 143 bytes of an encrypted file system.
const maxSlug = 80

var notInSlug = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// PathFor is where the cassette of a test lies, below the working directory of the test, which is the folder of its
// package: testdata/cassettes/NAME-DIGEST.cassette. NAME is made of the letters and digits of the test's name, cut at
// 80 bytes; the digest of the whole name keeps apart what looks alike, or differs in case alone.
func PathFor(name string) string {
	slug := strings.Trim(notInSlug.ReplaceAllString(name, "-"), "-")
	slug = strings.TrimRight(slug[:min(len(slug), maxSlug)], "-")
	if slug != "" {
		slug += "-"
	}
	digest := sha256.Sum256([]byte(name))
	return filepath.Join("testdata", "cassettes", fmt.Sprintf("%s%x.cassette", slug, digest[:4]))
}

// hintFor is the command that records one test of package testing anew.
func hintFor(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	run := strings.ReplaceAll(strings.Join(parts, "/"), "'", `'\''`)
	return fmt.Sprintf("%s=record go test -count=1 -run '%s'", EnvMode, run)
}
