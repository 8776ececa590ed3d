// Package suite is the glue of boombox's own Ginkgo suites: it dispatches fixture children, runs a suite between two
// counts of everything that a suite may leave behind, and prints what passed, failed and was skipped, with the reasons.
//
//	func TestMain(m *testing.M)        { suite.Main(m) }
//	func TestContain(t *testing.T)     { suite.Run(t, "contain") }
//
// A suite that leaves a descriptor, a goroutine, a child process or a cgroup behind fails, even if all its specs
// passed. What a host cannot do is skipped through [Require], with a reason that is counted and printed; the environment
// variable BOOMBOX_REQUIRE, a list of guarantees such as "kill-tree,cap-memory", turns such a skip into a failure.
//
// Ginkgo runs a suite once in a process. With go test -count=N [Run] therefore runs each repetition after the first in
// a fresh process of the same test binary, and folds its result in.
package suite
