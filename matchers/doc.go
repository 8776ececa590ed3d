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
// [HaveHitLimit], [EnforceLimit] and [HavePeak], which take any [Gauge].
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
// shown by [HaveStdout] and [HaveStderr] alone: a few quoted lines, withheld by their Redacted method. Control and
// bidirectional characters are escaped, and a message has at most 4 kB.
//
// A matcher is for one assertion. Its messages may be asked for by another goroutine while it matches.
//
// The package depends on Gomega and not on Ginkgo; with plain testing, use gomega.NewWithT.
package matchers
