package contain

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

func mechanisms() []mechanism { return []mechanism{jobObject{}} }

// jobObject holds each tree in a job object of its own, that allows no breakaway and dies with its last handle.
//
// A child is created suspended, assigned, and then resumed, so that nothing of it runs outside of the job. If this
// process dies between the creation and the assignment, it leaves a suspended process behind.
//
// Not verified: it compiles, and has not run on Windows.
type jobObject struct{}

func (jobObject) probe() Rung {
	r := Rung{Mechanism: JobObject, Guarantees: KillTree | KillForkBomb | KillOnOwnerDeath, Available: true}
	job, err := newJob()
	if err != nil {
		r.Available, r.Reason, r.Err = false, "no job object can be made: "+bare(err).Error(), bare(err)
		return r
	}
	_ = windows.CloseHandle(job)
	return r
}

func (jobObject) open(opts Options) (place, error) {
	if refused := opts.Limits.unenforceable("the caps of a job object are not built yet"); refused != nil {
		return nil, refused
	}
	if opts.Parent != "" {
		return nil, errors.New("it is not held by a cgroup")
	}
	return jobObjectPlace{}, nil
}

func newJob() (windows.Handle, error) {
	// No security attributes: an inherited job handle would keep the job from dying with us.
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	// Without DIE_ON_UNHANDLED_EXCEPTION a crashed child waits in an error dialog.
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE |
		windows.JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		_ = windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

type jobObjectPlace struct{}

func (jobObjectPlace) doom() {}

func (jobObjectPlace) remove(time.Time) error { return nil }

func (jobObjectPlace) start(_ context.Context, spec Spec) (tree, error) {
	job, err := newJob()
	if err != nil {
		return nil, &StartError{Step: StepTree, Err: bare(err)}
	}
	t := &jobObjectTree{job: job}
	if t.leader, err = spawnInto(job, spec); err != nil {
		_ = windows.CloseHandle(job)
		return nil, err
	}
	return t, nil
}

var ntResumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

// spawnInto starts spec suspended, assigns it to the job, and lets it go.
func spawnInto(job windows.Handle, spec Spec) (*leader, error) {
	files, null, err := spec.descriptors()
	if err != nil {
		return nil, &StartError{Step: StepExec, Err: bare(err)}
	}
	if null != nil {
		defer func() { _ = null.Close() }()
	}
	proc := &syscall.ProcAttr{
		Dir: spec.Dir, Env: spec.Env.Reveal(),
		Sys: &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP},
	}
	for _, f := range files {
		proc.Files = append(proc.Files, f.Fd())
	}
	pid, handle, err := syscall.StartProcess(spec.Path, spec.Argv.Reveal(), proc)
	runtime.KeepAlive(files)
	if err != nil {
		return nil, spec.startError(err)
	}
	process := windows.Handle(handle)
	err = windows.AssignProcessToJobObject(job, process)
	if err == nil {
		if status, _, _ := ntResumeProcess.Call(handle); status != 0 {
			err = windows.NTStatus(status)
		}
	}
	if err != nil {
		_ = windows.TerminateProcess(process, 1)
		_ = windows.CloseHandle(process)
		return nil, &StartError{Step: StepTree, Err: err}
	}
	return watchLeader(pid, process), nil
}

type jobObjectTree struct {
	leader *leader

	mu  sync.Mutex
	job windows.Handle // 0 when closed
}

func (t *jobObjectTree) first() firstProcess { return t.leader }

func (t *jobObjectTree) withJob(f func(job windows.Handle) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.job == 0 {
		return os.ErrProcessDone
	}
	return f(t.job)
}

func (t *jobObjectTree) strike() error {
	err := t.withJob(func(job windows.Handle) error { return windows.TerminateJobObject(job, 1) })
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// jobAccounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type jobAccounting struct {
	TotalUserTime, TotalKernelTime, ThisPeriodTotalUserTime, ThisPeriodTotalKernelTime int64
	TotalPageFaultCount, TotalProcesses, ActiveProcesses, TotalTerminatedProcesses     uint32
}

func (t *jobObjectTree) empty() (empty bool, err error) {
	err = t.withJob(func(job windows.Handle) error {
		var info jobAccounting
		err := windows.QueryInformationJobObject(job, windows.JobObjectBasicAccountingInformation,
			uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
		empty = err == nil && info.ActiveProcesses == 0
		return err
	})
	if errors.Is(err, os.ErrProcessDone) {
		return true, nil
	}
	return empty, err
}

// jobProcesses is JOBOBJECT_BASIC_PROCESS_ID_LIST with room for a number of ids.
type jobProcesses struct {
	Assigned, Listed uint32
	IDs              [4096]uintptr
}

func (t *jobObjectTree) members() (members []Member, err error) {
	err = t.withJob(func(job windows.Handle) error {
		var info jobProcesses
		err := windows.QueryInformationJobObject(job, windows.JobObjectBasicProcessIdList,
			uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
		if err != nil && !errors.Is(err, windows.ERROR_MORE_DATA) {
			return err
		}
		for _, id := range info.IDs[:min(int(info.Listed), len(info.IDs))] {
			members = append(members, Member{PID: int(id)})
		}
		return nil
	})
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	return members, err
}

// signal knows SIGKILL alone: Windows has no signals.
func (t *jobObjectTree) signal(sig syscall.Signal) (tally, error) {
	if sig == syscall.SIGKILL {
		return tally{sent: -1}, t.strike()
	}
	return tally{}, syscall.EWINDOWS
}

func (t *jobObjectTree) end(deadline time.Time) error {
	if err := drain(t, deadline); err != nil {
		return err
	}
	if err := t.leader.reap(deadline); err != nil {
		return &DrainError{Err: err}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.job != 0 {
		_ = windows.CloseHandle(t.job)
		t.job = 0
	}
	return nil
}
