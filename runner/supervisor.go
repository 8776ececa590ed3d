package runner

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The defaults of a [Supervisor].
const (
	defaultRestarts = 5
	defaultWindow   = time.Minute
	defaultPulse    = 10 * time.Second
	defaultUnwell   = 3
	// supervisedOutput is what is kept of a stream that asks for nothing else, in bytes.
	supervisedOutput = 64 << 10
)

// Supervisor keeps a command running: it starts it again when it ends, later each time, until there is no sense in it.
// The zero value restarts after a failure.
//
//	s, err := runner.Supervisor{Health: ping}.Start(ctx, runner.Contained{}, runner.Command("server"))
//	...
//	res, err := s.Stop(ctx)
//
// There is one process at a time: a restart comes after the whole tree of the run before is gone, and if that cannot be
// had, there is none. A stream of the command that has the policy [Fail] and no MaxBytes keeps its last 64 KiB, since a
// server may write without end. An interactive input is closed at once.
type Supervisor struct {
	// Restart says after which ends the command is started again.
	Restart Restart
	// Backoff says how long to wait before. A run that lasted as long as Backoff.Max sets it back to the beginning.
	Backoff Backoff
	// MaxRestarts is how many restarts there may be within Window. When one more is due, the supervision ends with a
	// [*StormError]. 0 means 5; a negative value is refused.
	MaxRestarts int
	// Window is the time in which MaxRestarts is counted. 0 means a minute; a negative value is refused.
	Window time.Duration
	// Health, if not nil, is asked at times whether the running process is well. An error or a panic says no, and so does
	// no answer within HealthEvery, when its ctx ends; one that does not heed its ctx keeps a goroutine. HealthFailures
	// noes in a row end the process, with the command's Grace, which counts as a failure.
	Health func(ctx context.Context, p *Process) error
	// HealthEvery is the time between two questions, and before the first. 0 means 10 s; a negative value is refused.
	HealthEvery time.Duration
	// HealthFailures is how many noes in a row are too many. 0 means 3; a negative value is refused.
	HealthFailures int
}

// Restart says after which ends a [Supervisor] starts its command again.
type Restart int

// The restart policies.
const (
	// RestartOnFailure: after whatever [Result.Check] calls unsuccessful, and after a start that failed.
	RestartOnFailure Restart = iota
	// RestartAlways: after a success, too.
	RestartAlways
	// RestartNever: the supervisor only watches.
	RestartNever
)

// ErrStorm: a supervised command was restarted too often. The error is a [*StormError].
var ErrStorm = errors.New("runner: too many restarts")

// ErrUnhealthy is in the cause of a run that a [Supervisor] ended because its health check said no too often.
var ErrUnhealthy = errors.New("runner: health check failed")

// StormError ends a supervision whose command fails again and again.
type StormError struct {
	// Program is the base name of the program.
	Program string
	// Restarts is how often it was restarted within Window.
	Restarts int
	Window   time.Duration
	// Err is how its last run ended, nil if that was a success.
	Err error
}

// Error implements error.
func (e *StormError) Error() string {
	s := fmt.Sprintf("runner: %q was restarted %s within %s", plain(e.Program), times(e.Restarts), e.Window)
	if e.Err != nil {
		s += ", and ended again: " + e.Err.Error()
	}
	return s
}

// Is makes the error match [ErrStorm].
func (e *StormError) Is(target error) bool { return target == ErrStorm }

// Unwrap gives Err.
func (e *StormError) Unwrap() error { return e.Err }

