package runner

import "time"

// startTimers arms the command's deadlines, counted from the start.
func (r *run) startTimers() {
	if r.timeout > 0 {
		r.deadline = time.AfterFunc(r.timeout-time.Since(r.started), func() { r.end(TimedOut, nil) })
	}
	if r.idle > 0 {
		r.armIdle(r.idle - time.Since(r.started))
	}
}

// armIdle looks after d whether the run has been idle for long enough, and else again when it could be.
func (r *run) armIdle(d time.Duration) {
	r.idleMu.Lock()
	defer r.idleMu.Unlock()
	if !r.idleOff {
		r.idleTimer = time.AfterFunc(d, r.checkIdle)
	}
}

func (r *run) checkIdle() {
	if r.pumps[Stdout].busy() || r.pumps[Stderr].busy() {
		// Whether the child is idle cannot be told while nobody reads. The next chunk sets fed.
		r.armIdle(r.idle)
		return
	}
	quiet := time.Since(r.started) - time.Duration(r.fed.Load())
	if quiet < r.idle {
		r.armIdle(r.idle - quiet)
		return
	}
	r.end(IdleTimedOut, nil)
}

func (r *run) stopTimers() {
	if r.deadline != nil {
		r.deadline.Stop()
	}
	r.idleMu.Lock()
	defer r.idleMu.Unlock()
	r.idleOff = true
	if r.idleTimer != nil {
		r.idleTimer.Stop()
	}
}
