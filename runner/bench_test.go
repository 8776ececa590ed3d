package runner_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

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

// against runs ours and os/exec's way of the same, by turns, so that what else the machine does hits both, and
// reports how many times as long ours takes (ratio) or how many times as fast it is (speedup). The median of the
// rounds' ratios counts: a round in which the machine had other things to do is none.
func against(b *testing.B, unit string, peer, ours func() error) {
	b.Helper()
	timed := func(f func() error) time.Duration {
		began := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
	timed(peer)
	timed(ours)
	var ratios []float64
	for b.Loop() {
		theirs, own := timed(peer), timed(ours)
		ratios = append(ratios, float64(own)/float64(theirs))
	}
	slices.Sort(ratios)
	ratio := ratios[len(ratios)/2]
	if unit == "speedup" {
		ratio = 1 / ratio
	}
	b.ReportMetric(ratio, unit)
}

// each are the ways to hold a tree that are compared with none.
func each(b *testing.B, f func(b *testing.B, r runner.Runner)) {
	b.Run("private-group", func(b *testing.B) { f(b, runner.Contained{}) })
	b.Run("leaf", func(b *testing.B) { f(b, grouped(b, contain.Cgroup2)) })
	b.Run("process-group", func(b *testing.B) { f(b, grouped(b, contain.ProcessGroup)) })
}

// BenchmarkStartToResult is the way from a command to what it printed, against exec.Cmd.Output.
func BenchmarkStartToResult(b *testing.B) {
	path, err := exec.LookPath("true")
	if err != nil {
		b.Skip(err)
	}
	each(b, func(b *testing.B, r runner.Runner) {
		against(b, "ratio",
			func() error { _, err := exec.Command(path).Output(); return err },
			func() error { _, err := runner.Output(context.Background(), r, runner.Command(path)); return err },
		)
	})
}

// BenchmarkConcurrent is 64 children at once, against 64 goroutines with exec.Cmd.Output.
func BenchmarkConcurrent(b *testing.B) {
	path, err := exec.LookPath("true")
	if err != nil {
		b.Skip(err)
	}
	crowd := func(run func() error) error {
		errs := make(chan error, 64)
		for range cap(errs) {
			go func() { errs <- run() }()
		}
		var failed error
		for range cap(errs) {
			failed = errors.Join(failed, <-errs)
		}
		return failed
	}
	each(b, func(b *testing.B, r runner.Runner) {
		against(b, "ratio",
			func() error { return crowd(func() error { _, err := exec.Command(path).Output(); return err }) },
			func() error {
				return crowd(func() error { _, err := runner.Output(context.Background(), r, runner.Command(path)); return err })
			},
		)
	})
}

// BenchmarkCapture256MiB is how fast much output is taken in, against exec.Cmd.Output.
func BenchmarkCapture256MiB(b *testing.B) {
	const size = 256 << 20
	argv := fixtures.Argv("flood", strconv.Itoa(size))
	capture := func(name string, s runner.Stream, want int) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(2 * size)
			against(b, "speedup",
				func() error {
					out, err := exec.Command(argv[0], argv[1:]...).Output()
					if len(out) != size {
						return fmt.Errorf("%d bytes: %w", len(out), err)
					}
					return err
				},
				func() error {
					cmd := runner.Command(argv[0], argv[1:]...)
					cmd.Output.Stdout = s
					res, err := runner.Run(context.Background(), runner.Contained{}, cmd)
					if err == nil && (res.StdoutTotal() != size || len(res.Stdout()) != want) {
						err = fmt.Errorf("%v", res)
					}
					return err
				},
			)
		})
	}
	capture("keep", runner.Stream{MaxBytes: size}, size)
	capture("tail", runner.Stream{Policy: runner.Tail, MaxBytes: 1 << 20}, 1<<20)
}

// BenchmarkDiscard1GiB is output that nobody keeps, against io.Copy of a StdoutPipe to io.Discard.
func BenchmarkDiscard1GiB(b *testing.B) {
	const size = 1 << 30
	argv := fixtures.Argv("flood", strconv.Itoa(size))
	against(b, "ratio",
		func() error {
			cmd := exec.Command(argv[0], argv[1:]...)
			out, err := cmd.StdoutPipe()
			if err != nil {
				return err
			}
			if err := cmd.Start(); err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, out)
			return errors.Join(err, cmd.Wait())
		},
		func() error {
			cmd := runner.Command(argv[0], argv[1:]...)
			cmd.Output.Stdout.Policy = runner.Discard
			res, err := runner.Run(context.Background(), runner.Contained{}, cmd)
			if err == nil && res.StdoutTotal() != size {
				err = fmt.Errorf("%v", res)
			}
			return err
		},
	)
}

// BenchmarkLines800k is many lines, each looked at, against bufio.Scanner over a StdoutPipe.
func BenchmarkLines800k(b *testing.B) {
	const count = 800_000
	argv := fixtures.Argv("flood", strconv.Itoa(64*count), "lines")
	against(b, "speedup",
		func() error {
			cmd := exec.Command(argv[0], argv[1:]...)
			out, err := cmd.StdoutPipe()
			if err != nil {
				return err
			}
			if err := cmd.Start(); err != nil {
				return err
			}
			n, lines := 0, bufio.NewScanner(out)
			for lines.Scan() {
				n += min(len(lines.Text()), 1)
			}
			if n != count {
				return fmt.Errorf("%d lines", n)
			}
			return cmd.Wait()
		},
		func() error {
			cmd := runner.Command(argv[0], argv[1:]...)
			cmd.Output.Stdout.Policy = runner.Discard
			p, err := runner.Contained{}.Start(context.Background(), cmd)
			if err != nil {
				return err
			}
			n := 0
			for line, err := range p.Lines(context.Background()) {
				if err != nil {
					return err
				}
				n += min(len(line.Text), 1)
			}
			if n != count {
				return fmt.Errorf("%d lines", n)
			}
			return p.Close()
		},
	)
}

// BenchmarkLiveChild is what a live child holds: goroutines, and bytes of heap and stacks, beyond one of os/exec whose
// output is captured and whose end is awaited.
func BenchmarkLiveChild(b *testing.B) {
	const children = 50
	argv := fixtures.Argv("sleep", "quiet")
	held := func(start func() (stop func())) (goroutines, bytes float64) {
		usage := func() (int, int64) {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return runtime.NumGoroutine(), int64(m.HeapAlloc + m.StackInuse)
		}
		n, size := usage()
		var stops []func()
		for range children {
			stops = append(stops, start())
		}
		n2, size2 := usage()
		for _, stop := range stops {
			stop()
		}
		return float64(n2-n) / children, float64(size2-size) / children
	}
	peer := func() func() {
		cmd := exec.Command(argv[0], argv[1:]...)
		var out, errOut bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errOut
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		return func() { _ = cmd.Process.Kill(); <-done }
	}
	each(b, func(b *testing.B, r runner.Runner) {
		ours := func() func() {
			p, err := r.Start(context.Background(), runner.Command(argv[0], argv[1:]...))
			if err != nil {
				b.Fatal(err)
			}
			return func() { _ = p.Close() }
		}
		held(peer)
		held(ours)
		for b.Loop() {
			theirs, theirSize := held(peer)
			own, ownSize := held(ours)
			b.ReportMetric(own-theirs, "more-goroutines")
			b.ReportMetric(ownSize-theirSize, "more-B/child")
		}
	})
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
