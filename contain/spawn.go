package contain

import (
	"errors"
	"os"
	"syscall"
)

// descriptors lists the files that become descriptors 0, 1, 2 and so on, and the null device among them, if it is
// needed.
func (s Spec) descriptors() (files []*os.File, null *os.File, err error) {
	defer func() {
		if err != nil && null != nil {
			_ = null.Close()
		}
	}()
	files = append([]*os.File{s.Stdin, s.Stdout, s.Stderr}, s.Files...)
	for i, f := range files {
		if f != nil {
			if f.Fd() == ^uintptr(0) {
				return nil, null, syscall.EBADF // closed, and on unix it would close the child's
			}
			continue
		}
		if null == nil {
			if null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
				return nil, nil, err
			}
		}
		files[i] = null
	}
	return files, null, nil
}

// startError names the step that failed. The system reports chdir and exec alike.
func (s Spec) startError(err error) error {
	step := StepExec
	if s.Dir != "" {
		if dir, openErr := os.Open(s.Dir); openErr != nil {
			if bare(openErr) == bare(err) {
				step = StepDir
			}
		} else {
			if info, statErr := dir.Stat(); statErr == nil && !info.IsDir() && bare(err) == syscall.ENOTDIR {
				step = StepDir
			}
			_ = dir.Close()
		}
	}
	return &StartError{Step: step, Err: bare(err)}
}

// bare takes the error number out of an error that may name a path.
func bare(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return err
}
