package cassette

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A large stream that nobody would read in a diff stands in a side file: in a folder beside the cassette, under a name that is the
// digest of its content. The cassette has the digest and the length.

const (
	// largestBinary and largestText are the longest streams that stand in the cassette itself, as base64 and as text.
	largestBinary = 64 << 10
	largestText   = 1 << 20
)

// ErrSideFile: a side file of a cassette is missing, or is not what was recorded. The error is a [*SideFileError].
var ErrSideFile = errors.New("cassette: side file")

// SideFileError reports a side file that cannot be used. It also matches [ErrCorrupt]: a cassette without it is not whole.
type SideFileError struct {
	// Path is the cassette, "" when it was parsed from memory. Name is the side file, below the folder of the cassette.
	Path, Name string
	// Run is the number of the run that has it, Line where that run begins.
	Run, Line int
	// Reason says what is wrong, in one line.
	Reason string
}

// Error implements error.
func (e *SideFileError) Error() string {
	where := ""
	if e.Path != "" {
		where = fmt.Sprintf("%q: ", e.Path)
	}
	return fmt.Sprintf("cassette: %sside file %s of run %d (line %d): %s", where, e.Name, e.Run, e.Line, e.Reason)
}

// Is makes the error match [ErrSideFile] and [ErrCorrupt].
func (e *SideFileError) Is(target error) bool { return target == ErrSideFile || target == ErrCorrupt }

// sideFiles are contents by their names.
type sideFiles map[string][]byte

// bulky decides whether a stream goes into a side file, from its bytes alone.
func bulky(data []byte) bool {
	return len(data) > largestText || len(data) > largestBinary && mostlyBinary(data)
}

// put keeps a content, and returns its name.
func (s sideFiles) put(data []byte) string {
	sum := sha256.Sum256(data)
	name := hex.EncodeToString(sum[:])
	s[name] = data
	return name
}

// appendSide appends the line of a stream that stands in a side file.
func appendSide(dst []byte, tag, name string, length int) []byte {
	dst = append(append(append(append(dst, "  "...), tag...), "-file sha256:"...), name...)
	return append(strconv.AppendInt(append(dst, ' '), int64(length), 10), '\n')
}

// parseSide reads the payload of such a line.
func parseSide(payload []byte) (name string, length int, ok bool) {
	rest, found := bytes.CutPrefix(payload, []byte("sha256:"))
	digest, number, _ := bytes.Cut(rest, []byte{' '})
	n, ok := parseInt(string(number), MaxRun)
	if !found || !ok || n < 1 || len(digest) != 2*sha256.Size {
		return "", 0, false
	}
	for _, c := range digest {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return "", 0, false
		}
	}
	return string(digest), int(n), true
}

func (r *runText) addSide(s section, payload []byte) (section, string) {
	_, n, ok := parseSide(payload)
	switch {
	case !ok:
		return s, "not a side file: want sha256: with 64 digits, and a length"
	case r.start[s] != 0 && !(s == secIn && r.interactive && r.size[0] == 0):
		return s, "side file beside other lines of its stream"
	}
	return s, r.grow(s, n, encFile, encFile)
}

// sideName is the side file of a stream, "" for none.
func (r *runText) sideName(s section) (name string) {
	if r.enc[s-secIn] != encFile {
		return ""
	}
	r.lines(s, func(_, payload []byte) { name, _, _ = parseSide(payload) })
	return name
}

// eachSide calls fn with the side files of a run.
func (r *runText) eachSide(fn func(name string, length int)) {
	for _, s := range []section{secIn, secOut, secErr, secEffect} {
		if s != secEffect && r.enc[s-secIn] != encFile || r.start[s] == 0 {
			continue
		}
		r.lines(s, func(tag, payload []byte) {
			if bytes.HasSuffix(tag, []byte("-file")) {
				name, length, _ := parseSide(payload)
				fn(name, length)
			}
		})
	}
}

// attach gives a run the contents of its side files. It is called before anybody else knows the run.
func (r *runText) attach(content func(name string, length int) ([]byte, string)) (name, problem string) {
	r.eachSide(func(n string, length int) {
		if problem != "" {
			return
		}
		data, wrong := content(n, length)
		if name, problem = n, wrong; wrong != "" {
			return
		}
		if r.side == nil {
			r.side = sideFiles{}
		}
		r.side[n] = data
	})
	return name, problem
}

// of is what attach takes, for contents that are here.
func (s sideFiles) of(name string, length int) ([]byte, string) {
	data, ok := s[name]
	if !ok || len(data) != length {
		return nil, "it is missing"
	}
	return data, ""
}

// attach gives the runs their side files, from the folder beside path; none is there for "".
func (p *parsed) attach(path string, lim limits) error {
	var total int
	read := func(name string, length int) ([]byte, string) {
		if data, ok := p.side[name]; ok {
			return p.side.of(name, len(data))
		}
		if total += length; total > lim.SideFiles {
			return nil, fmt.Sprintf("the side files are larger than %d bytes", lim.SideFiles)
		}
		if path == "" {
			return nil, "a cassette in memory has none"
		}
		data, problem := readSide(filepath.Join(sideDir(path), name), name, length)
		if problem == "" {
			if p.side == nil {
				p.side = sideFiles{}
			}
			p.side[name] = data
		}
		return data, problem
	}
	for i := range p.runs {
		if name, problem := p.runs[i].attach(read); problem != "" {
			return &SideFileError{Path: path, Name: name, Run: i + 1, Line: p.runs[i].line, Reason: problem}
		}
	}
	return nil
}

