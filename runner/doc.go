// Package runner describes commands, runs them through one narrow seam, and returns how they ended as data.
//
//	cmd := runner.Command("git", "log", "--oneline")
//	cmd.Dir = repo
//	cmd.Timeout = 10 * time.Second
//	res, err := runner.Run(ctx, runner.Contained{}, cmd)
//	if err != nil {
//		return err // could not be started, could not be contained, or was cancelled
//	}
//	fmt.Println(res.Outcome(), len(res.Stdout()))
//
// # The seam
//
// A [Runner] starts a [Cmd] and returns a live [Process], which becomes a [Result]. [Contained] is the real one: each
// of its runs is a process tree of its own that is gone when the run is over. Package fake has scripted ones, package
// cassette those that record and replay. Code that takes a Runner is tested with any of them; package runnertest holds
// what they all promise. The verbs [Run], [Output] and [Probe] work with every Runner.
//
// # The zero values
//
// A Cmd that says nothing inherits our environment, reads end of file, keeps up to 64 MiB of each stream and fails
// loudly beyond, has no deadline, and runs in a private group with the strongest mechanism that costs nothing. What it
// asks for and cannot have is refused before anything starts, with a typed error; nothing is dropped in silence.
//
// # How a run ends
//
// The [Outcome] is the one event that won: the child exited, a signal ended it, the command's own Timeout or IdleTimeout
// ran out, the caller cancelled, or a stream passed its cap. The first event to be recorded wins. It is recorded before
// anything is killed, so that no kill of ours is ever taken for the child's own end, and before anything else the child
// is asked whether it has not ended already: an end that came first stays natural. What the child does after the
// decision is its [Result.Status]; a child that exits with 0 within the Grace after a deadline timed out all the same.
// An overflow counts from the bytes that make it: a run whose output passed a cap that fails it has overflowed, even
// if the child was over before we had read so far.
//
// Exit codes, signals, timeouts and overflows are data, not errors: err is nil, and [Result.Check] makes an [*ExitError]
// of them where success is required. A cancel is an error, a [*CancelError], and comes with the partial Result. A
// deadline of the caller's context is a cancel; only the command's own Timeout is a timeout.
//
// When a deadline, a cancel or an overflow ends a run, the tree is asked to end ([Cmd.StopSignal]) if there is a Grace, and then
// the whole tree is killed and seen empty. When the child ends by itself, whatever it left behind is killed at once. The
// run is then settled:
//
//   - A run that we end is settled within its Grace plus one second, whoever holds the pipes and whatever a Tee does. The
//     exception is a tree with members that no signal ends (they sleep uninterruptibly): after [contain.KillBound] they
//     are reported as survivors, with a [*contain.DrainError].
//   - A run that ends by itself is settled when its streams are read. If somebody outside the tree holds one open, it is
//     given up after it gave nothing for 250 ms (1 s where no descendant can have left the tree, so that hardly anybody
//     can), or when nothing but the stranger's noise comes. Nothing that the tree wrote is lost by that.
//     [Result.PipesHeld] says that a stream outlived the child.
//
// The end of both streams is not the end of the child, and the end of the child does not wait for them.
//
// # Output
//
// Both streams are always read to their end, so that a child never blocks on a full pipe. A [Stream] says what is kept:
// everything up to a cap or else the run fails ([Fail]), the beginning ([Head]), the end ([Tail]) or nothing ([Discard]).
// What is kept depends on the bytes alone, not on how they were cut into reads, and the totals are exact. A Tee sees
// every byte as it comes. Its errors and panics stop it alone. A slow Tee slows the child down; one that is stuck is
// waited for when a run ended by itself, until [Process.Cancel], [Process.Close] or the command's Timeout shows that
// there is no more time, and abandoned soon after the tree is gone when we ended the run ([Stream.Tee] has the times).
// OnLine is a Tee that gets lines.
//
// Caps are in bytes and in lines. StripVT takes terminal sequences out, and then Redact rewrites each line, of what is
// kept, looped over and written to a File; Tee and OnLine see the original. Redact fails closed. A File is made for us
// alone; one that cannot be written ends the run with a [*FileError]. [Streams.Merge] is 2>&1.
//
// # Lines and events
//
// [Process.Lines] loops over the lines of both streams while the run goes on, and when it is over, from the beginning:
// any number of readers, each with all of it. [Process.Events] adds the start and the Result. A line is the same however
// the output arrived; it says its stream, its end, and what it lacks beyond [Stream.MaxLine]. Readers are fed from
// memory: a slow one is served from up to MaxBytes before the child waits for it, one that leaves the loop never holds
// anything up, and one that comes too late for what a policy has dropped is told by a [*MissedError].
//
// # Waiting until it is ready
//
// [Process.WaitForLine], [Process.WaitForPort], [Process.WaitForSocket], [Process.WaitForFile], [Process.WaitForHTTP]
// and [Process.WaitFor] wait until a run is ready, as long as their context lasts. They never end it, and fail early when
// it is over: [*NotReadyError].
//
//	p, err := r.Start(ctx, runner.Command("server", "--port", "8080"))
//	...
//	defer p.Close()
//	err = p.WaitForPort(ctx, "127.0.0.1:8080")
//
// # Time
//
// Every duration is valid that is not negative; the longest is as good as none. Time is that of the monotonic clock, which
// stands still while the machine is suspended (on Linux CLOCK_MONOTONIC): a laptop that sleeps through a deadline wakes up
// with as much of it left as there was. A byte on either stream is a sign of life to IdleTimeout, and the time
// that a Tee or a reader takes is not the child's.
//
// # Input
//
// A child that ends without reading its input, or all of it, is no error. An input source that fails by itself fails a
// run that would have succeeded, through [Result.Check], and is not told of a run that failed anyway. A reader is read
// by one goroutine of the run, which ends with the run unless the reader itself blocks.
//
// With [StdinPipe] a command is written to while it runs, through [Process.Stdin]; a piece that the child no longer takes
// is [io.ErrClosedPipe] for the writer, and nothing for the run:
//
//	cmd.Stdin = runner.StdinPipe()
//	p, err := r.Start(ctx, cmd)
//	...
//	fmt.Fprintln(p.Stdin(), "one question")
//	p.Stdin().Close()
//
// # What a child is born with
//
// [Cmd] has whom the child runs as, its umask, resource limits, priorities, processors, session and further descriptors.
// All of it holds before the program's first instruction, in whatever group it runs. A field that this system lacks, or
// that takes privileges which we do not have, is an [*UnsupportedError] with the field's name before anything starts, and
// values that make no sense are an [*InvalidError]; what the system then refuses all the same is a [*StartError] that names
// the step, and the program never ran.
//
//	cmd.Credential = &contain.Credential{UID: 65534, GID: 65534} // and no groups of ours
//	cmd.Umask = new(fs.FileMode(0o077))
//	cmd.Rlimits.NoFile = &contain.Rlimit{Soft: 64, Hard: 64}
//
// # A terminal
//
// With a [PTY] the child has a terminal of its own, of a size that [Process.Resize] changes. Its streams come as one, and
// a 0x03 in its input is Ctrl-C.
//
//	cmd.PTY = &runner.PTY{Cols: 120, Rows: 40}
//	cmd.Stdin = runner.StdinPipe()
//
// # Commands together
//
// What follows starts its commands through a [Runner] and needs no more of it, so that doubles and cassettes stand for all
// of it:
//
//   - [Retry] runs a command again when it failed: only by verbs that require success, never after a cancel, never with
//     input that feeds one start.
//   - [Batch] runs many, a few at a time, and gives the results in order or as they come.
//   - [Pipeline], made by [Pipe], lets each read what the one before writes, without a shell. The first checked failure
//     cuts it short, and says which stage is to blame.
//   - [Supervisor] keeps one running: restarts with a [Backoff], a bound on them, health checks, a graceful stop.
//   - [Client] is one tool with what all of its calls have in common. [Lines] loops over the output of a run that must
//     succeed, [JSON] decodes it.
//   - [Observed] tells an [Observer] what becomes of runs. [Logged] writes that to log/slog, [Tally] counts it; neither
//     can come by an argument or a byte of output.
//
// [Detach] alone has no Runner: what it starts is held by nobody.
//
// # Secrets
//
// Arguments, environment values, input, paths and output are never shown by a printer: not by fmt, log/slog,
// encoding/json, gomega or go-cmp, not from an unexported field of somebody else's struct, and not in the text or the
// fields of an error. What reveals them is named for it: [Cmd.Argv], [Cmd.CommandLine], [Env.Reveal], [Env.Lookup],
// [Stdin.Open], [Result.Stdout], [Result.Stderr]. The base name of the program, the names of environment variables that
// a command sets, counts and outcomes are not secret. Four things are yours to keep: [Cmd.Dir] is a plain field, which
// our printers leave out and a printer that walks a struct of yours down to the Cmd may show; so is the Text of a [Line], on
// its own or in an [Event]; a Tee is an object of yours that may hold output; and so are the slices that you put into a
// [Finished].
//
// # Finding the program
//
// A name without a path separator is looked up in the PATH of the child's own environment, absolute entries only. A name
// with one is taken as it is, relative to our working directory, whatever Dir says. [Resolve] and [LookPath] say what a start
// would execute, without one. A missing program, one that cannot be executed (or whose interpreter is missing), a bad
// working directory and an input file that cannot be opened are four kinds of [StartError].
//
// # Writing a Runner
//
// A Runner of your own refuses what [Cmd.Validate] refuses and a context that has ended ([NotStarted]), and then makes
// its Process in one of two ways: [Attach] drives a live child that you wrap in a [Backend], with all of the above;
// [Settle] makes a finished one of what is known beforehand, without a goroutine. Both work inside a testing/synctest
// bubble. A recorder runs [Cmd.Tapped] clones of the commands that it is given, and [Cmd.TappedStdin] and
// [Cmd.TappedResize] ones where their input is interactive and where they have a terminal.
package runner
