// Package matchers holds Gomega matchers for runs, process trees and cassettes.
//
//	import . "github.com/boombox-go/boombox/matchers"
//
//	Expect(runner.Run(ctx, r, cmd)).To(HaveSucceeded())
//	Expect(result).To(And(HaveTimedOut().At(2*time.Second), HaveReapedTree()))
//	Eventually(process).Should(HaveExited(0))
//	Eventually(group.Members).ShouldNot(HaveSurvivors())
//
// # What they take
//
// A matcher about a run takes a [*runner.Result]; a [*runner.Process], or any [Run], that is over; and an error that
// holds a [*runner.ExitError] or a [*runner.CancelError]. Results of real, replayed and scripted runs are alike.
// [BeContainedBy] and [HaveSurvivors] also take a [*contain.Group], or any [Tree], and look at it as it is now; so do
// [HaveHitLimit], [EnforceLimit] and [HavePeak], which take any [Gauge];
// [HaveMembers] and [HaveLeakedProcesses] take that, or a list of members, alone. [BeRunning], [BeZombie] and [BeGone] take
// one process, by identity or by id. [HaveEscapees] asks no group: it looks for a [Mark]. [MatchResult] asks several things of a run at once and tells all that is wrong.
//
// [ExposeSecrets] takes any value, and looks at it through every printer there is. [HaveEnvNames] takes a command, a
// recorded run, or a run that prints names; [BeHermetic] a run that says what it found around it; [BePrivateFile] and [HaveMode] take files; [BeFullyPlayed] and [HaveMisses] take
// what answers from a list, [HaveInteractions] a cassette, [HaveCalled] what keeps account of its calls.
//
// Anything else, and a nil pointer, is an error that names what is accepted. So are a run that is not over, as a
// [*NotSettledError], and a question about a tree where there never was one. An error fails Expect in both directions:
// no negation passes because it was asked too early, or of the wrong thing.
//
// # With Eventually
//
// Eventually polls a live process until its run is over: its child ended, its tree gone, its streams read. From then on
// nothing changes, and a wrong answer ends the polling at once. Groups and functions are polled to the end.
//
// # What they show
//
// A message has a verdict, the evidence (outcome, time, containment, amount of output) and, where it is sure, what to
// do. It shows the program's base name, and never an argument, an environment value, a directory or input. Output is
// shown by [HaveStdout], [HaveStderr], [HaveOutput], [HaveOutputInOrder] and [HaveStdoutLines] alone: a few quoted lines, withheld by their
// Redacted method; and where a child's output is a list of names, by [HaveEnvNames] and [BeHermetic]. Control and bidirectional characters are escaped, and a message has at most 4 kB.
//
// A matcher is for one assertion. Its messages may be asked for by another goroutine while it matches.
//
// [Transcript] tells a run in the same words without judging it, and [AsSession] lets gexec.Exit and gbytes.Say look at a
// process too.
//
// The package depends on Gomega and not on Ginkgo; with plain testing, use gomega.NewWithT. Package matchers/specs has
// what is Ginkgo's alone.
package matchers
