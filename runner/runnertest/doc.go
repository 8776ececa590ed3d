// Package runnertest holds the specs that every [runner.Runner] passes: the real one, those that record and replay, and
// those that are scripted. Whoever writes a Runner runs them over their own.
//
//	func TestRunner(t *testing.T) {
//		runnertest.Run(t, runnertest.Harness{
//			Prepare: func(tb testing.TB, b runnertest.Behaviour, configure func(*runner.Cmd)) (runner.Runner, *runner.Cmd) {
//				cmd := runner.Command("tool")
//				configure(cmd)
//				return myRunnerThatDoes(b), cmd
//			},
//		})
//	}
//
// Prepare is asked for one command at a time: how your Runner comes to do what a [Behaviour] says - start a helper, record
// one first, write a script - is your business. A case that cannot apply to your kind of Runner is left out by name, with
// the reason, in [Harness.Skip]; it is counted as skipped. What the cases look at most is where Runners go wrong: who
// ends a run and how that is told, output at its caps and in its tees, contexts that end before, while and after a start,
// handles that are used when all is over, and printers ([Leaks] looks for secrets in the printers of your own types too).
//
// In a Ginkgo suite each case becomes a spec:
//
//	for _, c := range runnertest.Cases() {
//		It(c.Name, func() { c.Run(GinkgoTB(), harness) })
//	}
package runnertest
