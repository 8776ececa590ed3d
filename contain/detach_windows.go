package contain

import (
	"context"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

func detach(_ context.Context, spec Spec) (Member, error) {
	if len(spec.Files) > 0 || spec.NewSession {
		return Member{}, &StartError{Step: StepConfine, Err: spec.Unsupported()}
	}
	files, null, err := spec.descriptors()
	if err != nil {
		return Member{}, &StartError{Step: StepExec, Err: bare(err)}
	}
	if null != nil {
		defer func() { _ = null.Close() }()
	}
	p, err := os.StartProcess(spec.Path, spec.Argv.Reveal(), &os.ProcAttr{
		Dir: spec.Dir, Env: spec.Env.Reveal(), Files: files,
		Sys: &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS},
	})
	if err != nil {
		return Member{}, spec.startError(err)
	}
	m := Member{PID: p.Pid, Parent: os.Getpid()}
	_ = p.Release()
	return m, nil
}
