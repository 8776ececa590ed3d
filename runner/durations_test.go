package runner_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/runner"
)

// knobs are all durations that can be set, each with what sets it and comes to its end after a while.
var knobs = map[string]func(ctx context.Context, r runner.Runner, d time.Duration) error{
	"Timeout":     onCmd(func(c *runner.Cmd, d time.Duration) { c.Timeout = d }),
	"IdleTimeout": onCmd(func(c *runner.Cmd, d time.Duration) { c.IdleTimeout = d }),
	"Grace":       onCmd(func(c *runner.Cmd, d time.Duration) { c.Grace = d }),
	"CancelGrace": onCmd(func(c *runner.Cmd, d time.Duration) { c.CancelGrace = d }),
	"Pipeline.Timeout": func(ctx context.Context, r runner.Runner, d time.Duration) error {
		p := runner.Pipe(runner.Command("tool"), runner.Command("tool"))
		p.Timeout = d
		_, err := p.Output(ctx, r)
		return err
	},
	"Supervisor.Window":      onSupervisor(func(s *runner.Supervisor, d time.Duration) { s.Window = d }),
	"Supervisor.HealthEvery": onSupervisor(func(s *runner.Supervisor, d time.Duration) { s.HealthEvery = d }),
	"Supervisor.Backoff":     onSupervisor(func(s *runner.Supervisor, d time.Duration) { s.Backoff.First = d }),
	"Retry.Backoff": func(ctx context.Context, r runner.Runner, d time.Duration) error {
		_, err := runner.Retry{Attempts: 2, When: always, Backoff: runner.Backoff{Max: d}}.Check(ctx, r, runner.Command("tool"))
		return err
	},
}

func onCmd(set func(*runner.Cmd, time.Duration)) func(context.Context, runner.Runner, time.Duration) error {
	return func(ctx context.Context, r runner.Runner, d time.Duration) error {
		cmd := runner.Command("tool")
		set(cmd, d)
		_, err := runner.Output(ctx, r, cmd)
		return err
	}
}

func onSupervisor(set func(*runner.Supervisor, time.Duration)) func(context.Context, runner.Runner, time.Duration) error {
	return func(ctx context.Context, r runner.Runner, d time.Duration) error {
		s := runner.Supervisor{Health: func(context.Context, *runner.Process) error { return nil }}
		set(&s, d)
		supervised, err := s.Start(ctx, r, runner.Command("tool"))
		if err != nil {
			return err
		}
		_, err = supervised.Wait(ctx)
		return err
	}
}

func TestDurations(t *testing.T) {
	const huge = time.Duration(math.MaxInt64)
	for field, use := range knobs {
		// tool works for an hour, and says something at its end.
		tool := func() *fake.Runner {
			r := fake.New()
			r.On("tool").Reply(fake.After(time.Hour), fake.Lines("done"))
			return r
		}
		onFakeClock(t, field+" of zero or without end cuts nothing short", func(g *WithT) {
			for _, d := range []time.Duration{0, huge, huge - 1} {
				g.Expect(use(context.Background(), tool(), d)).To(Succeed(), "%s", d)
			}
		})
		onFakeClock(t, field+" that is negative is refused by name, before anything starts", func(g *WithT) {
			for _, d := range []time.Duration{-2, -time.Hour, math.MinInt64} {
				began := time.Now()
				invalid, ok := errors.AsType[*runner.InvalidError](use(context.Background(), tool(), d))
				g.Expect(ok).To(BeTrue(), "%s", d)
				g.Expect(invalid.Field).To(Equal(field))
				g.Expect(time.Since(began)).To(BeZero(), "the tool would take an hour")
			}
		})
	}
}
