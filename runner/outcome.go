package runner

import (
	"fmt"
	"syscall"

	"github.com/boombox-go/boombox/internal/signame"
)

// OutcomeKind is the event that decided a run.
type OutcomeKind int

// The kinds of outcome. The zero value is no outcome: the run is not over.
const (
	_ OutcomeKind = iota
	// KindExited: the process ended by itself with an exit code.
	KindExited
	// KindSignalled: a signal that nobody here claims as a timeout, a cancel or an overflow ended the process.
	KindSignalled
	// KindTimedOut: Cmd.Timeout ran out first, whatever the process did afterwards.
	KindTimedOut
	// KindIdleTimedOut: Cmd.IdleTimeout ran out first.
	KindIdleTimedOut
	// KindCancelled: the caller's context ended, or the process was closed, first.
	KindCancelled
	// KindOverflowed: a stream passed a cap whose policy is [Fail] first.
	KindOverflowed
)

var outcomeNames = map[OutcomeKind]string{
	KindExited: "exited", KindSignalled: "signalled", KindTimedOut: "timed_out", KindIdleTimedOut: "idle_timed_out",
	KindCancelled: "cancelled", KindOverflowed: "overflowed",
}

// String is the kind as reports spell it: exited, signalled, timed_out, idle_timed_out, cancelled, overflowed.
func (k OutcomeKind) String() string {
	if name, ok := outcomeNames[k]; ok {
		return name
	}
	return "unsettled"
}

// Outcome says how a run ended: by the one event that won. It is decided once, before anything is killed. Outcomes are
// comparable with ==.
type Outcome struct {
	kind   OutcomeKind
	code   int
	signal syscall.Signal
}

// Exited is the outcome of a process that ended by itself.
func Exited(code int) Outcome { return Outcome{kind: KindExited, code: code} }

// Signalled is the outcome of a process that a signal ended.
func Signalled(sig syscall.Signal) Outcome { return Outcome{kind: KindSignalled, signal: sig} }

// The outcomes that carry no number.
var (
	TimedOut     = Outcome{kind: KindTimedOut}
	IdleTimedOut = Outcome{kind: KindIdleTimedOut}
	Cancelled    = Outcome{kind: KindCancelled}
	Overflowed   = Outcome{kind: KindOverflowed}
)

// Kind is the event that won.
func (o Outcome) Kind() OutcomeKind { return o.kind }

// ExitCode is the exit code of a run that exited, and false for every other outcome: there is no -1.
func (o Outcome) ExitCode() (int, bool) { return o.code, o.kind == KindExited }

// Signal is the signal of a run that was signalled, and false for every other outcome: there is no 128+n.
func (o Outcome) Signal() (syscall.Signal, bool) { return o.signal, o.kind == KindSignalled }

// String is the outcome in words, such as "exited 3", "signalled SIGKILL" or "timed_out". A signal without a name, as the
// real-time ones, shows its number.
func (o Outcome) String() string {
	switch o.kind {
	case KindExited:
		return fmt.Sprintf("exited %d", o.code)
	case KindSignalled:
		return "signalled " + signame.Of(o.signal)
	default:
		return o.kind.String()
	}
}

// GomegaString is String, for gomega's formatter.
func (o Outcome) GomegaString() string { return o.String() }
