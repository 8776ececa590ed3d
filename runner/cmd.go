package runner

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/sealed"
)

// Cmd describes one command. Make it with [Command]; set its fields before it is started, and not while it runs. A Cmd
// may be started many times, and from several goroutines. Its arguments, environment values and input are sealed: no
// printer shows them.
type Cmd struct {
	program string
	argv    contain.Sealed
	taps    []func(StreamID, []byte)
	// observers are told what becomes of the run.
	observers []func(Observation)

	// Dir is the working directory; empty means ours.
	Dir string
	// Env is the environment; the zero value inherits ours.
	Env Env
	// Stdin is what the child reads; the zero value is closed.
	Stdin Stdin
	// Output says how the streams are captured. By default each is kept up to 64 MiB, and the run fails beyond.
	Output Streams
	// PTY, if not nil, gives the child a terminal in the place of pipes. By default it has none.
	PTY *PTY
	// Timeout kills the whole tree when it runs out, counted from the start. 0 means none: a command that writes for ever
	// to a stream that is not to fail runs on for ever, in the memory of the stream's cap. A negative value is refused.
	Timeout time.Duration
	// IdleTimeout kills the whole tree when neither stream has given a byte for that long. 0 means none; a negative
	// value is refused. Time that a Tee takes does not count as idle.
	IdleTimeout time.Duration
	// Grace is the time between the request to end (StopSignal to the tree) and the kill when a timeout, a cancel or
	// an overflow ends the run. 0 kills at once; a negative value is refused. The request is not made again, and a tree
	// whose first process has ended is killed at once.
	Grace time.Duration
	// CancelGrace takes the place of Grace when a cancel ends the run: a context, [Process.Cancel] or [Process.Close]. 0
	// means Grace, and [NoGrace] kills at once. Any other negative value is refused.
	CancelGrace time.Duration
	// StopSignal is the request to end that a grace begins with. 0 means SIGTERM. Windows has no such requests: there a
	// grace is no time at all, and a StopSignal refuses the start.
	StopSignal syscall.Signal
	// Require are guarantees without which the start is refused.
	Require contain.Guarantee
	// Limits cap the whole tree. A cap that cannot be enforced refuses the start.
	Limits contain.Limits

	// What follows is what the child is born with, beyond descriptors 0 to 2. A field that a system lacks, or that takes
	// privileges which we do not have, refuses the start with an [*UnsupportedError] that names it; one that fails all the
	// same is a [*StartError], and the program never runs.

	// Files become descriptors 3, 4 and so on of the child; no other descriptor reaches it. The caller keeps and closes
	// them. Unix.
	Files []*os.File
	// Arg0 is what the child sees as its own name, such as contain.Seal("-sh"), in place of the name by which it was
	// found. It is sealed, and at most one.
	Arg0 contain.Sealed
	// NewSession makes the child lead a session of its own, without a controlling terminal. Unix.
	NewSession bool
	// NoNewPrivileges sees to it that the tree gains no privileges by executing programs (set-user-ID and the like). Linux.
	NoNewPrivileges bool
	// NoCoreDumps sees to it that the tree leaves no core dumps. Linux.
	NoCoreDumps bool
	// Credential is whom the child runs as; nil for whom we are. Its supplementary groups are those given here and none
	// of ours. The user must be able to enter Dir and to execute the program. Unix, with the privileges of root.
	//
	// It costs a start about 10 ms on Linux, as each of the following does, and all of them together; see package contain.
	Credential *contain.Credential
	// Umask is the mask of the modes of new files, such as new(fs.FileMode(0o077)); nil for ours. Linux.
	Umask *fs.FileMode
	// Rlimits are resource limits of each process of the tree, which is not the same as Limits of all. Linux.
	Rlimits contain.Rlimits
	// Nice is the scheduling priority, -20 (first) to 19 (last), whatever ours is; nil for ours. Linux.
	Nice *int
	// IOPriority is the priority of disk accesses; nil for ours. Linux.
	IOPriority *contain.IOPriority
	// CPUAffinity are the numbers of the processors to run on; nil for ours. Linux.
	CPUAffinity []int
	// OOMScoreAdj says whom the kernel kills first for want of memory, -1000 (never) to 1000 (first); nil for ours. Linux.
	OOMScoreAdj *int
}

// lastSignal is the last signal of any system.
const lastSignal = 128

// NoGrace is a [Cmd.CancelGrace] that kills at once.
const NoGrace time.Duration = -1

// graces are what a run has between the request to end and the kill.
type graces struct{ usual, cancel time.Duration }

func (c *Cmd) graces() graces {
	if c.CancelGrace == 0 {
		return graces{c.Grace, c.Grace}
	}
	return graces{c.Grace, max(c.CancelGrace, 0)}
}

// after is the grace after that event.
func (g graces) after(event Outcome) time.Duration {
	if event == Cancelled {
		return g.cancel
	}
	return g.usual
}

// stopSignal is the request to end that applies.
func (c *Cmd) stopSignal() syscall.Signal {
	if c.StopSignal == 0 {
		return syscall.SIGTERM
	}
	return c.StopSignal
}

// Command describes the program name with args. A name without a path separator is looked up in the PATH of the
// child's own environment when the command starts. A name with one is taken as it is, relative to our own working
// directory, whatever Dir says.
func Command(name string, args ...string) *Cmd {
	return &Cmd{program: programName(name), argv: contain.Seal(append([]string{name}, args...)...)}
}

// Argv is the program as it was named and its arguments. It reveals them: keep it out of logs.
func (c *Cmd) Argv() []string { return c.argv.Reveal() }

