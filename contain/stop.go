package contain

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// StopReport is what [Group.Stop] or [Child.Stop] did.
type StopReport struct {
	// Signalled is the soft signal sent, 0 when none was; then SignalErr says why, or nothing was there to signal.
	Signalled syscall.Signal
	SignalErr error
	// Before and After count the live members, -1 when unknown.
	Before, After int
	// Drained says that the trees were seen empty; Escalated that it took SIGKILL.
	Drained, Escalated bool
	Elapsed            time.Duration
}

// stopPace is how often Stop looks whether the trees are empty: a process group is looked up in the whole process
// table, which takes about a millisecond for a hundred processes.
const stopPace = 10 * time.Millisecond

// Stop asks every member to end (SIGTERM), waits until the trees are empty, at most grace or until ctx ends, and then
// kills what is left, as [Group.Kill] does. A stopped member cannot hear the request. The error is that of the kill.
func (g *Group) Stop(ctx context.Context, grace time.Duration) (StopReport, error) {
	return stop(ctx, grace, g.snapshot(), g.Kill)
}

// Stop does for one tree what [Group.Stop] does for all.
func (c *Child) Stop(ctx context.Context, grace time.Duration) (StopReport, error) {
	return stop(ctx, grace, []*Child{c}, c.Kill)
}

func stop(ctx context.Context, grace time.Duration, list []*Child, kill func() error) (StopReport, error) {
	began := time.Now()
	report := StopReport{Before: count(list)}

	asked := list
	if report.Before == 0 {
		asked = nil
	}
	var errs []error
	for _, c := range asked {
		switch err := c.SignalTree(syscall.SIGTERM); {
		case err == nil:
			report.Signalled = syscall.SIGTERM
		case !errors.Is(err, os.ErrProcessDone):
			errs = append(errs, err)
		}
	}
	report.SignalErr = errors.Join(errs...)

	if report.Signalled != 0 {
		report.Drained = awaitEmpty(ctx, grace, list)
	}
	var err error
	if !report.Drained {
		report.Escalated = report.Before != 0
		err = kill()
		report.Drained = err == nil
	}
	report.After = count(list)
	report.Elapsed = time.Since(began)
	return report, err
}

// awaitEmpty reports whether all trees were seen empty before grace or ctx was over.
func awaitEmpty(ctx context.Context, grace time.Duration, list []*Child) bool {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	tick := time.NewTicker(stopPace)
	defer tick.Stop()
	for _, c := range list {
		// While its first process lives, a tree need not be looked at.
		select {
		case <-c.Exited():
		case <-ctx.Done():
			return false
		}
		for {
			if empty, err := c.tree.empty(); err == nil && empty {
				break
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return false
			}
		}
	}
	return true
}

// count counts live members, -1 when they are not to be known.
func count(list []*Child) int {
	n := 0
	for _, c := range list {
		members, err := c.Members()
		if err != nil {
			return -1
		}
		n += len(alive(members))
	}
	return n
}

func alive(members []Member) []Member {
	var live []Member
	for _, m := range members {
		if m.Alive() {
			live = append(live, m)
		}
	}
	return live
}
