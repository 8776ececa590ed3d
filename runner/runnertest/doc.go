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
// In a Ginkgo suite each case becomes a spec:
//
//	for _, c := range runnertest.Cases() {
//		It(c.Name, func() { c.Run(GinkgoTB(), harness) })
//	}
package runnertest
