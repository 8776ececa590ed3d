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
	// Signalled is the soft signal sent, 0 when none was; then SignalErr says why ([ErrFrozen]: nobody would hear it), or
	// nothing was there to signal.
	Signalled syscall.Signal
	SignalErr error
	// Before and After count the live members, -1 when unknown.
	Before, After int
	// Drained says that the trees were seen empty; Escalated that it took SIGKILL; Spared that members live on, unknown ones
	// perhaps, because [Group.Ask] kills nobody.
	Drained, Escalated, Spared bool
	Elapsed                    time.Duration
}

// stopPace is how often Stop looks whether the trees are empty: a process group is looked up in the whole process
// table, which takes about a millisecond for a hundred processes.
const stopPace = 10 * time.Millisecond

// Stop asks every member to end (SIGTERM), waits until the trees are empty, at most grace or until ctx ends, and then
// kills what is left, as [Group.Kill] does. A stopped member cannot hear the request, and a frozen group is not asked. The
// error is that of the kill.
func (g *Group) Stop(ctx context.Context, grace time.Duration) (StopReport, error) {
	return stop(ctx, grace, g, g.snapshot(), g.Kill)
}

// Ask is [Group.Stop] without the kill: who has not ended when grace is over, or ctx ends, is spared. Whatever is spared
// still belongs to the group, and Close ends it.
func (g *Group) Ask(ctx context.Context, grace time.Duration) StopReport {
	report, _ := stop(ctx, grace, g, g.snapshot(), nil)
	return report
}

// Stop does for one tree what [Group.Stop] does for all.
func (c *Child) Stop(ctx context.Context, grace time.Duration) (StopReport, error) {
	return stop(ctx, grace, c.group, []*Child{c}, c.Kill)
}

// stop asks a group's children, and kills them with kill, or spares them if that is nil.
func stop(ctx context.Context, grace time.Duration, g *Group, list []*Child, kill func() error) (StopReport, error) {
	began := time.Now()
	report := StopReport{Before: count(list)}

	var errs []error
	switch {
	case report.Before == 0:
	case g.isFrozen():
		errs = append(errs, ErrFrozen)
	default:
		for _, c := range list {
			err := c.SignalTree(syscall.SIGTERM)
			if refused, ok := errors.AsType[*SignalError](err); err == nil || ok && refused.Sent != 0 {
				report.Signalled = syscall.SIGTERM
			}
			if !errors.Is(err, os.ErrProcessDone) {
				errs = append(errs, err)
			}
		}
	}
	report.SignalErr = errors.Join(errs...)

	if report.Signalled != 0 {
		report.Drained = awaitEmpty(ctx, grace, list)
	}
	var err error
	switch {
	case report.Drained:
	case kill == nil:
		report.Drained = report.Before == 0
		report.Spared = !report.Drained
	default:
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
