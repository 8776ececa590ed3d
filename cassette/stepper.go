package cassette

import (
	"sync"
	"time"

	"github.com/boombox-go/boombox/fake"
)

// Stepper is a clock that a test moves on by hand: the runs of a player with [WithStepper] keep their recorded pace by it. It is safe for
// concurrent use. Make it with [NewStepper].
//
//	clock := cassette.NewStepper()
//	deck := cassette.ForTest(t, cassette.WithStepper(clock))
//	p, err := deck.Start(ctx, cmd)
//	clock.Advance(time.Second) // what came in the first second is written, and nothing else
type Stepper struct {
	mu   sync.Mutex
	now  time.Duration
	runs []*steppedRun
}

// steppedRun is one run. It is busy until it waits, and when it is over.
type steppedRun struct {
	at, due time.Duration // how far it has come, and until when it waits
	// waits has a value while the run waits, and proceed lets it go on.
	waits, proceed chan struct{}
	over           <-chan struct{}
	known          chan struct{} // closed when over is set
	once           sync.Once
}

// NewStepper makes a clock that stands at 0.
func NewStepper() *Stepper { return &Stepper{} }

// WithStepper replays at the recorded pace by a clock that the test moves on, whatever [WithPace] says. By default there is none. A run that
// ended in a deadline ends there when the clock has come so far; the caller's own timeouts, shorter ones, go by the real clock, as does a
// conversation, which is moved on by its input.
func WithStepper(s *Stepper) Option {
	return func(o *options) error { o.stepper = s; return nil }
}

// Advance moves the clock on by d, and returns when all that is due by then has been written by its runs; their readers may still
// be at it.
func (s *Stepper) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	target := s.now + max(d, 0)
	for {
		var next *steppedRun
		left := s.runs[:0]
		for _, r := range s.runs {
			if !r.settle() {
				continue
			}
			left = append(left, r)
			if r.due <= target && (next == nil || r.due < next.due) {
				next = r
			}
		}
		s.runs = left
		if next == nil {
			s.now = target
			return
		}
		s.now = max(s.now, next.due)
		select {
		case <-next.waits:
			next.proceed <- struct{}{}
		case <-next.over:
		}
	}
}

// Elapsed is how far the clock has come.
func (s *Stepper) Elapsed() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// settle returns when the run waits, true, or is over, false.
func (r *steppedRun) settle() bool {
	select {
	case <-r.known:
	case token := <-r.waits:
		r.waits <- token
	}
	select {
	case token := <-r.waits:
		r.waits <- token
		return true
	case <-r.over:
		return false
	}
}

// begin is the clock of a run that starts now.
func (s *Stepper) begin() func(time.Duration, <-chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &steppedRun{at: s.now, waits: make(chan struct{}, 1), proceed: make(chan struct{}), known: make(chan struct{})}
	s.runs = append(s.runs, r)
	return r.wait
}

func (r *steppedRun) wait(d time.Duration, over <-chan struct{}) bool {
	r.due = r.at + max(d, 0)
	r.once.Do(func() {
		r.over = over
		close(r.known)
	})
	r.waits <- struct{}{}
	select {
	case <-r.proceed:
		r.at = r.due
		return true
	case <-over:
		select {
		case <-r.waits:
			return false
		case <-r.proceed: // it was let go at the same moment
			return false
		}
	}
}

// stepped makes a script go by the clock: a deadline that ended the run is its last chunk.
func (s *Stepper) stepped(script fake.Script) fake.Script {
	script.Wait = s.begin()
	script.Chunks = append(script.Chunks, fake.Chunk{})
	return script
}