// Start starts cmd and watches it in the background. An error is that of the first start, and then nothing is supervised.
// ctx bounds the whole supervision: when it ends, the process is ended, and not restarted.
func (s Supervisor) Start(ctx context.Context, r Runner, cmd *Cmd) (*Supervised, error) {
	if err := s.admit(cmd); err != nil {
		return nil, err
	}
	s.MaxRestarts = orElse(s.MaxRestarts, defaultRestarts)
	s.Window = orElse(s.Window, defaultWindow)
	s.HealthEvery = orElse(s.HealthEvery, defaultPulse)
	s.HealthFailures = orElse(s.HealthFailures, defaultUnwell)
	cmd = cmd.Clone()
	streams := []*Stream{&cmd.Output.Stdout, &cmd.Output.Stderr}
	if cmd.merges() {
		streams = streams[:1] // nothing comes as standard error, and so it may have no settings
	}
	for _, stream := range streams {
		if stream.Policy == Fail && stream.MaxBytes == 0 {
			stream.Policy, stream.MaxBytes = Tail, supervisedOutput
		}
	}
	w := &supervision{Supervisor: s, runner: r, cmd: cmd, done: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	p, err := r.Start(w.ctx, cmd)
	if err != nil {
		w.cancel(nil)
		return nil, err
	}
	w.note(func(now *SupervisorStatus) { now.State, now.Process = SupervisorRunning, p })
	go w.run(p)
	return &Supervised{w: func() *supervision { return w }}, nil
}

func (s Supervisor) admit(cmd *Cmd) error {
	switch reason := s.Backoff.invalid(); {
	case reason != "":
		return cmd.invalid("Supervisor.Backoff", reason)
	case s.Restart < RestartOnFailure || s.Restart > RestartNever:
		return cmd.invalid("Supervisor.Restart", "it is unknown")
	case s.Restart != RestartNever && cmd.Stdin.once():
		return cmd.invalid("Stdin", "its reader feeds one start, and restarts need more")
	}
	return cmd.refuseNegative(
		amount{"Supervisor.MaxRestarts", int64(s.MaxRestarts)}, amount{"Supervisor.Window", int64(s.Window)},
		amount{"Supervisor.HealthEvery", int64(s.HealthEvery)}, amount{"Supervisor.HealthFailures", int64(s.HealthFailures)},
	)
}

// Supervised is a command under a [Supervisor]. It is safe for concurrent use. Whoever starts one stops it, or ends its
// context.
type Supervised struct {
	// w is behind a closure, as the run of a [Process] is.
	w func() *supervision
}

// SupervisorState is what a supervisor is at.
type SupervisorState int

// The states.
const (
	SupervisorRunning  SupervisorState = iota + 1 // the process runs
	SupervisorWaiting                             // it has ended, and a restart is to come
	SupervisorStarting                            // it is being started again
	SupervisorOver                                // there is none, and none to come
)

// String is the state in one word.
func (s SupervisorState) String() string {
	names := [...]string{SupervisorRunning: "running", SupervisorWaiting: "waiting", SupervisorStarting: "starting", SupervisorOver: "over"}
	if s < SupervisorRunning || int(s) >= len(names) {
		return "unknown"
	}
	return names[s]
}

// SupervisorStatus is what a supervisor is at, and has seen.
type SupervisorStatus struct {
	State SupervisorState
	// Process is the one that was started last.
	Process *Process
	// Restarts counts the starts after the first, those that failed included.
	Restarts int
	// Unhealthy counts the health checks that failed in a row by now.
	Unhealthy int
	// Last is the Result of the run before Process, or of Process when that is over; nil when there is none.
	Last *Result
	// Err is what was wrong with it, or with the start that failed since; nil for a success.
	Err error
}

// Status is how things are now.
func (s *Supervised) Status() SupervisorStatus {
	w := s.w()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

// Done is closed when the supervision is over: nothing runs, and nothing will.
func (s *Supervised) Done() <-chan struct{} { return s.w().done }

// Wait waits until the supervision is over and returns the last Result, nil if the last start failed. The error is nil
// when the command's end was one after which it is not restarted, and after Stop. Otherwise it is a [*StormError], a
// [*CancelError] when the context of the supervision ended or the process was cancelled by somebody else, the error of a
// restart that cannot succeed, or that of a tree that could not be ended. When ctx ends first, Wait returns its cause,
// and the supervision goes on.
func (s *Supervised) Wait(ctx context.Context) (*Result, error) {
	w := s.w()
	select {
	case <-w.done:
		return w.last, w.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Stop ends the process, with the command's Grace, restarts it no more, and is otherwise Wait.
func (s *Supervised) Stop(ctx context.Context) (*Result, error) {
	s.w().cancel(errStopped)
	return s.Wait(ctx)
}

// String says what the supervisor is at.
func (s *Supervised) String() string {
	now := s.Status()
	return fmt.Sprintf("supervisor of %q: %s, %d restarts", s.w().cmd.Program(), now.State, now.Restarts)
}
