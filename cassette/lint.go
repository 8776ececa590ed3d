package cassette

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/boombox-go/boombox/internal/plaintext"
	"github.com/boombox-go/boombox/runner"
)

// Problem is something about a file that its reader may accept and its owner should look at.
type Problem struct {
	// Line counts from 1, 0 means the file as a whole; Run is the number of the run, 0 outside of one.
	Line, Run int
	// Text says what, without any content.
	Text string
}

// largeRun is from which size on lint calls a run large.
const largeRun = 1 << 20

// Lint looks over a file: its grammar and its checksum, turned line ends, paths that are of one machine, runs that cannot be told
// apart, annotations that say nothing, and runs larger than 1 MiB. It does not look for secrets: [Tape.Scan] does.
func Lint(data []byte) (list []Problem) { return LintAt(data, "") }

// LintAt is [Lint] for the content of the file at path, and looks at the folder beside it as well: for side files that are missing or were
// altered, and for those that the cassette does not use.
func LintAt(data []byte, path string) (list []Problem) {
	if bytes.Contains(data, []byte("\r\n")) {
		list = append(list, Problem{Text: "line ends are CR LF: give *.cassette text eol=lf to git"})
	}
	p, err := parse(bytes.Clone(data), defaultLimits, mustFit)
	if err != nil {
		var corrupt *CorruptError
		problem := Problem{Text: strings.TrimPrefix(err.Error(), "cassette: ")}
		if errors.As(err, &corrupt) {
			problem.Line, problem.Text = corrupt.Line, corrupt.Reason
		}
		list = append(list, problem)
		if p, err = parse(bytes.Clone(data), defaultLimits, unsealed); err != nil {
			return list
		}
	}
	for _, t := range p.tokens {
		if !bytes.Contains(p.body(nil), []byte(t.bare()+">")) && !bytes.Contains(p.body(nil), []byte(t.bare()+":")) {
			list = append(list, Problem{Line: 2, Text: "token " + t.bare() + " is declared and not used"})
		}
	}
	if path != "" {
		list = append(list, lintSide(p, path)...)
	}
	seen := map[string]int{}
	for i := range p.runs {
		r := &p.runs[i]
		add := func(format string, args ...any) {
			list = append(list, Problem{Line: r.line, Run: i + 1, Text: fmt.Sprintf(format, args...)})
		}
		if len(r.text) > largeRun {
			add("it takes %d bytes", len(r.text))
		}
		for j, arg := range r.argv() {
			if machinePath(arg) {
				add("argument %d holds a path of one machine: record with WithPaths or WithToken", j)
			}
		}
		if machinePath(r.dir()) {
			add("the directory is of one machine: record with WithPaths or WithToken")
		}
		for line := range bytes.Lines(r.text) {
			if n, found := bytes.CutPrefix(line, []byte("  x-undeclared ")); found {
				add("it changed %s files that a replay does not: record with WithEffects, or take the line out", bytes.TrimSpace(n))
			}
			if bytes.HasPrefix(line, []byte("  x-allow")) && len(r.allowances()) == 0 {
				add("x-allow wants a rule and a place (%s)", strings.Join(places, ", "))
			}
		}
		key := fmt.Sprintf("%q %q %q %v", r.call().argv, r.dir(), r.stream(secIn), r.pty)
		if before, ok := seen[key]; ok {
			if r.masked && p.runs[before].repeat >= 0 && !bytes.Equal(r.output(runner.Stdout), p.runs[before].output(runner.Stdout)) &&
				bytes.Contains([]byte(key), []byte("<redacted>")) {
				add("it differs from run %d in a secret alone: which answers is a matter of order", before+1)
			}
			if p.runs[before].repeat < 0 {
				add("it is never played: run %d answers every such call", before+1)
			}
		} else {
			seen[key] = i
		}
	}
	return list
}

// lintSide looks at the folder of the side files.
func lintSide(p *parsed, path string) (list []Problem) {
	for i := range p.runs {
		name, problem := p.runs[i].attach(func(name string, length int) ([]byte, string) {
			return readSide(filepath.Join(sideDir(path), name), name, length)
		})
		if problem != "" {
			list = append(list, Problem{Line: p.runs[i].line, Run: i + 1, Text: "side file " + name + ": " + problem})
		}
	}
	_, orphans, err := SideFiles(path)
	if err != nil {
		list = append(list, Problem{Text: "the folder of the side files cannot be looked at"})
	}
	for _, orphan := range orphans {
		text := "the side file %s is used by no run: boombox prune removes it"
		if filepath.Dir(orphan) != sideDir(path) {
			text = "a recording goes on, or one that was cut short left %s: boombox prune removes it"
		}
		list = append(list, Problem{Text: fmt.Sprintf(text, plaintext.Bounded(filepath.Base(orphan), 80))})
	}
	return list
}

// machinePath reports whether text holds a path that another machine does not have.
func machinePath(text string) bool {
	for _, dir := range []string{"/tmp/", "/var/folders/", `\Temp\`, "/home/", "/Users/", `:\Users\`} {
		if strings.Contains(text, dir) {
			return true
		}
	}
	return false
}
