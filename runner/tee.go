package runner

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
)

// tee feeds the onlookers of one stream: the user's Tee and OnLine, and the taps. An onlooker that fails or panics is dropped; what
// is captured does not depend on it.
type tee struct {
	id  StreamID
	w   io.Writer
	tap *taps
	// onLine is nil when nobody wants lines.
	onLine func(Line)
	split  splitter
	err    error
	// off stops the feeding of a pump that was abandoned.
	off atomic.Bool
}

func (t *tee) feed(chunk []byte) {
	t.show(chunk)
	t.hand(chunk)
}

// announce says that a chunk is on its way to followers and taps, and shown that the taps have seen it.
func (t *tee) announce() {
	if t.tap != nil {
		t.tap.coming[t.id] <- struct{}{}
	}
}

func (t *tee) shown() {
	if t.tap != nil {
		<-t.tap.coming[t.id]
	}
}

// show gives the taps a chunk, hand everybody else.
func (t *tee) show(chunk []byte) {
	if t.tap != nil {
		t.note(t.tap.feed(t.id, chunk, &t.off))
	}
}

func (t *tee) hand(chunk []byte) {
	if t.w != nil && !t.off.Load() {
		if err := guard(func() error { return writeAll(t.w, chunk) }); err != nil {
			t.w = nil
			t.note(err)
		}
	}
	if t.onLine == nil {
		return
	}
	for rest := string(chunk); rest != "" && t.onLine != nil; {
		if line, ok := t.split.next(&rest); ok {
			t.line(line)
		}
	}
}

// end tells that nothing more comes.
func (t *tee) end() {
	if t.onLine == nil {
		return
	}
	if line, ok := t.split.last(); ok {
		t.line(line)
	}
}

func (t *tee) line(line Line) {
	if t.off.Load() {
		return
	}
	if err := guard(func() error { t.onLine(line); return nil }); err != nil {
		t.onLine = nil
		t.note(err)
	}
}

func (t *tee) init(id StreamID, s *Stream, tap *taps) {
	t.id, t.w, t.onLine, t.tap = id, s.Tee, s.OnLine, tap
	t.split.init(id, s)
}

// note keeps the first failure.
func (t *tee) note(err error) {
	if t.err == nil && err != nil {
		t.err = teeError(t.id, err)
	}
}

func teeError(id StreamID, err error) error { return fmt.Errorf("runner: tee of %s: %w", id, err) }

var (
	errTeeStuck = errors.New("abandoned, it was still writing when the run was over")
	errTeeCount = errors.New("invalid count from Write")
)

// writeAll gives w every byte, and goes on after a short write, as long as there is any progress.
func writeAll(w io.Writer, b []byte) error {
	for len(b) > 0 {
		n, err := w.Write(b)
		switch {
		case err != nil:
			return err
		case n < 0 || n > len(b):
			return errTeeCount
		case n == 0:
			return io.ErrShortWrite
		}
		b = b[n:]
	}
	return nil
}

// taps are what [Cmd.Tapped] added, fed by both streams, one chunk at a time.
type taps struct {
	// turn is a lock. A mutex would stop the clock of a testing/synctest bubble while it is waited for, and the time for
	// a stuck tap would never be over.
	turn chan struct{}
	// coming is held for each stream from before a chunk of it can be seen by a follower until the taps have seen it.
	coming [2]chan struct{}
	list   []func(StreamID, []byte)
}

func newTaps(list []func(StreamID, []byte)) *taps {
	if len(list) == 0 {
		return nil
	}
	t := &taps{turn: make(chan struct{}, 1), list: slices.Clone(list)}
	for id := range t.coming {
		t.coming[id] = make(chan struct{}, 1)
	}
	return t
}

// catchUp returns when the taps have seen whatever a caller who now acts may have seen: what he does comes behind it.
func (t *taps) catchUp() {
	for _, coming := range t.coming {
		coming <- struct{}{}
		<-coming
	}
}

func (t *taps) feed(id StreamID, chunk []byte, off *atomic.Bool) (failed error) {
	t.turn <- struct{}{}
	defer func() { <-t.turn }()
	for i, tap := range t.list {
		if tap == nil || off.Load() {
			continue
		}
		if err := guard(func() error { tap(id, chunk); return nil }); err != nil {
			t.list[i] = nil
			failed = err
		}
	}
	return failed
}

// guard turns a panic of f into an error. Of a panic's value only an error is kept: any other may hold output.
func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicError(v)
		}
	}()
	return f()
}

func panicError(v any) error {
	if e, ok := v.(error); ok {
		return fmt.Errorf("panic: %w", e)
	}
	return fmt.Errorf("panic with a %T", v)
}