// CommandLine is the whole command as a person would type it in a POSIX shell. It reveals the arguments.
func (c *Cmd) CommandLine() string {
	argv := c.argv.Reveal()
	for i, arg := range argv {
		argv[i] = shellQuote(arg)
	}
	return strings.Join(argv, " ")
}

// Program is the base name of the program, bounded and without control characters: safe to show.
func (c *Cmd) Program() string { return c.program }

// Clone is a copy that can be changed freely. A reader given with [StdinStream] is shared: it feeds one start of
// either.
func (c *Cmd) Clone() *Cmd {
	clone := *c
	clone.taps = slices.Clip(c.taps)
	clone.observers = slices.Clip(c.observers)
	clone.cloneBirth()
	return &clone
}

// Tapped is a clone whose output tap sees as well: every chunk of both streams as it was read, in the order of arrival,
// whatever the policies and the user's own tees do. Calls never overlap. The chunk is valid during the call alone and
// must not be changed. When the run is settled, no further call comes. A panic in tap is treated as one in a Tee. It is
// what a recorder uses.
func (c *Cmd) Tapped(tap func(id StreamID, chunk []byte)) *Cmd {
	return c.tappedAll(func(id StreamID, chunk []byte) {
		if id <= Stderr {
			tap(id, chunk)
		}
	})
}

// TappedStdin is a clone whose interactive input ([StdinPipe]) tap sees as well: every piece that is written, before the
// child can see it, and nil once for its Close. So of what [Cmd.Tapped] shows in the same clone, whatever the child wrote
// in answer comes later. Calls overlap with none of either. The piece is valid during the call alone and must not be
// changed. It may be more than a child that ends takes. When the run is settled, no further call comes. A panic in tap is treated
// as one in a Tee. It is what a recorder uses.
func (c *Cmd) TappedStdin(tap func(piece []byte)) *Cmd {
	return c.tappedAll(func(id StreamID, piece []byte) {
		if id == stdinStream {
			tap(piece)
		}
	})
}

// TappedResize is a clone of which tap sees every size that [Process.Resize] gives the terminal, before the child can see
// it, with the other taps of the clone as [Cmd.TappedStdin] says. When the run is settled, no further call comes. A panic
// in tap is treated as one in a Tee. It is what a recorder uses.
func (c *Cmd) TappedResize(tap func(to PTY)) *Cmd {
	return c.tappedAll(func(id StreamID, piece []byte) {
		if id == screenStream {
			tap(sizeOf(piece))
		}
	})
}

func (c *Cmd) tappedAll(tap func(id StreamID, chunk []byte)) *Cmd {
	clone := c.Clone()
	clone.taps = append(clone.taps, tap)
	return clone
}

// Validate says whether the command makes sense, as far as that can be told without a start: nil, or an
// [*InvalidError]. Every Runner refuses in its Start what Validate refuses.
func (c *Cmd) Validate() error {
	argv := sealed.View(c.argv)
	switch {
	case len(argv) == 0 || argv[0] == "":
		return c.invalid("Command", "no program is named")
	case anyHas(argv, "\x00"):
		return c.invalid("Command", "an argument holds a NUL byte")
	case strings.Contains(c.Dir, "\x00"):
		return c.invalid("Dir", "it holds a NUL byte")
	case c.CancelGrace < 0 && c.CancelGrace != NoGrace:
		return c.invalid("CancelGrace", "it is negative")
	case c.StopSignal < 0 || c.StopSignal > lastSignal:
		return c.invalid("StopSignal", "there is no such signal")
	}
	if err := c.refuseNegative(
		amount{"Timeout", int64(c.Timeout)}, amount{"IdleTimeout", int64(c.IdleTimeout)}, amount{"Grace", int64(c.Grace)},
	); err != nil {
		return err
	}
	for id, s := range [...]*Stream{Stdout: &c.Output.Stdout, Stderr: &c.Output.Stderr} {
		if reason := s.invalid(); reason != "" {
			return c.invalid("Output", StreamID(id).String()+" has "+reason)
		}
	}
	if c.Output.Merge && !c.Output.Stderr.isZero() {
		return c.invalid("Output", "with Merge nothing comes as stderr, which has settings")
	}
	if field, reason := c.invalidPTY(); field != "" {
		return c.invalid(field, reason)
	}
	if reason := c.Env.invalid(); reason != "" {
		return c.invalid("Env", reason)
	}
	if field, reason := c.invalidBirth(); field != "" {
		return c.invalid(field, reason)
	}
	if c.Stdin.spent() {
		return c.invalid("Stdin", "its reader was used before")
	}
	return nil
}

func (c *Cmd) invalid(field, reason string) error {
	return &InvalidError{Program: c.program, Field: field, Reason: reason}
}

// amount is the value of a field.
type amount struct {
	field string
	value int64
}

// refuseNegative refuses the first field that is negative.
func (c *Cmd) refuseNegative(fields ...amount) error {
	for _, f := range fields {
		if f.value < 0 {
			return c.invalid(f.field, "it is negative")
		}
	}
	return nil
}

// describe is what the printers show.
func (c Cmd) describe() string {
	return fmt.Sprintf("command %q with %d args", c.program, max(c.argv.Len()-1, 0))
}

func programName(name string) string {
	if name == "" {
		return ""
	}
	return plain(filepath.Base(name))
}

func anyHas(list []string, sub string) bool {
	for _, s := range list {
		if strings.Contains(s, sub) {
			return true
		}
	}
	return false
}

// shellQuote quotes s for a POSIX shell, unless it is plain enough to stand as it is.
func shellQuote(s string) string {
	safe := s != ""
	for _, r := range s {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_", r) {
			safe = false
			break
		}
	}
	if safe {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
