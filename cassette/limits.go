package cassette

import "fmt"

// The caps of version 1. They bound what a file from somebody else can cost; a recording that passes one is refused
// when it is saved. [WithLimits] sets others.
const (
	// MaxFile is the most bytes of a file, and of all of its side files together.
	MaxFile = 256 << 20
	// MaxRun is the most bytes that one run takes in the file.
	MaxRun = 64 << 20
	// MaxLine is the most bytes of one line.
	MaxLine = 1 << 20
	// MaxRuns is the most runs of a file.
	MaxRuns = 100_000
)

// Limits are the caps on a cassette, in bytes but for Runs. A field that is 0 is the cap of the format: [MaxFile] for File and SideFiles, [MaxRun],
// [MaxLine] and [MaxRuns] for the others.
type Limits struct {
	// File caps the file, Run what one run takes in it, Line one line of it.
	File, Run, Line int
	// Runs caps their number.
	Runs int
	// SideFiles caps the side files of a cassette, together.
	SideFiles int
}

// WithLimits lowers, or raises, the caps: on reading, what passes one is a [*CorruptError] that matches [ErrTooLarge] ([*SideFileError] for side
// files), and on saving a [*RecordError] or an error that matches [ErrTooLarge]. By default they are those of the format. A negative one is an
// error. A file beyond the caps of the format is read by nobody who has not raised theirs.
func WithLimits(l Limits) Option {
	return func(o *options) error {
		for _, n := range []int{l.File, l.Run, l.Line, l.Runs, l.SideFiles} {
			if n < 0 {
				return fmt.Errorf("%w: a limit of %d", ErrTooLarge, n)
			}
		}
		o.limits = limits(l).orDefault()
		return nil
	}
}

// limits are the caps as the parser gets them.
type limits Limits

var defaultLimits = limits{}.orDefault()

func (l limits) orDefault() limits {
	for _, f := range []struct {
		field *int
		most  int
	}{{&l.File, MaxFile}, {&l.Run, MaxRun}, {&l.Line, MaxLine}, {&l.Runs, MaxRuns}, {&l.SideFiles, MaxFile}} {
		if *f.field == 0 {
			*f.field = f.most
		}
	}
	return l
}
