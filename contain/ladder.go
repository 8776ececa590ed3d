package contain

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"
)

// A mechanism is one way of holding trees. Each has a file of its own; [mechanisms] lists those of a system.
type mechanism interface {
	// probe says what the mechanism gives and whether it is to be had. It answers from memory after the first time.
	probe() Rung
	// open makes the place of one group, which has what of opts.Require the mechanism gives, and the caps of opts or a
	// [*LimitError]. After another error the mechanism is probed anew.
	open(opts Options) (place, error)
}

// A place is where one group keeps its trees.
type place interface {
	// start starts a command as the first process of a new tree. When ctx ends it gives up as soon as the system lets it.
	// A tree that comes with an error is for the caller to end.
	start(ctx context.Context, spec Spec) (tree, error)
	// doom kills, where the mechanism can, whatever is between fork and exec. Nothing will start here again.
	doom()
	// remove removes the place. Every tree has been ended.
	remove(deadline time.Time) error
}

// A waverer is a place that has not always all that its mechanism gives.
type waverer interface {
	// lacks says what of it is missing now.
	lacks() Guarantee
}

// A firstProcess is the first process of a tree.
type firstProcess interface {
	// id is its process id, as we see it.
	id() int
	// done is closed when it has ended.
	done() <-chan struct{}
	// poll asks, without blocking, whether it has ended, and how.
	poll() (ExitStatus, bool)
	// signal goes by identity, or returns [os.ErrProcessDone].
	signal(sig syscall.Signal) error
}

func (l *leader) id() int               { return l.pid }
func (l *leader) done() <-chan struct{} { return l.ended }

// A tree is one started command with its descendants.
type tree interface {
	first() firstProcess
	// strike kills all members at once and does not wait.
	strike() error
	// empty reports whether no member is alive; a zombie is not.
	empty() (bool, error)
	members() ([]Member, error)
	// signal sends sig to every member. The error is that of looking them up.
	signal(sig syscall.Signal) (tally, error)
	// end kills what is left, verifies that the tree is empty, reaps the first process and removes what held them, in this
	// order: as long as the first process is not reaped, no stranger can be given its id, which is also that of its
	// process group. After an error it can be called again.
	end(deadline time.Time) error
}

// A distant tree is told by somebody else whether it is empty, who may be slow to answer among many members. It is struck before it is asked.
type distant interface {
	// unasked reports whether nobody has told so far that it is empty.
	unasked() bool
}

// host is this system's ladder.
var host = sync.OnceValue(func() *ladder { return &ladder{mechanisms()} })

// A ladder is a list of mechanisms, in the order in which they are tried: the first that has all is taken.
type ladder struct{ mechanisms []mechanism }

func (l *ladder) report() HostReport {
	var h HostReport
	for _, m := range l.mechanisms {
		h.Rungs = append(h.Rungs, m.probe())
	}
	return h
}

// group makes a group on the first rung that has what is asked for.
func (l *ladder) group(opts Options) (*Group, error) {
	if err := opts.Limits.check(); err != nil {
		return nil, err
	}
	refusal := &UnsupportedError{Missing: opts.Require, Asked: opts.Mechanism}
	var limit *LimitError // of the strongest mechanism that could have caps
	for _, m := range l.mechanisms {
		rung := m.probe()
		fits := opts.Mechanism == "" || opts.Mechanism == rung.Mechanism
		if rung.OnRequest && opts.Mechanism == "" {
			fits = false
			if rung.Available {
				rung.Available, rung.Reason = false, "it is taken only if Options.Mechanism names it"
			}
		}
		if limit == nil && fits && !rung.Available && rung.Guarantees.Has(opts.Limits.guarantees()) {
			limit = opts.Limits.unavailable(rung)
		}
		// What is asked for by a value is refused with the reason, by open.
		if fits && rung.Available && (rung.Guarantees | opts.Limits.guarantees()).Has(opts.Require) {
			p, err := m.open(opts)
			if err == nil {
				rung.Guarantees |= opts.Limits.guarantees()
				rung.Guarantees &^= caps &^ (opts.Limits.guarantees() | opts.Require)
				return newGroup(rung, p, opts.Require|opts.Limits.guarantees()), nil
			}
			if errors.Is(err, ErrKeeper) {
				return nil, err // no other mechanism makes another program of it
			}
			if refused, ok := errors.AsType[*LimitError](err); ok {
				if limit == nil {
					limit = refused
				}
				continue
			}
			// The probe's answer no longer holds. Ask anew, for the reason; if it has one no more, the error is the reason.
			if rung = m.probe(); rung.Available {
				rung.Available, rung.Reason, rung.Err = false, "it refused a group: "+err.Error(), err
			}
		}
		refusal.Rungs = append(refusal.Rungs, rung)
		if fits && rung.Available && refusal.Best == "" {
			refusal.Best, refusal.Missing = rung.Mechanism, opts.Require&^rung.Guarantees
		}
	}
	if limit != nil {
		return nil, limit
	}
	return nil, refusal
}

// unavailable refuses the first cap asked for on behalf of a mechanism that is not to be had here; nil when none is
// asked for.
func (l Limits) unavailable(rung Rung) *LimitError {
	for _, kind := range l.kinds() {
		return &LimitError{
			Kind: kind, Reason: rung.limitReason(), Detail: string(rung.Mechanism) + ": " + rung.Reason, Hint: rung.Remedy, Err: rung.Err,
		}
	}
	return nil
}

// limitReason sorts why the mechanism is not to be had.
func (r Rung) limitReason() LimitReason {
	switch r.Err {
	case syscall.EROFS:
		return LimitReadOnly
	case syscall.EACCES, syscall.EPERM:
		return LimitNotDelegated
	case syscall.ENOSYS:
		return LimitKernelTooOld
	case nil:
		return LimitNoCgroup2
	}
	return LimitFailed
}

// How long drain sleeps between two looks, and two strikes: short enough for a single process, which is gone in less
// than a millisecond, and long enough not to take the processor from a thousand that are dying.
const (
	drainPaceMin = 50 * time.Microsecond
	drainPaceMax = 2 * time.Millisecond
)

// drain kills until the tree is empty. It strikes again and again, because a fork may race with the first strike, and
// a member may have been out of reach when it came.
func drain(t tree, deadline time.Time) error {
	if far, ok := t.(distant); ok && far.unasked() {
		_ = t.strike() // it is struck again, and then the error counts
	}
	for pace := drainPaceMin; ; pace = min(2*pace, drainPaceMax) {
		empty, err := t.empty()
		if empty {
			return nil
		}
		if strikeErr := t.strike(); err == nil {
			err = strikeErr
		}
		if !time.Now().Before(deadline) {
			members, membersErr := t.members()
			if err == nil {
				err = membersErr
			}
			survivors := alive(members)
			for i, m := range survivors {
				survivors[i].WaitChannel = waitChannel(m)
			}
			return &DrainError{Survivors: survivors, Err: err}
		}
		time.Sleep(pace)
	}
}
