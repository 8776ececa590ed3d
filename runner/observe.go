package runner

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"github.com/boombox-go/boombox/contain"
)

// Observer is told what becomes of the runs of an [Observed] Runner. [Logged] and [Tally] are two. It is called from many
// goroutines at once, and for one run in order: Started first, Settled last and before anybody sees that the run is
// settled. So it must not be slow, and must not wait for the run. A panic in it is swallowed.
type Observer interface {
	Observe(Observation)
}

// ObservationKind tells observations apart.
type ObservationKind int

// The kinds of observations.
const (
	// ObservedRefusal: a start gave an error, and nothing runs.
	ObservedRefusal ObservationKind = iota + 1
	// ObservedStart: a run was started.
	ObservedStart
	// ObservedKill: a timeout, a cancel or an overflow ended the run, and its tree was killed.
	ObservedKill
	// ObservedEnd: the run is settled.
	ObservedEnd
)

// String is the kind in one word.
func (k ObservationKind) String() string {
	names := [...]string{ObservedRefusal: "refused", ObservedStart: "started", ObservedKill: "killed", ObservedEnd: "settled"}
	if k < ObservedRefusal || int(k) >= len(names) {
		return "unknown"
	}
	return names[k]
}

// Observation is one thing that happened to a run. It has fields for what may be told, and no way to what may not: it
// holds no command, no argument, no environment, no path, no output and no error of anybody else's.
type Observation struct {
	Kind ObservationKind
	// Run numbers the starts of this process, refused ones included, from 1.
	Run uint64
	// Program is the base name of the program.
	Program string
	// PID is the process id, 0 where there is no process.
	PID int
	// Refusal is, of a refusal, the [StartKind], or one of "invalid", "unsupported", "cancelled" and "other".
	Refusal string
	// Outcome is how a run ended, or why it was killed.
	Outcome Outcome
	// Duration is the time until the run was decided.
	Duration time.Duration
	// StdoutBytes and StderrBytes are how much was read, of a run that is settled. StdoutBytes is -1 where that is not
	// known, see [Result.StdoutPiped].
	StdoutBytes, StderrBytes int64
	// PipesHeld is that of the Result, Survivors the number of those that outlived the kill.
	PipesHeld bool
	Survivors int
	// Mechanism is what held the tree, "" where there was none.
	Mechanism contain.Mechanism
	// Replayed is that of the Result.
	Replayed bool
}

// Observed is r with an observer. What a run does and gives is the same.
func Observed(r Runner, o Observer) Runner {
	plain := observed{runner: r, observer: o}
	if l, ok := r.(linker); ok {
		return observedLinker{plain, l}
	}
	return plain
}

type observed struct {
	runner   Runner
	observer Observer
}

// runs counts the starts of all observed Runners, so that a run has one number in all logs.
var runs atomic.Uint64

// Start starts cmd with the Runner that is observed.
func (o observed) Start(ctx context.Context, cmd *Cmd) (*Process, error) {
	return o.start(cmd, func(cmd *Cmd) (*Process, error) { return o.runner.Start(ctx, cmd) })
}

func (o observed) start(cmd *Cmd, start func(*Cmd) (*Process, error)) (*Process, error) {
	tell, run := o.observer.Observe, runs.Add(1)
	clone := cmd.Clone()
	clone.observers = append(clone.observers, func(seen Observation) {
		seen.Run = run
		_ = guard(func() error { tell(seen); return nil })
	})
	p, err := start(clone)
	if err != nil {
		clone.observers[len(clone.observers)-1](Observation{Kind: ObservedRefusal, Program: cmd.Program(), Refusal: refusalOf(err)})
	}
	return p, err
}

// observedLinker is an observed Runner that can give descriptors to its children, and still can.
type observedLinker struct {
	observed
	linker linker
}

func (o observedLinker) startLinked(ctx context.Context, cmd *Cmd, stdin, stdout *os.File) (*Process, error) {
	return o.start(cmd, func(cmd *Cmd) (*Process, error) { return o.linker.startLinked(ctx, cmd, stdin, stdout) })
}

// refusalOf is the error of a start in one word.
func refusalOf(err error) string {
	if start, ok := errors.AsType[*StartError](err); ok {
		return string(start.Kind)
	}
	switch {
	case errors.Is(err, ErrCancelled):
		return "cancelled"
	case errors.Is(err, ErrInvalid):
		return "invalid"
	case errors.Is(err, ErrUnsupported):
		return "unsupported"
	default:
		return "other"
	}
}

// observe tells all observers of a run.
func observe(observers []func(Observation), seen Observation) {
	for _, tell := range observers {
		tell(seen)
	}
}

// killed is what of the end of a run was known when it was killed.
func (o Observation) killed() Observation {
	return Observation{
		Kind: ObservedKill, Program: o.Program, PID: o.PID, Outcome: o.Outcome, Duration: o.Duration,
		Mechanism: o.Mechanism, Survivors: o.Survivors, Replayed: o.Replayed,
	}
}

// observation is what may be told of a settled run.
func (r *result) observation() Observation {
	seen := Observation{
		Kind: ObservedEnd, Program: r.program, Outcome: r.outcome, Duration: r.duration,
		StdoutBytes: r.stdout.total, StderrBytes: r.stderr.total, PipesHeld: r.pipesHeld,
		Survivors: len(r.teardown.Survivors), Mechanism: r.teardown.Mechanism, Replayed: r.replayed,
	}
	if r.piped {
		seen.StdoutBytes = -1
	}
	return seen
}
