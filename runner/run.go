package runner

import (
	"cmp"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/boombox-go/boombox/contain"
)

// exitPatience is how long the end of a killed child is waited for. It was killed and verified by then: only a child
// that no signal ends is not over.
const exitPatience = 100 * time.Millisecond

// run is a live [Process]: one supervisor, one pump for each stream, timers, and the arbiter between them.
type run struct {
	arbiter

	program       string
	backend       Backend
	started       time.Time
	timeout, idle time.Duration
	grace         graces
	stopSignal    syscall.Signal
	pumps         [2]pump
	// stdin is nil unless the input is interactive.
	stdin     *inputPipe
	feed      feed
	observers []func(Observation)
	// screen is nil unless the command has a terminal.
	screen *screen
	// pumped gets one value from each pump that ends by itself.
	pumped chan struct{}
	// killing is a request to kill at once.
	killing chan struct{}
	// hurry is closed when somebody wants a run to be over that has ended by itself and is still being read.
	hurry     chan struct{}
	hurryOnce sync.Once

	deadline  *time.Timer
	idleMu    sync.Mutex
	idleTimer *time.Timer
	idleOff   bool
	// fed is when the last chunk was dealt with, in nanoseconds since the start.
	fed atomic.Int64

	// settled is closed when result is set.
	settled chan struct{}
	result  *Result
}

// Attach drives backend, which runs cmd since started, and is what a [Runner] returns. It takes backend over: it reads
// both streams to their end, obeys the command's Timeout, IdleTimeout, Grace and Output, ends the tree when the run is
// decided, and closes backend last. It starts one goroutine for each stream and one more; all end before the Process is
// settled, but for one that a Tee or a foreign reader does not let go.
func Attach(cmd *Cmd, backend Backend, started time.Time) *Process {
	files, err := openFiles(cmd)
	p := attach(cmd, backend, started, files)
	if err != nil {
		p.live().fail(err)
	}
	return p
}

// attach is Attach with the files of cmd open, which it takes over.
func attach(cmd *Cmd, backend Backend, started time.Time, files outputFiles) *Process {
	r := &run{
		program:    cmd.Program(),
		backend:    backend,
		started:    started,
		timeout:    cmd.Timeout,
		idle:       cmd.IdleTimeout,
		grace:      cmd.graces(),
		stopSignal: cmd.stopSignal(),
		pumped:     make(chan struct{}, 2),
		killing:    make(chan struct{}, 1),
		hurry:      make(chan struct{}),
		settled:    make(chan struct{}),
		observers:  cmd.observers,
	}
	r.arbiter.poll = backend.Poll
	if s, ok := backend.(interface{ Outcome() (Outcome, bool) }); ok {
		r.arbiter.told = s.Outcome
	}
	if s, ok := backend.(interface{ Cause() error }); ok {
		r.arbiter.why = s.Cause
	}
	r.arbiter.decided = make(chan struct{})
	r.feed.init()
	taps := newTaps(cmd.taps)
	for id, s := range [...]Stream{Stdout: cmd.Output.Stdout, Stderr: cmd.Output.Stderr} {
		p := &r.pumps[id]
		p.id, p.feed = StreamID(id), &r.feed
		p.sink.init(&s, p.chunk[:0])
		p.lines.init(p.id, &s)
		p.tee.init(p.id, &s, taps)
		p.shape = newShaper(p.id, &s)
		p.file = fileWriter{r.program, p.id, files[id].file}
		p.filed = files[id].file != nil
		p.fail = r.arbiter.fail
		p.overflow = r.arbiter.overflow
		p.over = func() { r.pumped <- struct{}{} }
		if r.idle > 0 {
			p.fed = func() { r.fed.Store(int64(time.Since(r.started))) }
		}
	}
	r.screen = newScreen(cmd, backend, taps)
	p := &Process{live: func() *run { return r }}
	if cmd.Stdin.Kind() == StdinInteractive {
		r.stdin = newInputPipe(interactive(backend), taps)
		p.stdin = func() *inputPipe { return r.stdin }
	}
	r.pumps[Stdout].reader = backend.Stdout()
	r.pumps[Stderr].reader = backend.Stderr()
	r.tell(Observation{Kind: ObservedStart})
	r.startTimers()
	go r.pumps[Stdout].run()
	go r.pumps[Stderr].run()
	go r.supervise()
	return p
}

// interactive is where interactive input goes.
func interactive(backend Backend) io.WriteCloser {
	if b, ok := backend.(interface{ Stdin() io.WriteCloser }); ok {
		return b.Stdin()
	}
	return unread{}
}

