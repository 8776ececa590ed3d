package contain

import (
	"os"
	"syscall"
	"time"

	"github.com/boombox-go/boombox/internal/sealed"
)

// Sealed is a list of strings that no printer shows: it prints as a count.
type Sealed = sealed.Strings

// Seal makes a [Sealed] list of its arguments.
func Seal(list ...string) Sealed { return sealed.Of(list...) }

// Spec says what [Group.Start] starts. It does no lookup and no inheriting of its own: what is not given is absent.
//
// The child leads a process group of its own, so that a child that signals "its group" (kill 0) does not hit us. On a
// terminal of ours it is therefore a background job, and cannot read from it.
//
// A field that names a system is refused elsewhere, with [StepConfine] and a [*FieldError]; see [Spec.Unsupported].
type Spec struct {
	// Path is the file to execute, used as it is: no search of PATH.
	Path string
	// Argv is the whole argument vector, the program's own name first.
	Argv Sealed
	// Env is the whole environment, each entry KEY=VALUE. Empty means an empty environment.
	Env Sealed
	// Dir is the working directory. Empty means ours.
	Dir string
	// Stdin, Stdout and Stderr become descriptors 0, 1 and 2. Nil means the null device. The caller keeps the files and
	// closes them.
	Stdin, Stdout, Stderr *os.File
	// Files become descriptors 3, 4 and so on. No other descriptor below 1024 reaches the child, not even one that this
	// program was itself started with; what C code opens later without close-on-exec may. Unix.
	Files []*os.File
	// NewSession makes the child lead a session of its own, without a controlling terminal. Unix.
	NewSession bool
	// Terminal makes Stdin, which is a terminal that no session has, the controlling terminal of the child's session, which
	// is a new one, and the child its foreground job. Unix.
	Terminal bool
	// NoNewPrivileges sees to it that neither the child nor a descendant gains privileges by executing a program: set-user-ID
	// bits and file capabilities do nothing. Linux. On [Subreaper], where the kernel has it (Linux 6.12 with Landlock), it also
	// keeps them from signalling and tracing any process but those below the child: this program and the keeper are out of
	// reach of a kill, though not of everything: see there.
	NoNewPrivileges bool
	// NoCoreDumps sees to it that neither the child nor a descendant without CAP_SYS_RESOURCE leaves a core dump. Linux.
	//
	// Where the child is ours to fork and nothing below is asked for, its soft limit is 0 from birth, and its hard one when
	// Start returns, so a child that means to, and crashes in between, may leave one; and while the start is under way,
	// other starts of this program have a soft limit of 0 for core dumps as well. Otherwise both are 0 from birth.
	NoCoreDumps bool

	// The following take a stage: the child is born as this very program, which becomes what they say before it executes
	// Path. That costs about 10 ms, and a dozen tasks and 10 MiB of the tree's caps for that time. A step that fails is a
	// [*StartError] that names it, and Path never runs; so does a kill of the group that comes meanwhile.

	// Credential is whom the child runs as; nil for whom we are. Dir and Path must be there for that user. It takes
	// CAP_SETUID and CAP_SETGID. Unix.
	Credential *Credential
	// Umask is the mask of the modes of new files; nil for ours. Linux.
	Umask *os.FileMode
	// Rlimits are resource limits of each process. Linux.
	Rlimits Rlimits
	// Nice is the scheduling priority, -20 (first) to 19 (last), as it is and not in addition to ours; nil for ours. To
	// come before us takes CAP_SYS_NICE. Linux.
	Nice *int
	// IOPriority is the priority of disk accesses; nil for ours. Linux.
	IOPriority *IOPriority
	// CPUAffinity are the processors to run on, by number; nil for ours. Linux.
	CPUAffinity []int
	// OOMScoreAdj says whom the kernel kills first for want of memory, -1000 (never) to 1000 (first); nil for ours. To be
	// spared more than we are takes CAP_SYS_RESOURCE. Linux.
	OOMScoreAdj *int
}

// ExitStatus is how the first process of a tree ended.
type ExitStatus struct {
	// Code is the exit code. It means nothing when Signal is not 0.
	Code int
	// Signal is the signal that ended the process, 0 when it exited.
	Signal syscall.Signal
	// Core says that the kernel reports a core dump.
	Core bool
	// Lost says that the status is not known, because somebody else in this program waited for our child, or the process
	// was adopted and is somebody else's child.
	Lost bool
	// CPU is the user and system time of the process and of the descendants that it waited for, as the kernel counts
	// them; 0 where the system does not tell.
	CPU time.Duration
}

// Exited reports whether the process ended by itself, with an exit code.
func (s ExitStatus) Exited() bool { return s.Signal == 0 && !s.Lost }
