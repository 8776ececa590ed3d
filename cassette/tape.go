package cassette

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/boombox-go/boombox/internal/plaintext"
)

// Tape is what a cassette file holds. It is immutable and safe for concurrent use. It keeps the text of the file and
// an index; streams are decoded when a [Run] is asked for them. Printers show counts alone.
type Tape struct {
	printer
	// A closure, since printers walk fields and would show the text.
	state func() *parsed
}

func newTape(p *parsed) *Tape { return &Tape{printer{p.describe}, func() *parsed { return p }} }

// Parse reads a cassette from memory: all of it is checked, or refused with a [*CorruptError] that names the line, or a
// [*VersionError]. One with side files needs [ParseAt].
func Parse(data []byte) (*Tape, error) {
	return ParseAt(data, "")
}

// ParseAt is [Parse] for what stands, or is going to stand, in the file at path: its side files are read from the folder beside it. The
// file itself is not.
func ParseAt(data []byte, path string) (*Tape, error) {
	p, err := parse(bytes.Clone(data), defaultLimits, mustFit)
	if err == nil {
		err = p.attach(path, defaultLimits)
	}
	if err != nil {
		return nil, err
	}
	return newTape(p), nil
}

// Load reads a cassette file and its side files. Their modes do not matter: a checkout keeps none. A missing file is an error that matches
// [fs.ErrNotExist]; a corrupt or unreadable one never is, and a missing or altered side file is a [*SideFileError]. [WithLimits] applies.
func Load(path string, opts ...Option) (*Tape, error) {
	o, err := gather(opts)
	if err != nil {
		return nil, err
	}
	p, err := load(path, o.limits)
	if err != nil {
		return nil, err
	}
	return newTape(p), nil
}

func load(path string, lim limits) (*parsed, error) {
	data, err := readFile(path, lim)
	if err != nil {
		return nil, err
	}
	p, err := parse(data, lim, mustFit)
	if err == nil {
		err = p.attach(path, lim)
	}
	if err != nil {
		return nil, at(path, err)
	}
	p.path = path
	return p, nil
}

// loadToPlay is load for a player: a large file may be skimmed, and the rest of its check is under way.
func loadToPlay(path string, lim limits) (*parsed, *inspection, error) {
	data, err := readFile(path, lim)
	if err != nil {
		return nil, nil, err
	}
	if len(data) >= skimmedFrom && !hasSideDir(path) {
		if p := skim(data, lim); p != nil {
			p.path = path
			return p, inspect(path, data, lim), nil
		}
	}
	p, err := parse(data, lim, mustFit)
	if err == nil {
		err = p.attach(path, lim)
	}
	if err != nil {
		return nil, nil, at(path, err)
	}
	p.path = path
	return p, nil, nil
}

// readFile reads a regular file of bounded size. Opening goes through package os, so that the test cache of the go
// command knows about the file.
func readFile(path string, lim limits) ([]byte, error) {
	info, err := os.Stat(path) // before it is opened: opening a pipe can block for ever
	switch {
	case err != nil:
		return nil, fmt.Errorf("cassette: %w", err)
	case !info.Mode().IsRegular():
		return nil, &CorruptError{Path: path, Reason: "not a regular file", Err: ErrNotRegular}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cassette: %w", err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, fmt.Errorf("cassette: %w", err)
	}
	if info.Size() > int64(lim.File) {
		return nil, at(path, tooLarge(0, "file", lim.File))
	}
	data := make([]byte, info.Size())
	half := len(data) / 2
	var late error
	wait := aside(len(data), func() { late = readAt(f, data[half:], half) })
	err = readAt(f, data[:half], 0)
	wait()
	if err = cmp.Or(err, late); err != nil {
		return nil, fmt.Errorf("cassette: reading %q: %w", path, err)
	}
	return data, nil
}

func readAt(f *os.File, data []byte, from int) error {
	_, err := io.ReadFull(io.NewSectionReader(f, int64(from), int64(len(data))), data)
	if len(data) == 0 {
		return nil
	}
	return err
}

// at puts the path into an error of parse.
func at(path string, err error) error {
	var corrupt *CorruptError
	var version *VersionError
	switch {
	case errors.As(err, &corrupt):
		corrupt.Path = path
	case errors.As(err, &version):
		version.Path = path
	}
	return err
}

// Reseal returns the cassette in data with a trailer that fits. It is for files that were edited or merged by hand, and
// for ones written by hand, which may lack the trailer. Everything else must read well.
func Reseal(data []byte) ([]byte, error) {
	p, err := parse(bytes.Clone(data), defaultLimits, unsealed)
	if err != nil {
		return nil, err
	}
	return p.marshal(), nil
}

// Len is how many runs there are.
func (t *Tape) Len() int { return len(t.state().runs) }

// Runs are the runs, in the order in which they were started.
func (t *Tape) Runs() []*Run {
	p := t.state()
	runs := make([]*Run, len(p.runs))
	for i := range p.runs {
		runs[i] = newRun(&p.runs[i], i+1)
	}
	return runs
}

// Tokens are the tokens that the cassette uses, such as "tmp:1"; see [WithToken].
func (t *Tape) Tokens() []string {
	var names []string
	for _, token := range t.state().tokens {
		names = append(names, token.bare())
	}
	return names
}

// Marshal returns the file, without its side files, which [Tape.Save] writes.
func (t *Tape) Marshal() []byte { return t.state().marshal() }

// WriteTo writes the file to w.
func (t *Tape) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(t.Marshal())
	return int64(n), err
}

// Checksum is the sha256 checksum of the file's trailer, in hexadecimal.
func (t *Tape) Checksum() string {
	sum := sha256.Sum256(t.state().body(nil))
	return fmt.Sprintf("%x", sum)
}

// body appends the file without its trailer.
func (p *parsed) body(dst []byte) []byte {
	dst = append(dst, p.header...)
	for i := range p.runs {
		dst = append(dst, p.runs[i].text...)
	}
	return dst
}

// pieces are the file without its trailer, in one piece when it was read as it is.
func (p *parsed) pieces() [][]byte {
	if p.raw != nil {
		return [][]byte{p.raw}
	}
	list := [][]byte{p.header}
	for i := range p.runs {
		list = append(list, p.runs[i].text)
	}
	return list
}

// seal is the last line of the file that pieces begin.
func (p *parsed) seal(pieces [][]byte) []byte {
	if p.raw != nil && p.last != nil {
		return p.last
	}
	h := sha256.New()
	for _, piece := range pieces {
		h.Write(piece)
	}
	return trailerOf(len(p.runs), h.Sum(nil))
}

// sizeOf is the size of the whole file.
func (p *parsed) sizeOf(pieces [][]byte) int {
	n := len(trailerOf(len(p.runs), make([]byte, sha256.Size)))
	for _, piece := range pieces {
		n += len(piece)
	}
	return n
}

// equalPieces reports whether the pieces, one behind the other, are data.
func equalPieces(data []byte, pieces [][]byte) bool {
	for _, piece := range pieces {
		if !bytes.HasPrefix(data, piece) {
			return false
		}
		data = data[len(piece):]
	}
	return len(data) == 0
}

func (p *parsed) marshal() []byte {
	file := p.body(make([]byte, 0, p.size+128))
	return append(file, p.seal([][]byte{file})...)
}

// describe is what printers show: nothing of the content.
func (p *parsed) describe() string {
	return fmt.Sprintf("cassette of %s, %s", plaintext.Count(len(p.runs), "run"), plaintext.Count(p.size, "byte"))
}
