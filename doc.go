// Package boombox is the overview of a module for programs and test suites that run other programs. It runs real
// commands in a box they cannot leave, records them on cassettes, replays them with no process at all, and lets a Go
// test suite assert on all of it. The package itself holds no code.
//
// # The packages
//
// Each knows only those below it.
//
//   - cmd/boombox: the command line: demo, run, record, replay, show, doctor
//   - matchers: Gomega matchers over results, processes, trees and cassettes
//   - cassette: the file, the recorder that writes it and the player that replays it
//   - fake: scripted runs for unit tests, on the same engine as the player
//   - runner: commands, the Runner seam, live processes, results, outcomes and errors
//   - runner/runnertest: the conformance specs that every Runner passes
//   - contain: groups that own process trees: guarantees, mechanisms, teardown
//   - fixtures: one small program with a hostile or helpful child for each file, for tests
//
// # In one page
//
//	ctx := context.Background()
//	cmd := runner.Command("git", "log", "-1", "--format=%s")
//	cmd.Timeout = 10 * time.Second
//
//	res, err := runner.Run(ctx, runner.Contained{}, cmd)
//	if err != nil {
//		return err // not found, refused by the host, or ctx ended
//	}
//	switch res.Outcome().Kind() {
//	case runner.KindExited: // res.ExitCode(), res.Stdout(), res.Stderr()
//	case runner.KindTimedOut: // the whole tree is gone
//	}
//
// Code takes a [github.com/boombox-go/boombox/runner.Runner] and never learns whether it is the real one, a player of
// package cassette or a script of package fake.
//
// # Threat model
//
// boombox bounds how long a program and its descendants live, what of theirs stays behind, how much output they can
// make us hold, and what of their secrets shows up in our messages. It is meant for programs that are buggy, careless
// or strange: a test tool that daemonises a server, a build step that hangs, a script that floods its output.
//
// It is not a security sandbox. A contained program reads and writes every file, opens every connection and makes every
// system call that its user may. Against a program that attacks its host use a virtual machine, or a container with a
// seccomp profile and a user of its own; boombox works inside and around either.
//
// What holds depends on the host, so it is asked for and answered in guarantees, not in hopes. A
// [github.com/boombox-go/boombox/contain.Guarantee] that is required is given or the start is refused with a typed
// error before anything has started. Nothing that was asked for is dropped.
//
//   - kill-tree: every descendant dies with the group, whether it called setsid or setpgid, forked twice or became a
//     daemon. Without it (a bare process group) a descendant that left its process group lives on.
//   - kill-fork-bomb: the kill is atomic against forking.
//   - kill-on-owner-death: the whole tree dies when the process that owns the group ends by any means.
//   - resist-same-uid: a program with the owner's user id can neither leave the group nor disarm it.
//   - cap-memory, cap-processes, cap-cpu: the caps of contain.Limits hold over the whole tree, further starts included,
//     and [github.com/boombox-go/boombox/contain.Evidence] tells from the kernel's counters which of them was hit.
//
// Out of reach of every mechanism: work handed to a process outside the tree (a container engine, systemd, cron, at, a
// build daemon that was running before), the far side of an ssh connection, and a root program that writes itself into
// another cgroup. Pipes and a closed standard input are hygiene, not confinement.
//
// Secrets: arguments, environment values, input, output and working directories are never part of an error, a log line,
// a report or a failure message; program names, variable names and counts are. A cassette does hold arguments and
// output, which is what it is for, in a file that only its owner can read when it is written.
package boombox