// supervise waits for the decision, ends the tree and the streams, and settles the run.
func (r *run) supervise() {
	r.await()
	exited := r.backend.Exited()
	if end := r.current(); !end.natural() && !closed(exited) {
		r.askToEnd(r.grace.after(end), exited)
	}
	// Only a child that has ended tells who else in the tree holds the streams. Who holds them after the kill is outside,
	// and shows in the draining.
	held := closed(exited) && r.backend.OutputHeld()
	teardown := r.backend.Kill()
	if o := r.current(); !o.natural() {
		r.tell(Observation{
			Kind: ObservedKill, Outcome: o, Duration: r.decidedAfter(), Mechanism: teardown.Mechanism, Survivors: len(teardown.Survivors),
		})
	}
	r.feed.release()
	waitFor(exited, exitPatience)
	status, known := r.backend.Poll()
	held = r.drain(teardown) || held
	var stdinErr error
	if s, ok := r.backend.(interface{ StdinErr() error }); ok {
		stdinErr = s.StdinErr()
	}
	teeErr := r.screen.finish()
	if r.stdin != nil {
		err, tapErr := r.stdin.finish()
		stdinErr, teeErr = cmp.Or(stdinErr, err), cmp.Or(teeErr, tapErr)
	}
	replayed := false
	if s, ok := r.backend.(interface{ Replayed() bool }); ok {
		replayed = s.Replayed()
	}
	piped := false
	if s, ok := r.backend.(interface{ StdoutPiped() bool }); ok {
		piped = s.StdoutPiped()
	}
	if err := r.backend.Close(); err != nil && teardown.Err == nil {
		teardown.Err = err
	}
	r.stopTimers()
	r.settle(result{
		status: status, statusKnown: known, pipesHeld: held, teardown: teardown, stdinErr: stdinErr, teeErr: teeErr,
		replayed: replayed, piped: piped,
	})
}

// await returns when the run is decided.
func (r *run) await() {
	for {
		select {
		case <-r.decided:
			return
		case <-r.backend.Exited():
			r.ended()
			return
		case <-r.killing:
			// What the child makes of it is its own end.
			r.backend.Kill()
		}
	}
}

// askToEnd gives the tree the grace to end by itself.
func (r *run) askToEnd(within time.Duration, exited <-chan struct{}) {
	if within <= 0 || r.backend.Terminate(r.stopSignal) != nil {
		return
	}
	grace := time.NewTimer(within)
	defer grace.Stop()
	select {
	case <-exited:
	case <-grace.C:
	case <-r.killing:
	}
}

// drain waits until both streams are at their end, and sees to it that they come to it. It reports whether somebody
// outside the tree held one open.
func (r *run) drain(gone Teardown) (held bool) {
	patience := readPatience
	if gone.Verified && gone.Guarantees.Has(contain.KillTree) {
		patience = sealedPatience
	}
	now := time.Now()
	var forced time.Time
	hurry := r.hurry
	if !r.current().natural() {
		forced, hurry = now, nil
	}
	for i := range r.pumps {
		r.pumps[i].clock(now, patience)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for left := len(r.pumps); left > 0; {
		// A pump that is busy with a tee wants no call; it may be reading the next time.
		wait := readPatience
		for i := range r.pumps {
			now := time.Now()
			due, abandoned := r.pumps[i].hasten(now, forced)
			if abandoned {
				left--
			}
			if !due.IsZero() {
				wait = min(wait, due.Sub(now))
			}
		}
		if left == 0 {
			break
		}
		timer.Reset(max(wait, time.Millisecond))
		select {
		case <-r.pumped:
			left--
		case <-hurry:
			forced, hurry = time.Now(), nil
		case <-timer.C:
		}
	}
	return r.pumps[Stdout].givenUp || r.pumps[Stderr].givenUp
}

// settle makes the Result. Nothing changes afterwards.
func (r *run) settle(res result) {
	for i := range r.pumps {
		p := &r.pumps[i]
		if p.sink.overflowed() {
			r.overflow()
		}
		var err error
		if p.abandoned {
			p.tee.off.Store(true)
			r.feed.end(p.id)
			err = teeError(p.id, errTeeStuck)
			if p.filed {
				r.fail(p.file.failed(errTeeStuck))
			}
		} else {
			err = p.onlookerErr()
		}
		if res.teeErr == nil {
			res.teeErr = err
		}
	}
	var at time.Time
	res.outcome, at, res.cause = r.arbiter.close()
	res.program, res.timeout, res.idle = r.program, r.timeout, r.idle
	res.duration, res.settled = at.Sub(r.started), time.Since(r.started)
	res.stdout = r.pumps[Stdout].captured()
	res.stderr = r.pumps[Stderr].captured()
	if res.outcome != Exited(0) {
		res.stdinErr = nil
	}
	r.result = &Result{open: res.self}
	if len(r.observers) > 0 {
		seen := res.observation()
		seen.PID, _ = r.backend.PID()
		observe(r.observers, seen)
	}
	close(r.settled)
}

// tell tells the observers of a run that is not over.
func (r *run) tell(seen Observation) {
	if len(r.observers) > 0 {
		seen.Program = r.program
		seen.PID, _ = r.backend.PID()
		observe(r.observers, seen)
	}
}

// decidedAfter is the time from the start until the run was decided, which it is.
func (r *run) decidedAfter() time.Duration {
	r.arbiter.mu.Lock()
	defer r.arbiter.mu.Unlock()
	return r.at.Sub(r.started)
}

// end offers an event that ends the run; when the run is decided already, it is a wish that it be over soon.
func (r *run) end(event Outcome, cause error) {
	if !r.interrupt(event, cause) {
		r.hurryOnce.Do(func() { close(r.hurry) })
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func waitFor(c <-chan struct{}, atMost time.Duration) {
	if closed(c) {
		return
	}
	t := time.NewTimer(atMost)
	defer t.Stop()
	select {
	case <-c:
	case <-t.C:
	}
}
