package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/boombox-go/boombox/contain"
)

// errStopped is the cause of a run that [Supervised.Stop] ended.
var errStopped = errors.New("the supervisor was stopped")

// supervision is the work of a [Supervisor].
type supervision struct {
	Supervisor
	runner Runner
	cmd    *Cmd
	// ctx ends with the caller's, or with cause errStopped.
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	status SupervisorStatus

	// done is closed when last and err are set.
	done chan struct{}
	last *Result
	err  error
}

func (w *supervision) note(change func(now *SupervisorStatus)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.status)
}

// run watches p and its successors.
func (w *supervision) run(p *Process) {
	defer w.cancel(nil)
	var (
		err      error
		restarts []time.Time
		waits    int
	)
	for {
		var res *Result
		if p != nil {
			res, err = w.watch(p)
			if res.Duration() >= orElse(w.Backoff.Max, defaultMaxWait) {
				waits = 0
			}
		}
		w.note(func(now *SupervisorStatus) { now.State, now.Last, now.Err = SupervisorWaiting, res, err })
		if over, final := w.verdict(res, err); over {
			w.finish(res, final)
			return
		}
		now := time.Now()
		for len(restarts) > 0 && now.Sub(restarts[0]) >= w.Window {
			restarts = restarts[1:]
		}
		if len(restarts) >= w.MaxRestarts {
			w.finish(res, &StormError{Program: w.cmd.Program(), Restarts: len(restarts), Window: w.Window, Err: err})
			return
		}
		waits++
		if !sleep(w.ctx, w.Backoff.Delay(waits)) {
			w.finish(res, w.interrupted(res))
			return
		}
		restarts = append(restarts, time.Now())
		w.note(func(now *SupervisorStatus) { now.State = SupervisorStarting; now.Restarts++ })
		p, err = w.runner.Start(w.ctx, w.cmd)
		if err == nil {
			w.note(func(now *SupervisorStatus) { now.State, now.Process, now.Unhealthy = SupervisorRunning, p, 0 })
		} else {
			p = nil
		}
	}
}

// watch waits for the end of p. The error is that of a run that failed.
func (w *supervision) watch(p *Process) (*Result, error) {
	_ = p.Stdin().Close() // nobody else is to
	stop := context.AfterFunc(w.ctx, func() { p.Cancel(context.Cause(w.ctx)) })
	defer stop()
	if w.Health != nil {
		ctx, over := context.WithCancel(w.ctx)
		var asking sync.WaitGroup
		asking.Go(func() { w.askHealth(ctx, p) })
		defer asking.Wait()
		defer over()
	}
	<-p.Settled()
	res, _ := p.Result()
	if err := res.failure(); err != nil {
		return res, err
	}
	return res, res.Check()
}

// verdict says whether the supervision is over after a run or a start that ended with err, and with which error.
func (w *supervision) verdict(res *Result, err error) (over bool, final error) {
	unhealthy := errors.Is(err, ErrUnhealthy)
	switch {
	case errors.Is(err, contain.ErrDrain), hopeless(err):
		return true, err // what is left of the old tree would be in the way of the next
	case errors.Is(err, ErrCancelled) && !unhealthy:
		if w.ctx.Err() != nil {
			err = w.interrupted(res)
		}
		return true, err
	case w.Restart == RestartNever && unhealthy:
		return true, err
	case w.Restart == RestartNever, w.Restart == RestartOnFailure && err == nil:
		return true, nil
	case w.ctx.Err() != nil:
		return true, w.interrupted(res)
	}
	return false, nil
}

// hopeless reports whether a start that failed with err will fail again.
func hopeless(err error) bool {
	return errors.Is(err, ErrInvalid) || errors.Is(err, ErrUnsupported) || errors.Is(err, contain.ErrClosed)
}

// askHealth ends p when it is unwell too often in a row.
func (w *supervision) askHealth(ctx context.Context, p *Process) {
	unwell := 0
	for sleep(ctx, w.HealthEvery) && !closed(p.Settled()) {
		err := w.askOnce(ctx, p)
		if ctx.Err() != nil {
			return
		}
		if unwell++; err == nil {
			unwell = 0
		}
		w.note(func(now *SupervisorStatus) { now.Unhealthy = unwell })
		if unwell >= w.HealthFailures {
			p.Cancel(fmt.Errorf("%w %s in a row, at last: %w", ErrUnhealthy, times(unwell), err))
			return
		}
	}
}

// askOnce asks, and does not wait for longer than an answer may take.
func (w *supervision) askOnce(ctx context.Context, p *Process) error {
	ctx, cancel := context.WithTimeout(ctx, w.HealthEvery)
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- guard(func() error { return w.Health(ctx, p) }) }()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// interrupted is the error of a supervision that was ended from outside: none if that was Stop.
func (w *supervision) interrupted(res *Result) error {
	if cause := context.Cause(w.ctx); !errors.Is(cause, errStopped) {
		return cancelError(w.cmd.Program(), cause, res)
	}
	return nil
}

func (w *supervision) finish(res *Result, err error) {
	w.last, w.err = res, err
	w.note(func(now *SupervisorStatus) { now.State, now.Last = SupervisorOver, res })
	close(w.done)
}
