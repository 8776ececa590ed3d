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
// terminal it is therefore a background job, and cannot read from it.
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
	// program was itself started with; what C code opens later without close-on-exec may. Windows refuses Files.
	Files []*os.File
	// NewSession makes the child lead a session of its own, without a controlling terminal.
	NewSession bool
	// NoNewPrivileges sees to it that neither the child nor a descendant gains privileges by executing a program: set-user-ID
	// bits and file capabilities do nothing. Linux; elsewhere the start fails, with [StepConfine].
	NoNewPrivileges bool
	// NoCoreDumps sees to it that neither the child nor a descendant without CAP_SYS_RESOURCE leaves a core dump: its soft
	// limit is 0 from birth, and its hard one when Start returns, so a child that means to, and crashes in between, may
	// leave one. Linux; elsewhere the start fails, with [StepConfine]. While the start is under way, other starts of this program have a soft
	// limit of 0 for core dumps as well: the limit can be given to a child by way of the parent alone.
	NoCoreDumps bool
}

// ExitStatus is how the first process of a tree ended.
type ExitStatus struct {
	// Code is the exit code. It means nothing when Signal is not 0.
	Code int
	// Signal is the signal that ended the process, 0 when it exited.
	Signal syscall.Signal
	// Core says that the kernel reports a core dump.
	Core bool
	// Lost says that the status is not known, because somebody else in this program waited for our child.
	Lost bool
	// CPU is the user and system time of the process and of the descendants that it waited for, as the kernel counts
	// them; 0 where the system does not tell.
	CPU time.Duration
}

// Exited reports whether the process ended by itself, with an exit code.
func (s ExitStatus) Exited() bool { return s.Signal == 0 && !s.Lost }
