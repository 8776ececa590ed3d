package runner

import (
	"time"

	"github.com/boombox-go/boombox/contain"
)

// Cmd describes one command. Make it with [Command]; set its fields before it is started, and not while it runs. A Cmd
// may be started many times, and from several goroutines. Its arguments, environment values and input are sealed: no
// printer shows them.
type Cmd struct {
	argv contain.Sealed

	// Dir is the working directory; empty means ours.
	Dir string
	// Env is the environment; the zero value inherits ours.
	Env Env
	// Stdin is what the child reads; the zero value is closed.
	Stdin Stdin
	// Output says how the streams are captured. By default each is kept up to 64 MiB, and the run fails beyond.
	Output Streams
	// Timeout kills the whole tree when it runs out, counted from the start. 0 means none; a negative value is refused.
	Timeout time.Duration
	// IdleTimeout kills the whole tree when neither stream has given a byte for that long. 0 means none.
	IdleTimeout time.Duration
	// Grace is the time between the request to end (SIGTERM to the tree) and the kill when a timeout, a cancel or
	// an overflow ends the run. 0 kills at once.
	Grace time.Duration
	// Require are guarantees without which the start is refused.
	Require contain.Guarantee
	// Limits cap the whole tree. A cap that cannot be enforced refuses the start.
	Limits contain.Limits
}

// Command describes the program name with args. A name without a path separator is looked up in the PATH of the
// child's own environment when the command starts.
func Command(name string, args ...string) *Cmd {
	return &Cmd{argv: contain.Seal(append([]string{name}, args...)...)}
}

// Argv is the program as it was named and its arguments. It reveals them: keep it out of logs.
func (c *Cmd) Argv() []string { return c.argv.Reveal() }

// CommandLine is the whole command as a person would type it in a shell. It reveals the arguments.
func (c *Cmd) CommandLine() string { panic("unbuilt") }

// Program is the base name of the program, safe to show.
func (c *Cmd) Program() string { panic("unbuilt") }

// Clone is a copy that can be changed freely.
func (c *Cmd) Clone() *Cmd { panic("unbuilt") }

// String shows the program's base name and the number of arguments.
func (c *Cmd) String() string { panic("unbuilt") }
