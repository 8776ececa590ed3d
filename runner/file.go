package runner

import (
	"errors"
	"fmt"
	"os"
)

// ErrFile: the file of an output stream could not be written. The error is a [*FileError].
var ErrFile = errors.New("runner: output file could not be written")

// FileError reports that the file of an output stream could not be written: the disk is full, say. The run was ended
// for it.
type FileError struct {
	// Program is the base name of the program.
	Program string
	Stream  StreamID
	// Err is the system's refusal, such as ENOSPC, without the path.
	Err error
}

// Error implements error.
func (e *FileError) Error() string {
	return fmt.Sprintf("runner: output file for %s of %q: %s", e.Stream, plain(e.Program), plain(e.Err.Error()))
}

// Is makes the error match [ErrFile].
func (e *FileError) Is(target error) bool { return target == ErrFile }

// Unwrap gives the system's refusal.
func (e *FileError) Unwrap() error { return e.Err }

// OutputFile names a file that a stream is written to; the zero value is none. It is sealed: no printer shows the path.
type OutputFile struct {
	// open opens it. remove undoes that for a run that never started; it is nil where nothing was made.
	open func() (f *os.File, remove func(), err error)
}

// NewFile is a file that is made for the run, readable by us alone (mode 0600). One that exists already, as a link too,
// refuses the start. A relative path is relative to our own working directory.
func NewFile(path string) OutputFile {
	return OutputFile{open: func() (*os.File, func(), error) {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		return f, func() { _ = os.Remove(path) }, err
	}}
}

// AppendFile is a file that the run's output is appended to. It is made with mode 0600 if it does not exist; what is no
// regular file, a link included, refuses the start.
func AppendFile(path string) OutputFile {
	return OutputFile{open: func() (*os.File, func(), error) {
		// Opening a named pipe for writing would wait for its reader.
		if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
			return nil, nil, errNotRegular
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		return f, nil, err
	}}
}

var errNotRegular = errors.New("not a regular file")

// outputFiles are the open files of both streams; where there is none, file is nil.
type outputFiles [2]struct {
	file   *os.File
	remove func()
}

// openFiles opens the files of cmd.
func openFiles(cmd *Cmd) (files outputFiles, err error) {
	for id, f := range [...]OutputFile{Stdout: cmd.Output.Stdout.File, Stderr: cmd.Output.Stderr.File} {
		if f.open == nil {
			continue
		}
		if files[id].file, files[id].remove, err = f.open(); err != nil {
			files[id].file = nil
			files.undo()
			return outputFiles{}, &StartError{Program: cmd.Program(), Kind: StartBadOutput, Err: bare(err)}
		}
	}
	return files, nil
}

// undo closes the files, and removes those that were made.
func (files *outputFiles) undo() {
	for _, f := range files {
		if f.file == nil {
			continue
		}
		_ = f.file.Close()
		if f.remove != nil {
			f.remove()
		}
	}
}

// fileWriter writes what is kept of one stream to its file, and stops at the first error. The zero value writes nothing.
type fileWriter struct {
	program string
	id      StreamID
	file    *os.File
}

// write writes b. Its error comes once.
func (w *fileWriter) write(b []byte) error {
	if w.file == nil || len(b) == 0 {
		return nil
	}
	_, err := w.file.Write(b)
	if err == nil {
		return nil
	}
	_ = w.file.Close()
	w.file = nil
	return w.failed(err)
}

// close closes the file, whose system may tell only then that it is not whole.
func (w *fileWriter) close() error {
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	if err == nil {
		return nil
	}
	return w.failed(err)
}

func (w *fileWriter) failed(err error) error {
	return &FileError{Program: w.program, Stream: w.id, Err: bare(err)}
}
