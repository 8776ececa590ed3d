package contain

// TB is what the helpers for tests ask of a test: [*testing.T], [*testing.B] and Ginkgo's GinkgoT() have it. It is small
// on purpose, so that it can be written by hand, and package testing stays out of programs.
type TB interface {
	Helper()
	Name() string
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
	Failed() bool
	Cleanup(func())
	TempDir() string
}

// ForTest makes a group for one test. The group is closed when the test and its later clean-ups are over, and the test
// fails if that could not be verified: the message names the survivors. A group that cannot be had fails the test at
// once.
//
//	g := contain.ForTest(t, contain.Options{Require: contain.KillTree})
//	p, err := runner.Contained{Group: g}.Start(ctx, cmd)
//
// It must be called from the test's own goroutine.
func ForTest(tb TB, opts Options) *Group {
	tb.Helper()
	g, err := New(opts)
	if err != nil {
		tb.Fatalf("no group for this test: %v", err)
		return nil
	}
	tb.Cleanup(func() {
		tb.Helper()
		if err := g.Close(); err != nil {
			tb.Fatalf("the group of this test could not be ended: %v", err)
		}
	})
	return g
}
