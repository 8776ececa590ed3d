package runner

import "context"

// Runner starts commands. It is the one seam between the code under test and the operating system: [Contained] runs
// real processes, package cassette records and replays them, package fake scripts them.
type Runner interface {
	// Start launches cmd, which it neither changes nor keeps. ctx bounds the starting alone: the Process lives until it
	// ends, is closed, or its group is.
	Start(ctx context.Context, cmd *Cmd) (*Process, error)
}

// Run starts cmd and waits until it is settled. ctx bounds the whole run: when it ends first, the whole tree is killed,
// and Run returns the partial Result with a [*CancelError]. An exit code other than 0, a signal, a timeout and an
// overflow are data in the Result, not errors.
func Run(ctx context.Context, r Runner, cmd *Cmd) (*Result, error) { panic("unbuilt") }

// Output runs cmd, requires that it succeeded and that nothing of its standard output was dropped, and returns that
// output without trailing white space. An unsuccessful run is an [*ExitError], which holds the Result.
func Output(ctx context.Context, r Runner, cmd *Cmd) (string, error) { panic("unbuilt") }

// Probe runs cmd as a question: exit code 0 is true, 1 is false, and every other outcome is an error.
func Probe(ctx context.Context, r Runner, cmd *Cmd) (bool, error) { panic("unbuilt") }
