//go:build unix

package contain

import (
	"context"
	"errors"
	"os"
	"runtime"
	"syscall"
	"time"
)

// How long a busy program file is tried again, and how often.
const (
	busyBound = 250 * time.Millisecond
	busyPace  = time.Millisecond
)

// fork starts spec with attr. It retries a busy program file: a descriptor that was open for writing when another
// thread forked stays open in that child until its exec (golang/go 22315).
func fork(ctx context.Context, spec Spec, attr *syscall.SysProcAttr) (pid int, err error) {
	files, null, err := spec.descriptors()
	if err != nil {
		return 0, &StartError{Step: StepExec, Err: bare(err)}
	}
	if null != nil {
		defer func() { _ = null.Close() }()
	}
	proc := &syscall.ProcAttr{Dir: spec.Dir, Env: spec.Env.Reveal(), Sys: attr}
	if proc.Env == nil {
		proc.Env = []string{}
	}
	for _, f := range files {
		proc.Files = append(proc.Files, f.Fd())
	}
	argv := spec.Argv.Reveal()
	for began := time.Now(); ; {
		pid, _, err = syscall.StartProcess(spec.Path, argv, proc)
		if !errors.Is(err, syscall.ETXTBSY) || ctx.Err() != nil || time.Since(began) > busyBound {
			break
		}
		time.Sleep(busyPace)
	}
	runtime.KeepAlive(files)
	if err != nil {
		return 0, spec.startError(err)
	}
	return pid, nil
}

// descriptors lists the files that become descriptors 0, 1, 2 and so on, and the null device among them, if it is
// needed.
func (s Spec) descriptors() (files []*os.File, null *os.File, err error) {
	files = append([]*os.File{s.Stdin, s.Stdout, s.Stderr}, s.Files...)
	for i, f := range files {
		if f != nil {
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