// readSide reads one side file, and sees whether it is what its name says. It follows no link.
func readSide(path, name string, length int) (data []byte, problem string) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "it is missing"
	case err != nil:
		return nil, "it cannot be looked at"
	case !info.Mode().IsRegular():
		return nil, "it is not a regular file"
	case info.Size() != int64(length):
		return nil, "it was altered: its length is another"
	}
	if data, err = os.ReadFile(path); err != nil {
		return nil, "it cannot be read"
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != name {
		return nil, "it was altered: its content is another"
	}
	return data, ""
}

// sideDir is the folder of a cassette's side files.
func sideDir(path string) string { return strings.TrimSuffix(path, ".cassette") + ".blobs" }

// usedSide are the names of the side files that the runs have.
func (p *parsed) usedSide() (names []string) {
	for i := range p.runs {
		p.runs[i].eachSide(func(name string, _ int) { names = append(names, name) })
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// trimSide drops the contents that no run has, and returns how long the others are.
func (p *parsed) trimSide() (total int) {
	used := p.usedSide()
	maps.DeleteFunc(p.side, func(name string, _ []byte) bool { return !slices.Contains(used, name) })
	for _, data := range p.side {
		total += len(data)
	}
	return total
}

// hasSideDir reports whether a cassette may have side files.
func hasSideDir(path string) bool {
	_, err := os.Lstat(sideDir(path))
	return err == nil
}

// saveSide sees the side files of p onto the disk. It is called before the cassette that names them is there.
func (t *target) saveSide(p *parsed) error {
	names := p.usedSide()
	if len(names) == 0 {
		return nil
	}
	dir := sideDir(t.path)
	switch err := os.Mkdir(dir, 0o700); {
	case err == nil:
		if err := syncDir(filepath.Dir(dir)); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrExist):
		return err
	}
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("%w: %q is no folder for side files", ErrNotRegular, dir)
	}
	for _, name := range names {
		data, ok := p.side[name]
		if !ok {
			return &SideFileError{Path: t.path, Name: name, Reason: "it is missing"}
		}
		path := filepath.Join(dir, name)
		if _, problem := readSide(path, name, len(data)); problem == "" {
			continue
		}
		// The lock of the cassette makes these names ours.
		temp := filepath.Join(dir, "."+name+".tmp")
		err := writeNew(temp, [][]byte{data}, nil)
		if err == nil {
			err = rename(temp, path)
		}
		if err != nil {
			_ = os.Remove(temp)
			return err
		}
	}
	return syncDir(dir)
}

// dropSide removes the side files that the old cassette had and the new one has not. What else is in the folder is left for lint to
// tell and prune to remove.
func (t *target) dropSide(old, p *parsed) {
	used := p.usedSide()
	for _, name := range old.usedSide() {
		if !slices.Contains(used, name) {
			_ = os.Remove(filepath.Join(sideDir(t.path), name))
		}
	}
	_ = os.Remove(sideDir(t.path)) // if nothing is left in it
}

// SideFiles are the files in the folder of a cassette's side files: those that it uses, and those that it does not. A cassette that is not
// there uses none. Their contents are not looked at. Orphaned are also the temporary file and the lock beside the cassette, which a
// recording that was cut short leaves, and one that goes on has: [RemoveOrphans] tells the two apart.
func SideFiles(path string) (used, orphaned []string, err error) {
	entries, err := os.ReadDir(sideDir(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("cassette: %w", err)
	}
	var names []string
	if len(entries) > 0 {
		data, err := readFile(path, defaultLimits)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, nil, err
		default:
			p, err := parse(data, defaultLimits, unsealed)
			if err != nil {
				return nil, nil, at(path, err)
			}
			names = p.usedSide()
		}
	}
	for _, e := range entries {
		file := filepath.Join(sideDir(path), e.Name())
		if slices.Contains(names, e.Name()) {
			used = append(used, file)
		} else {
			orphaned = append(orphaned, file)
		}
	}
	for _, kind := range siblings {
		file := (&target{path: path}).sibling(kind)
		if _, err := os.Lstat(file); err == nil {
			orphaned = append(orphaned, file)
		}
	}
	return used, orphaned, nil
}

// RemoveOrphans removes what [SideFiles] calls orphaned, and the folder if nothing is left in it. It holds the lock of the cassette
// meanwhile: what somebody is recording right now is not taken for a leftover, but is a [*LockedError].
func RemoveOrphans(path string) (err error) {
	t, err := lockTarget(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.unlock()) }() // which removes the lock
	_, orphaned, err := SideFiles(t.path)
	if err != nil {
		return err
	}
	for _, file := range orphaned {
		if file == t.sibling(siblingLock) {
			continue
		}
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("cassette: %w", err)
		}
	}
	_ = os.Remove(sideDir(t.path))
	return nil
}
