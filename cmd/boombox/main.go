// Command boombox runs a program in a box that it cannot leave, records what it did on a cassette, and replays that
// with no process at all.
//
//	boombox demo                                  see all of it in a few seconds
//	boombox run    [flags] -- PROG ARGS...        contained run, streams passed through
//	boombox record FILE [flags] -- PROG ARGS...   the same, recorded
//	boombox replay FILE [flags] -- PROG ARGS...   the matching run, no process
//	boombox show   FILE                           what is on a cassette
//	boombox diff|lint|scan|scrub|verify|fix|prune|merge|export|import|stats
//	                                              looking after cassettes
//	boombox doctor                                what this host can guarantee, and why not more
//
// The exit status is that of the program; 128+n when signal n ended it or us; 124 when it timed out; 123 when it was
// idle for too long; 125 when boombox refused or failed; 126 when the program cannot be executed; 127 when it is not
// found. docs/cli.md has the flags, the statuses and the report.
//
// It fails closed: a cap or a guarantee that this host cannot give is refused before anything starts. It is not a
// security sandbox: the program reads, writes and connects as its user may.
package main

import (
	"os"

	"github.com/boombox-go/boombox/fixtures"
)

func main() {
	fixtures.Dispatch() // the demo's misbehaving tools are children of this same binary
	os.Exit(dispatch(os.Args[1:]))
}
