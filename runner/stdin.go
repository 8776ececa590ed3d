package runner

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync/atomic"
)

// Stdin says what a child reads. It is a value, and sealed: no printer shows the content or a path. The zero value is
// closed: the child reads end of file at once. A child that ends without reading its input is never an error.
//
//	cmd.Stdin = runner.StdinString("select 1;")
//	cmd.Stdin = runner.StdinLines("first", "second")
//	cmd.Stdin = runner.StdinPipe() // and then p.Stdin().Write, p.Stdin().Close
type Stdin struct {
	open func() *stdinSource
}

// StdinKind tells the sources apart.
type StdinKind int

// The kinds of standard input.
const (
	StdinClosed      StdinKind = iota // the null device
	StdinBytes                        // bytes held in memory
	StdinFile                         // a file, opened anew at each start
	StdinReader                       // a reader, used once: a second start with it is an error
	StdinInherit                      // our own standard input
	StdinInteractive                  // a pipe, written while the child runs
)

// String is the kind in one word.
func (k StdinKind) String() string {
	names := [...]string{"closed", "bytes", "file", "reader", "inherited", "interactive"}
	if k < 0 || int(k) >= len(names) {
		return "unknown"
	}
	return names[k]
}

type stdinSource struct {
	kind   StdinKind
	data   []byte
	path   string
	reader io.Reader
	// taken is set by the one start, or Open, that uses the reader.
	taken atomic.Bool
}

func (s *stdinSource) seal() Stdin { return Stdin{open: func() *stdinSource { return s }} }

// closedStdin stands for the zero Stdin.
var closedStdin = &stdinSource{}

func (s Stdin) source() *stdinSource {
	if s.open == nil {
		return closedStdin
	}
	return s.open()
}

// StdinOf feeds a copy of b.
func StdinOf(b []byte) Stdin { return (&stdinSource{kind: StdinBytes, data: bytes.Clone(b)}).seal() }

// StdinString feeds s.
func StdinString(s string) Stdin { return (&stdinSource{kind: StdinBytes, data: []byte(s)}).seal() }

// StdinLines feeds lines, with a newline after each.
func StdinLines(lines ...string) Stdin {
	var text []byte
	for _, line := range lines {
		text = append(append(text, line...), '\n')
	}
	return (&stdinSource{kind: StdinBytes, data: text}).seal()
}

// StdinFrom feeds a file, which is opened at each start and handed to the child as it is. A relative path is relative
// to our own working directory. A file that cannot be opened is a [*StartError] of kind [StartBadStdin].
func StdinFrom(path string) Stdin { return (&stdinSource{kind: StdinFile, path: path}).seal() }

// StdinStream feeds what r gives until io.EOF. It can be started once; a second start is an [*InvalidError]. A child
// that stops reading is not an error; an error or a panic of r is told by [Result.StdinErr].
//
// r is read by a goroutine of the run, ahead of what the child takes. Nothing can interrupt a Read of r: one that is
// blocked when the run is over keeps that goroutine until it returns, and what it then gives is lost.
func StdinStream(r io.Reader) Stdin { return (&stdinSource{kind: StdinReader, reader: r}).seal() }

// InheritStdin hands our own standard input to the child.
func InheritStdin() Stdin { return (&stdinSource{kind: StdinInherit}).seal() }

// StdinPipe keeps the child's input open for whoever writes to [Process.Stdin] while it runs. Each start has a pipe of its
// own. The verbs that keep their Process to themselves, such as [Run], close it at once, since nobody can write to it.
func StdinPipe() Stdin { return (&stdinSource{kind: StdinInteractive}).seal() }

// Kind tells which source s is.
func (s Stdin) Kind() StdinKind { return s.source().kind }

// Open reads the content for whoever must see it, such as a recorder. A reader's content is taken: Open and a start
// exclude each other. Closed input reads as empty; inherited and interactive input cannot be opened.
func (s Stdin) Open() (io.ReadCloser, error) {
	src := s.source()
	switch src.kind {
	case StdinBytes:
		return io.NopCloser(bytes.NewReader(src.data)), nil
	case StdinFile:
		f, err := os.Open(src.path)
		if err != nil {
			return nil, bare(err)
		}
		return f, nil
	case StdinReader:
		if !src.claim() {
			return nil, errStdinSpent
		}
		return io.NopCloser(src.reader), nil
	case StdinInherit:
		return nil, errStdinInherited
	case StdinInteractive:
		return nil, errStdinInteractive
	default:
		return io.NopCloser(bytes.NewReader(nil)), nil
	}
}

var (
	errStdinSpent       = errors.New("runner: the reader of standard input was used before")
	errStdinInherited   = errors.New("runner: inherited standard input cannot be opened")
	errStdinInteractive = errors.New("runner: interactive standard input cannot be opened, it is written while the child runs")
)

// claim takes the source for one start. Only a reader can be taken but once.
func (s *stdinSource) claim() bool {
	return s.kind != StdinReader || s.taken.CompareAndSwap(false, true)
}

// release gives back what claim took, when nothing of it was read.
func (s *stdinSource) release() { s.taken.Store(false) }

// spent reports whether a start would find the reader taken.
func (s Stdin) spent() bool { return s.source().taken.Load() }

// describe is what the printers show.
func (s Stdin) describe() string { return s.Kind().String() + " stdin" }

// once reports whether the content is gone when a start has used it.
func (s Stdin) once() bool { return s.Kind() == StdinReader }
