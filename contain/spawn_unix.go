//go:build unix

package contain

import (
	"context"
	"errors"
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
