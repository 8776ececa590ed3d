// Package fake answers commands from a script, with no process at all.
//
// A [Runner] answers by rules. Code that takes a [runner.Runner] cannot tell it from the real one: streams go through
// the command's own policies and tees, and its Timeout, Grace, context, signals, Kill and Close are obeyed.
//
//	r := fake.New()
//	r.On("git", "status").Reply(fake.Lines("On branch main"))
//	r.On("git", "push").Reply(fake.Stderr("rejected\n"), fake.Exit(1))
//	r.On("server").Reply(fake.Lines("ready"), fake.Pending())
//	r.On("missing").Reply(fake.StartError(runner.StartNotFound))
//
// # Rules
//
// [Runner.On] matches the program's base name and whole leading arguments; [Rule.When] asks for more. The first rule
// that matches answers, with each of its replies in turn, and with the last one from then on. A call that no rule
// matches is an [*UnscriptedError]: loud, of a kind of its own, and kept in [Runner.Misses] whoever swallows it.
// [Runner.Calls] are the commands that were asked for, and [Runner.Unplayed] the replies that nobody asked for; package
// matchers has BeFullyPlayed for both, and HaveCalled for the calls.
//
// With the test that it is for, fake.New(t), the test fails in the end if a call found no answer or a reply was never
// asked for, and rules that an earlier one shadows are logged. [Runner.OnSequence] makes a rule that gives each reply
// once.
//
// # Other doubles
//
// [Runner.Fallback] passes what no rule matches on to another runner, such as a cassette: stubs lie on top of a
// recording. [Spy] is a fallback alone, [DryRun] lets every command succeed without starting it, and [Deny] refuses every
// command of code that must start none.
//
// # Replies
//
// A reply without waits is instant: the run is over when it starts, without a goroutine. [After] and [Pending] make it
// take time, by the ordinary timers of package time, so that hours pass at once in a testing/synctest bubble. A pending
// run is ended as a process is that handles no signal: by any signal whose default action ends a process, and not by
// SIGCHLD, SIGWINCH, SIGURG, nor by those that stop a process or let it go on.
//
// # Conversations
//
// A command with [runner.StdinPipe] is written to while it runs. [Reads] and [ReadsEOF] make the script wait for that:
//
//	r.On("tool").Reply(fake.Stdout("name? "), fake.Reads("bob\n"), fake.Lines("hello bob"), fake.ReadsEOF())
//
// Input that is not what the script reads cancels the run with an [*InputError], which [Runner.Misses] keeps. A script
// that reads nothing takes anything. What is written after the end goes nowhere, and is no error.
//
// [Resized] makes it wait in the same way until the command's terminal ([runner.PTY]) was given a size. Output comes as one stream there.
//
// # Beneath
//
// [Play] plays one [Script] and is the engine of [Runner] and of a cassette's player. Whatever plays through it passes
// package runnertest, as the real runner does.
//
// # What is not faked
//
// There is no process: no id, no working directory, no file. What a command says of one has no meaning and is neither
// checked nor refused, and [Runner.Calls] shows it: Dir, Env, Require, Limits, Arg0, NewSession, NoNewPrivileges,
// NoCoreDumps, Credential, Umask, Rlimits, Nice, IOPriority, CPUAffinity and OOMScoreAdj. A command with Files is refused,
// since whoever is at their other end would wait for ever. A [runner.StdinFrom] file is not opened, and an error of an
// input reader is not told.
//
// No printer and no error of this package shows an argument, an environment value, input or output.
package fake
