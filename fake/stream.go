package fake

import (
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
)

// stream is the reading end of one scripted output. It queues without copying and without a bound: a script is in
// memory already. It behaves as the read end of an [os.Pipe] does, but that data which is there beats a deadline.
type stream struct {
	mu       sync.Mutex
	queue    [][]byte
	ended    bool
	closed   bool
	deadline time.Time
	changed  chan struct{} // closed, and replaced, at every change
}

func newStream() *stream { return &stream{changed: make(chan struct{})} }

// update changes the stream under its lock and wakes its readers.
func (s *stream) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *stream) write(data []byte) {
	if len(data) > 0 {
		s.update(func() { s.queue = append(s.queue, data) })
	}
}

// end lets the readers see io.EOF after what is queued.
func (s *stream) end() { s.update(func() { s.ended = true }) }

// Read blocks until there is data, the end of the stream, a deadline or Close.
func (s *stream) Read(p []byte) (int, error) {
	for {
		n, changed, deadline, err := s.take(p)
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
		var expired <-chan time.Time
		var timer *time.Timer
		if !deadline.IsZero() {
			timer = time.NewTimer(time.Until(deadline))
			expired = timer.C
		}
		select {
		case <-changed:
		case <-expired:
		}
		if timer != nil {
			timer.Stop()
		}
	}
}

// take is Read without blocking. With nothing to give, it returns what to wait for.
func (s *stream) take(p []byte) (n int, changed <-chan struct{}, deadline time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		err = fs.ErrClosed
	case len(s.queue) > 0:
		n = copy(p, s.queue[0])
		if s.queue[0] = s.queue[0][n:]; len(s.queue[0]) == 0 {
			s.queue = s.queue[1:]
		}
	case s.ended:
		err = io.EOF
	case !s.deadline.IsZero() && !time.Now().Before(s.deadline):
		err = os.ErrDeadlineExceeded
	}
	return n, s.changed, s.deadline, err
}

// SetReadDeadline makes a Read that waits for data fail with [os.ErrDeadlineExceeded] at t; the zero time waits for
// ever.
func (s *stream) SetReadDeadline(t time.Time) error {
	s.update(func() { s.deadline = t })
	return nil
}

// Close drops what is queued and fails every Read.
func (s *stream) Close() error {
	s.update(func() { s.closed, s.queue = true, nil })
	return nil
}
