package cassette

import (
	"errors"
	"fmt"
	"strings"
)

// The questions that callers ask of this package's errors, for [errors.Is].
var (
	// ErrMiss: a call that the cassette has no run for. The error is a [*MissError]. It never matches [exec.ErrNotFound],
	// [fs.ErrNotExist] or runner.ErrNotFound: code that asks whether a program is installed must not take a miss for no.
	ErrMiss = errors.New("cassette: no recorded run for this call")
	// ErrCorrupt: the file is not a cassette, or a broken one. The error is a [*CorruptError]. A corrupt file is never
	// treated as a missing one, and never recorded over.
	ErrCorrupt = errors.New("cassette: corrupt")
	// ErrChecksum: the file reads well and its checksum does not fit: it was edited or merged by hand. Such an error
	// matches [ErrCorrupt] too, and [Reseal] accepts the file.
	ErrChecksum = errors.New("cassette: checksum does not fit")
	// ErrVersion: the file is of a version that this reader does not know. The error is a [*VersionError].
	ErrVersion = errors.New("cassette: unknown version")
	// ErrTooLarge: a file, a run, a line or an input is larger than a cassette may be. On reading the error is a
	// [*CorruptError]; for a run that cannot be saved it is a [*RecordError].
	ErrTooLarge = errors.New("cassette: too large")
	// ErrMode: the mode asked for does not exist, is forbidden in code, or writes where CI is set. The error is a
	// [*ModeError].
	ErrMode = errors.New("cassette: mode refused")
	// ErrLocked: somebody else is recording to the same file. The error is a [*LockedError].
	ErrLocked = errors.New("cassette: somebody else is recording to this file")
	// ErrNotRegular: the path is a symbolic link, or no file at all, and is not written through.
	ErrNotRegular = errors.New("cassette: not a regular file")
	// ErrOpenRun: a run was still going when the recording was saved. The error is a [*RecordError].
	ErrOpenRun = errors.New("cassette: run is not over")
	// ErrToken: a token of the cassette has no live value, or two tokens cannot be told apart.
	ErrToken = errors.New("cassette: token without a usable value")
	// ErrClosed: the recorder or player is closed.
	ErrClosed = errors.New("cassette: closed")
)

// CorruptError says where a cassette is broken. It shows nothing of the file's content.
type CorruptError struct {
	// Path is the file, "" when it was parsed from memory.
	Path string
	// Line counts from 1; 0 means the file as a whole.
	Line int
	// Reason says what is wrong, in one line.
	Reason string
	// Err is the further question that the error answers: ErrChecksum, ErrTooLarge, or nil.
	Err error
}

// Error implements error.
func (e *CorruptError) Error() string {
	var b strings.Builder
	b.WriteString("cassette: ")
	if e.Path != "" {
		fmt.Fprintf(&b, "%q: ", e.Path)
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", e.Line)
	}
	b.WriteString(e.Reason)
	return b.String()
}

// Is makes the error match [ErrCorrupt].
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Unwrap gives the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

// VersionError reports a cassette that a later boombox wrote.
type VersionError struct {
	// Path is the file, "" when it was parsed from memory.
	Path string
	// Version is what the first line says.
	Version int
}

// Error implements error.
func (e *VersionError) Error() string {
	where := ""
	if e.Path != "" {
		where = fmt.Sprintf("%q ", e.Path)
	}
	return fmt.Sprintf("cassette: %sis of version %d, and this reader knows versions up to %d", where, e.Version, Version)
}

// Is makes the error match [ErrVersion].
func (e *VersionError) Is(target error) bool { return target == ErrVersion }
