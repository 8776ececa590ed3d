package cassette_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/runner"
	"github.com/boombox-go/boombox/runner/runnertest"
)

var _ = Describe("Conformance", func() {
	shell := func(tb testing.TB) {
		if _, err := exec.LookPath("sh"); err != nil {
			tb.Skip("no POSIX shell here")
		}
	}
	recorded := runnertest.Harness{
		Prepare: func(tb testing.TB, b runnertest.Behaviour, configure func(*runner.Cmd)) (runner.Runner, *runner.Cmd) {
			shell(tb)
			rec, err := cassette.NewRecorder(filepath.Join(tb.TempDir(), "x.cassette"), runner.Contained{})
			if err != nil {
				tb.Fatal(err)
			}
			tb.Cleanup(func() {
				if err := rec.Close(); err != nil {
					tb.Error(err)
				}
			})
			cmd := runnertest.Shell(b)
			configure(cmd)
			return rec, cmd
		},
	}
	replayed := func(pace cassette.Pace) runnertest.Harness {
		return runnertest.Harness{
			Prepare: func(tb testing.TB, b runnertest.Behaviour, configure func(*runner.Cmd)) (runner.Runner, *runner.Cmd) {
				shell(tb)
				path := filepath.Join(tb.TempDir(), "x.cassette")
				record(tb, path, b, configure)
				deck, err := cassette.Open(path, cassette.WithReplayOnly(), cassette.WithPace(pace))
				if err != nil {
					tb.Fatal(err)
				}
				tb.Cleanup(func() {
					if err := deck.Close(); err != nil {
						tb.Error(err)
					}
				})
				cmd := runnertest.Shell(b)
				configure(cmd)
				return deck, cmd
			},
		}
	}
	for _, c := range runnertest.Cases() {
		It("recording: "+c.Name, func() { c.Run(GinkgoTB(), recorded) })
		It("replaying: "+c.Name, func() { c.Run(GinkgoTB(), replayed(cassette.Instant)) })
		It("replaying at the recorded pace: "+c.Name, func() { c.Run(GinkgoTB(), replayed(cassette.RealTime)) })
	}
})

// record records a command as often as it will be started. One that would not end is cancelled once it has written.
func record(tb testing.TB, path string, b runnertest.Behaviour, configure func(*runner.Cmd)) {
	tb.Helper()
	rec, err := cassette.NewRecorder(path, runner.Contained{}, cassette.WithCancelled())
	if err != nil {
		tb.Fatal(err)
	}
	defer func() {
		if err := rec.Close(); err != nil {
			tb.Error(err)
		}
	}()
	for range max(b.Starts, 1) {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		cmd := runnertest.Shell(b)
		configure(cmd)
		cmd.Output.Stdout.Tee, cmd.Output.Stderr.Tee = nil, nil // those of the case wait for the replay
		if b.Pending && !endsSoon(cmd) {
			cmd.Output.Stdout.Tee = writer(func([]byte) { cancel() })
		}
		// A start error is a recording too, and a cancel is what was asked for: the replay shows what came of either.
		if b.Exchanges != nil || b.Sizes != nil {
			talk(ctx, tb, rec, b, cmd)
		} else {
			_, _ = runner.Run(ctx, rec, cmd)
		}
		cancel()
	}
	if err := rec.Save(); err != nil {
		tb.Fatal(err)
	}
}

// talk holds a conversation to its end, turn by turn.
func talk(ctx context.Context, tb testing.TB, r runner.Runner, b runnertest.Behaviour, cmd *runner.Cmd) {
	tb.Helper()
	said := make(chan int, 64)
	cmd.Output.Stdout.Tee = writer(func(p []byte) { said <- len(p) })
	p, err := r.Start(ctx, cmd)
	if errors.Is(err, runner.ErrUnsupported) {
		tb.Skip("no terminals here")
	}
	if err != nil {
		tb.Fatal(err)
	}
	hear := func(n int) {
		for n > 0 {
			select {
			case got := <-said:
				n -= got
			case <-ctx.Done():
				return
			}
		}
	}
	hear(len(b.Stdout))
	if b.Sizes != nil {
		cols, rows := cmd.PTY.Size()
		hear(len(fmt.Sprintf("%d %d\r\n", rows, cols)))
	}
	for _, size := range b.Sizes {
		_ = p.Resize(size.Cols, size.Rows)
		hear(len(fmt.Sprintf("%d %d\r\n", size.Rows, size.Cols)))
	}
	for _, e := range b.Exchanges {
		_, _ = io.WriteString(p.Stdin(), e.Line+"\n")
		hear(len(e.Answer))
	}
	_ = p.Stdin().Close()
	_, _ = p.Wait(ctx)
}

// endsSoon reports whether the command's own timeouts end it in the time of a spec.
func endsSoon(cmd *runner.Cmd) bool {
	soon := func(d time.Duration) bool { return d > 0 && d < 5*time.Second }
	return soon(cmd.Timeout) || soon(cmd.IdleTimeout)
}
