package main

import (
	"os"

	"github.com/boombox-go/boombox/runner"
)

// liveStdin hands our standard input to the program: the descriptor itself, or, where that is a terminal, what is typed
// there. The program is in a process group of its own, and a terminal stops whoever reads it from outside the
// foreground group.
func liveStdin() runner.Stdin {
	if isTerminal(os.Stdin) {
		return runner.StdinStream(os.Stdin)
	}
	return runner.InheritStdin()
}

// wholeStdin is our standard input as something to be matched: read to its end before the run. A terminal has no end,
// and counts as empty.
func wholeStdin() runner.Stdin {
	if isTerminal(os.Stdin) {
		return runner.Stdin{}
	}
	return runner.StdinStream(os.Stdin)
}

// isTerminal takes every character device but the null device for a terminal. Of the others, such as /dev/zero, what is
// read is the same either way.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
