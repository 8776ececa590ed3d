package contain_test

import (
	"context"
	"os/exec"
	"testing"

	"github.com/boombox-go/boombox/contain"
)

// BenchmarkStart compares what a start, the wait for the end and the removal of the tree cost with what os/exec takes
// for the same program. Compare the numbers of one run with each other: creating a process costs ten times as much on
// one host as on another.
func BenchmarkStart(b *testing.B) {
	program, err := exec.LookPath("true")
	if err != nil {
		b.Skip("no program \"true\" on PATH")
	}
	b.Run("os-exec", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command(program).Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, rung := range contain.Host().Rungs {
		b.Run(string(rung.Mechanism), func(b *testing.B) {
			if !rung.Offered() {
				b.Skip(rung.Reason)
			}
			g, err := contain.New(contain.Options{Mechanism: rung.Mechanism})
			if err != nil {
				b.Fatal(err)
			}
			defer g.Close()
			for b.Loop() {
				c, err := g.Start(context.Background(), contain.Spec{Path: program, Argv: contain.Seal(program)})
				if err != nil {
					b.Fatal(err)
				}
				<-c.Exited()
				if err := c.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
