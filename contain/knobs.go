package contain

import (
	"errors"
	"fmt"
	"os"
)

// Credential is whom a program runs as. It replaces all of what we are: the real, effective and saved user and group, and
// the supplementary groups, which are none unless they are given.
type Credential struct {
	UID, GID uint32
	// Groups are the supplementary groups. Empty means none, and never ours.
	Groups []uint32
}

// Unlimited is the value of a limit that does not limit.
const Unlimited = ^uint64(0)

// Rlimit is one resource limit of each process of a tree; descendants inherit it and each has its own account.
type Rlimit struct {
	// Soft is what the kernel enforces, and Hard how far a process may raise Soft. Raising our own hard limit takes
	// CAP_SYS_RESOURCE.
	Soft, Hard uint64
}

// Rlimits are resource limits; nil leaves one as it is with us.
type Rlimits struct {
	// Core is the largest core dump, in bytes.
	Core *Rlimit
	// NoFile is one more than the highest descriptor.
	NoFile *Rlimit
	// FSize is the largest file that can be written, in bytes; more is SIGXFSZ.
	FSize *Rlimit
	// Stack is the largest main stack, in bytes.
	Stack *Rlimit
	// CPU is processor time, in seconds: SIGXCPU at Soft and SIGKILL at Hard.
	CPU *Rlimit
	// Data is the largest data segment, heap included, in bytes.
	Data *Rlimit
}

// IsZero reports whether no limit is set.
func (l Rlimits) IsZero() bool { return l == Rlimits{} }

// IOClass is how a program's disk accesses are scheduled.
type IOClass int

// The classes of I/O priority, as Linux numbers them.
const (
	// IORealtime comes before all others. It takes CAP_SYS_NICE.
	IORealtime IOClass = 1 + iota
	// IOBestEffort is what programs have by default.
	IOBestEffort
	// IOIdle gets what nobody else wants.
	IOIdle
)

// IOPriority is a class and, but for [IOIdle], a level within it.
type IOPriority struct {
	Class IOClass
	// Level is 0 (first) to 7 (last).
	Level int
}

// FieldError reports a field of a [Spec] that this system, or this program's own privileges, cannot honour.
type FieldError struct {
	// Field is its name.
	Field string
	// Reason says in a few words why.
	Reason string
}

// Error implements error.
func (e *FieldError) Error() string { return fmt.Sprintf("%s: %s", e.Field, e.Reason) }

// Is makes the error match [ErrUnsupported] and [errors.ErrUnsupported].
func (e *FieldError) Is(target error) bool {
	return target == ErrUnsupported || target == errors.ErrUnsupported
}

// Unsupported is the first field that is set and that cannot be honoured here, nil when all can. [Group.Start] refuses
// with it, in a [*StartError] of [StepConfine], before anything starts.
func (s Spec) Unsupported() *FieldError {
	for _, f := range s.fields() {
		if !f.set {
			continue
		}
		if reason := lacks(f.name); reason != "" {
			return &FieldError{Field: f.name, Reason: reason}
		}
	}
	return nil
}

// field is a field of a Spec that not every system can honour.
type field struct {
	name string
	set  bool
}

func (s Spec) fields() []field {
	return append([]field{
		{fieldFiles, len(s.Files) > 0},
		{fieldNewSession, s.NewSession},
		{fieldTerminal, s.Terminal},
		{fieldNoNewPrivileges, s.NoNewPrivileges},
		{fieldNoCoreDumps, s.NoCoreDumps},
	}, s.knobs()...)
}

// knobs are those that take a stage on Linux.
func (s Spec) knobs() []field {
	return []field{
		{fieldCredential, s.Credential != nil},
		{fieldUmask, s.Umask != nil},
		{fieldRlimits, !s.Rlimits.IsZero()},
		{fieldNice, s.Nice != nil},
		{fieldIOPriority, s.IOPriority != nil},
		{fieldCPUAffinity, s.CPUAffinity != nil},
		{fieldOOMScoreAdj, s.OOMScoreAdj != nil},
	}
}

const (
	fieldFiles           = "Files"
	fieldNewSession      = "NewSession"
	fieldTerminal        = "Terminal"
	fieldNoNewPrivileges = "NoNewPrivileges"
	fieldNoCoreDumps     = "NoCoreDumps"
	fieldCredential      = "Credential"
	fieldUmask           = "Umask"
	fieldRlimits         = "Rlimits"
	fieldNice            = "Nice"
	fieldIOPriority      = "IOPriority"
	fieldCPUAffinity     = "CPUAffinity"
	fieldOOMScoreAdj     = "OOMScoreAdj"
)

// maskBits are the bits of a file mode that a umask has.
const maskBits = os.ModePerm
