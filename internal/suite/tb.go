package suite

import (
	"fmt"
	"slices"

	"github.com/boombox-go/boombox/contain"
)

// TB is a test that a spec begins and ends by hand, to see what a helper that belongs to a test does with it.
type TB struct {
	contain.TB // nil: what is not below must not be called

	// Test is its name, Temp its directory.
	Test, Temp string
	// Broken says that it has failed already, by something else.
	Broken bool
	// Fatal and Lines are what Fatalf and Logf were told. Fatalf returns, unlike that of a test.
	Fatal, Lines []string

	cleanups []func()
}

// Helper does nothing.
func (tb *TB) Helper() {}

// Name is Test.
func (tb *TB) Name() string { return tb.Test }

// TempDir is Temp.
func (tb *TB) TempDir() string { return tb.Temp }

// Failed reports whether anything failed.
func (tb *TB) Failed() bool { return tb.Broken || len(tb.Fatal) > 0 }

// Logf keeps the line.
func (tb *TB) Logf(format string, args ...any) {
	tb.Lines = append(tb.Lines, fmt.Sprintf(format, args...))
}

// Fatalf keeps the line.
func (tb *TB) Fatalf(format string, args ...any) {
	tb.Fatal = append(tb.Fatal, fmt.Sprintf(format, args...))
}

// Cleanup keeps f for End.
func (tb *TB) Cleanup(f func()) { tb.cleanups = append(tb.cleanups, f) }

// Cleanups is how many clean-ups wait for End.
func (tb *TB) Cleanups() int { return len(tb.cleanups) }

// End calls what was given to Cleanup, the last first, and returns tb.
func (tb *TB) End() *TB {
	for _, f := range slices.Backward(tb.cleanups) {
		f()
	}
	tb.cleanups = nil
	return tb
}
