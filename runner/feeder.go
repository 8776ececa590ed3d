package runner

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// feeder writes a source to the child's standard input. What fits into the pipe is written before the start, so that
// little input costs no goroutine.
type feeder struct {
	pipe *os.File
	// rest is what of the bytes did not fit; source is nil unless there is a reader.
	rest   []byte
	source io.Reader
	// closer, if not nil, is closed with the feeding.
	closer io.Closer
	// done is closed when the goroutine is over; nil when there is none.
	done chan struct{}

	mu      sync.Mutex
	stopped bool
	// reading: the goroutine is in the source's Read, where nothing reaches it.
	reading bool
	err     error
}

// newFeeder makes the child's end and ours.
func newFeeder(src *stdinSource) (childs *os.File, f *feeder, err error) {
	ours, childs, err := pipe(false)
	if err != nil {
		return nil, nil, err
	}
	f = &feeder{pipe: ours, source: src.reader, rest: src.data}
	if f.source == nil {
		f.rest = f.rest[prefill(ours, f.rest):]
	}
	return childs, f, nil
}

// start feeds the rest. It is called when the child is there.
func (f *feeder) start() {
	if f.source == nil && len(f.rest) == 0 {
		_ = f.pipe.Close()
		return
	}
	f.done = make(chan struct{})
	go f.run()
}

func (f *feeder) run() {
	defer close(f.done)
	defer f.letGo()
	if f.source == nil {
		_, err := f.pipe.Write(f.rest)
		f.unwritten(err)
		return
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := f.read(buf)
		if n > 0 {
			if _, werr := f.pipe.Write(buf[:n]); werr != nil {
				f.unwritten(werr)
				return
			}
		}
		if err != nil {
			if err != io.EOF {
				f.fail(err)
			}
			return
		}
	}
}

// read reads from the source, which may block for ever, fail or panic.
func (f *feeder) read(buf []byte) (n int, err error) {
	if !f.setReading(true) {
		return 0, io.EOF
	}
	defer func() {
		if v := recover(); v != nil {
			n, err = 0, panicError(v)
		}
		if !f.setReading(false) {
			n, err = 0, io.EOF
		}
	}()
	return f.source.Read(buf)
}

// setReading reports whether the feeding goes on.
func (f *feeder) setReading(reading bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reading = reading
	return !f.stopped
}

// unwritten takes the error of a write. That the child does not want its input is no failure.
func (f *feeder) unwritten(err error) {
	if err != nil && !brokenPipe(err) {
		f.fail(err)
	}
}

// fail records why the child did not get all of its input.
func (f *feeder) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return
	}
	f.err = fmt.Errorf("runner: source of standard input: %w", err)
}

// failure is the error of the source.
func (f *feeder) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// stop ends the feeding. When it returns the goroutine is over, unless it is in the source's Read.
func (f *feeder) stop() {
	f.mu.Lock()
	f.stopped = true
	f.mu.Unlock()
	_ = f.pipe.Close()
	if f.done == nil {
		f.letGo()
		return
	}
	f.mu.Lock()
	reading := f.reading
	f.mu.Unlock()
	if !reading {
		<-f.done
	}
}

func (f *feeder) letGo() {
	_ = f.pipe.Close()
	if f.closer != nil {
		_ = f.closer.Close()
	}
}

// brokenPipe reports whether a write failed because nobody reads any more.
func brokenPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) || brokenPipeCode(err)
}
