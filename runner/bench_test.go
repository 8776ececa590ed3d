package runner_test

import (
	"context"
	"os/exec"
	"testing"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/runner"
)

// grouped is the real runner over a shared group with the mechanism, or skips.
func grouped(b *testing.B, m contain.Mechanism) runner.Contained {
	b.Helper()
	g, err := contain.New(contain.Options{Mechanism: m})
	if err != nil {
		b.Skip(err)
	}
	b.Cleanup(func() { _ = g.Close() })
	return runner.Contained{Group: g}
}

// BenchmarkStartToResult is the way from a command to what it printed, against os/exec.
func BenchmarkStartToResult(b *testing.B) {
	path, err := exec.LookPath("true")
	if err != nil {
		b.Skip(err)
	}
	b.Run("os-exec", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := exec.Command(path).Output(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, r := range map[string]func(*testing.B) runner.Runner{
		"private-group": func(*testing.B) runner.Runner { return runner.Contained{} },
		"cgroup2":       func(b *testing.B) runner.Runner { return grouped(b, contain.Cgroup2) },
		"process-group": func(b *testing.B) runner.Runner { return grouped(b, contain.ProcessGroup) },
	} {
		b.Run(name, func(b *testing.B) {
			r := r(b)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := runner.Output(context.Background(), r, runner.Command(path)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCapture256MiB is how fast much output is taken in, against os/exec.
func BenchmarkCapture256MiB(b *testing.B) {
	const size = 256 << 20
	argv := fixtures.Argv("flood", "268435456")
	b.Run("os-exec", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			out, err := exec.Command(argv[0], argv[1:]...).Output()
			if err != nil || len(out) != size {
				b.Fatal(len(out), err)
			}
		}
	})
	capture := func(name string, s runner.Stream, want int) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				cmd := runner.Command(argv[0], argv[1:]...)
				cmd.Output.Stdout = s
				res, err := runner.Run(context.Background(), runner.Contained{}, cmd)
				if err != nil || res.StdoutTotal() != size || len(res.Stdout()) != want {
					b.Fatal(res, err)
				}
			}
		})
	}
	capture("keep", runner.Stream{MaxBytes: size}, size)
	capture("tail", runner.Stream{Policy: runner.Tail, MaxBytes: 1 << 20}, 1<<20)
	capture("discard", runner.Stream{Policy: runner.Discard}, 0)
}

// BenchmarkSettle is the fast path of replays: a recorded run of 1 KiB output becomes a settled Process.
func BenchmarkSettle(b *testing.B) {
	cmd := runner.Command("git", "status")
	run := runner.Finished{Outcome: runner.Exited(0), Stdout: make([]byte, 1<<10)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := runner.Settle(cmd, run).Wait(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
