package runner

import "io"

// Stdin says what a child reads. It is a value, and sealed. The zero value is closed: the child reads end of file at
// once.
type Stdin struct{}

// StdinKind tells the sources apart.
type StdinKind int

// The kinds of standard input.
const (
	StdinClosed  StdinKind = iota // the null device
	StdinBytes                    // bytes held in memory
	StdinFile                     // a file, opened anew at each start
	StdinReader                   // a reader, used once: a second start with it is an error
	StdinInherit                  // our own standard input
)

// StdinOf feeds a copy of b.
func StdinOf(b []byte) Stdin { panic("unbuilt") }

// StdinString feeds s.
func StdinString(s string) Stdin { panic("unbuilt") }

// StdinFrom feeds a file, which is opened at each start and handed to the child as it is.
func StdinFrom(path string) Stdin { panic("unbuilt") }

// StdinStream feeds what r gives until io.EOF. It can be started once. A child that stops reading is not an error; an
// error of r is told by [Result.StdinErr].
func StdinStream(r io.Reader) Stdin { panic("unbuilt") }

// InheritStdin hands our own standard input to the child.
func InheritStdin() Stdin { panic("unbuilt") }

// Kind tells which source s is.
func (s Stdin) Kind() StdinKind { panic("unbuilt") }

// Open reads the content for whoever must see it, such as a recorder. A reader's content is taken: Open and a start
// exclude each other. Closed input reads as empty; inherited input cannot be opened.
func (s Stdin) Open() (io.ReadCloser, error) { panic("unbuilt") }
