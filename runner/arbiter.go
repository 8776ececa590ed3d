package runner

import (
	"errors"
	"sync"
	"time"

	"github.com/boombox-go/boombox/contain"
)

// arbiter decides how a run ended. The rule:
//
//   - The first event that is recorded wins. Recording happens under one mutex, before any signal is sent and before
//     anything is drained; whoever records first starts the ending, everybody else changes nothing.
//   - Before a deadline, an idle deadline or a cancel is recorded, the child is polled. A child that has ended already
//     wins, as Exited or Signalled, although nobody had heard of it yet: a natural end that came first stays natural.
//   - An overflow is as old as the bytes that make it, and these were written before the end that a poll could find.
//     So an overflow does not ask, and it even replaces a natural end that is recorded, while the last bytes are still
//     being read: whether a run overflowed depends on what was written, not on who was faster. It does not replace
//     another event.
//   - What the child does after the decision (exit 0 within the grace, say) is its Status, never the outcome.
type arbiter struct {
	poll func() (contain.ExitStatus, bool)
	// told is a backend's own word on how the child ended; nil where there is none to be had.
	told func() (Outcome, bool)
	// why is its word on why that is Cancelled; nil likewise.
	why func() error
	// decided is closed when there is an outcome.
	decided chan struct{}

	mu      sync.Mutex
	outcome Outcome
	cause   error
	at      time.Time
	// closed is set when the outcome has become part of a Result.
	closed bool
}

var (
	errBackend = errors.New("its backend says that it has ended, and not how")
	errLost    = errors.New("its exit status is lost: another part of this program waited for it")
)

// ended records the child's own end, which the backend has reported.
func (a *arbiter) ended() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.outcome != (Outcome{}) {
		return
	}
	if !a.recordEnd() {
		a.record(Cancelled, errBackend)
	}
}

// interrupt offers a deadline or a cancel. It reports whether the event was recorded.
func (a *arbiter) interrupt(event Outcome, cause error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.outcome != (Outcome{}) {
		return false
	}
	if a.recordEnd() {
		return false
	}
	a.record(event, cause)
	return true
}

// overflow records that a stream passed its cap.
func (a *arbiter) overflow() {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.outcome == (Outcome{}):
		a.record(Overflowed, nil)
	case a.outcome.natural() && !a.closed:
		a.outcome = Overflowed
	}
}

// fail records that the run cannot be kept as it was asked for, for that cause. Like an overflow it is as old as the
// bytes that show it, and replaces a natural end.
func (a *arbiter) fail(cause error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.outcome == (Outcome{}):
		a.record(Cancelled, cause)
	case a.outcome.natural() && !a.closed:
		a.outcome, a.cause = Cancelled, cause
	}
}

// recordEnd records the child's own end, if it has ended.
func (a *arbiter) recordEnd() bool {
	status, ended := a.poll()
	if ended && a.told != nil {
		if o, ok := a.told(); ok {
			var cause error
			if a.why != nil {
				cause = a.why()
			}
			a.record(o, cause)
			return true
		}
	}
	switch {
	case !ended:
		return false
	case status.Lost:
		// Nothing is invented for an end that nobody can tell.
		a.record(Cancelled, errLost)
	case status.Exited():
		a.record(Exited(status.Code), nil)
	default:
		a.record(Signalled(status.Signal), nil)
	}
	return true
}

func (a *arbiter) record(o Outcome, cause error) {
	a.outcome, a.cause, a.at = o, cause, time.Now()
	close(a.decided)
}

// current is the outcome as it stands.
func (a *arbiter) current() Outcome {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.outcome
}

// close makes the outcome final.
func (a *arbiter) close() (o Outcome, at time.Time, cause error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	return a.outcome, a.at, a.cause
}

// natural reports whether the process ended by itself.
func (o Outcome) natural() bool { return o.kind == KindExited || o.kind == KindSignalled }
