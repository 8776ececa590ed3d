package matchers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/boombox-go/boombox/internal/plaintext"
	"github.com/boombox-go/boombox/runner"
)

// HermeticMatcher is what [BeHermetic] returns.
type HermeticMatcher struct {
	*matcher
	fds []int
	dir *string
}

// BeHermetic matches a run whose child looked around and found nothing but what it was meant to have: environment
// variables whose names are among those allowed, no open descriptor beyond the three standard ones, and a standard input
// that is no terminal. Whatever a command says of itself proves nothing; the child's own word does. So it takes a run
// that exited with 0 and wrote what the child "inside" of package fixtures writes, one finding a line, in any order:
//
//	env NAME      a variable, once for each
//	fd 5          an open descriptor, once for each; "fd unknown" where they cannot be listed
//	stdin null    or pipe, file, terminal, other
//	dir /tmp/x    the working directory
//
// A report without a line of stdin and dir is an error in both directions, and so is one that cannot list descriptors.
// Messages show names and numbers, never a value nor a directory.
//
//	argv := fixtures.Argv("inside")
//	Expect(runner.Run(ctx, r, untrusted(argv))).To(BeHermetic("PATH", "TMPDIR").In(dir))
func BeHermetic(allow ...string) *HermeticMatcher {
	allow = slices.Clone(allow)
	m := &HermeticMatcher{}
	m.matcher = ofRun("BeHermetic", func(r *runner.Result, j *judgement) error {
		found, err := readInside(r)
		if err != nil {
			return err
		}
		names := lacking(found.env, allow)
		var fds []string
		for _, fd := range found.fds {
			if fd > 2 && !slices.Contains(m.fds, fd) {
				fds = append(fds, strconv.Itoa(fd))
			}
		}
		stdin := ""
		if found.stdin == "terminal" {
			stdin = "a terminal"
		}
		dir := ""
		if m.dir != nil && !sameDir(found.dir, *m.dir) {
			dir = "another than the one given"
		}
		points := len(names) + len(fds)
		for _, s := range []string{stdin, dir} {
			if s != "" {
				points++
			}
		}
		j.ok = points == 0
		j.want, j.got, j.found = "to be hermetic", "it is not, in "+plaintext.Count(points, "point"), "it is"
		j.evidence = []fact{
			{"variables", joined(names)}, {"open fds", plaintext.Bounded(strings.Join(fds, " "), 300)},
			{"stdin", stdin}, {"directory", dir}, {"contained", containment(r)},
		}
		if len(names) > 0 {
			j.hint = "runner.CleanEnv and runner.AllowEnv keep the caller's environment out"
		}
		return nil
	})
	return m
}

// WithFDs allows these descriptors as well: those that the command hands down.
func (m *HermeticMatcher) WithFDs(fd ...int) *HermeticMatcher {
	m.fds = append(m.fds, fd...)
	return m
}

// In asks as well that the working directory is dir, symbolic links aside.
func (m *HermeticMatcher) In(dir string) *HermeticMatcher {
	m.dir = &dir
	return m
}

// inside is what a child found when it looked around.
type inside struct {
	env        []string
	fds        []int
	stdin, dir string
}

// readInside reads the report of a child. Its errors show nothing of it.
func readInside(r *runner.Result) (found inside, err error) {
	if !r.Success() {
		return found, fmt.Errorf("matchers: BeHermetic cannot judge: %s did not report what it found inside: it %s", ticked(r.Program()), ending(r))
	}
	for i, line := range splitLines(r.Stdout()) {
		kind, what, _ := strings.Cut(line, " ")
		switch kind {
		case "env":
			found.env = append(found.env, what)
		case "fd":
			if what == "unknown" {
				return found, errors.New("matchers: BeHermetic cannot judge: the child could not list its descriptors on this system")
			}
			fd, err := strconv.Atoi(what)
			if err != nil {
				return found, fmt.Errorf("matchers: BeHermetic cannot judge: line %d of the report has no descriptor", i+1)
			}
			found.fds = append(found.fds, fd)
		case "stdin":
			found.stdin = what
		case "dir":
			found.dir = what
		default:
			return found, fmt.Errorf("matchers: BeHermetic cannot judge: line %d is none of a report of what is inside", i+1)
		}
	}
	if found.stdin == "" || found.dir == "" {
		return found, errors.New("matchers: BeHermetic cannot judge: the output is no report of what is inside: it lacks a line of stdin or dir")
	}
	slices.Sort(found.env)
	slices.Sort(found.fds)
	return found, nil
}

// sameDir reports whether both paths name one directory.
func sameDir(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}
