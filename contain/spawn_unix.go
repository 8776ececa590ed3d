//go:build unix

package contain

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// How long a busy program file is tried again, and how often.
const (
	busyBound = 250 * time.Millisecond
	busyPace  = time.Millisecond
)

// inheritedBound is the descriptor below which [highestInherited] looks.
const inheritedBound = 1024

// highestInherited is the highest descriptor above standard error that a child of ours would inherit: one that this
// program itself was started with, because Go opens all others close-on-exec. It is looked up once. Making these
// descriptors close-on-exec would break whoever in this program means to hand them on, to a successor say.
var highestInherited = sync.OnceValue(func() int {
	for fd := inheritedBound - 1; fd > 2; fd-- {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			return fd
		}
	}
	return 0
})

// inSession says which process group and session the child is to lead. The leader of a session leads a process group, too.
func (s Spec) inSession(attr *syscall.SysProcAttr) {
	attr.Setsid = s.NewSession || s.Terminal
	attr.Setpgid = !attr.Setsid
	attr.Setctty, attr.Ctty = s.Terminal, 0
}

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
	for len(proc.Files) <= highestInherited() {
		proc.Files = append(proc.Files, ^uintptr(0)) // closed in the child
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
