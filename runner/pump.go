package runner

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

const (
	// readPatience is how long a stream may give nothing, once the tree is gone, before it is given up: somebody outside
	// the tree holds it open.
	readPatience = 250 * time.Millisecond
	// forcedPatience bounds everything that is left to do for a stream once the tree of a run that was ended by us is
	// gone: a tee that is still writing then is abandoned.
	forcedPatience = 500 * time.Millisecond
)

// pump reads one stream to its end: each chunk goes into the sink first and to the onlookers then, so that a tee which
// is stuck holds up the child and loses nothing that was read.
type pump struct {
	reader io.ReadCloser
	tee    tee
	// overflow is called when the sink passes a cap that fails the run, fed after each chunk that is dealt with, over
	// once, when the pump has ended by itself. fed may be nil.
	overflow, fed, over func()

	mu   sync.Mutex
	sink sink
	// reading: the pump is in Read. Otherwise it is busy with the onlookers.
	reading bool
	// clocked: the pump notes since when it reads. Only the ending needs to know.
	clocked bool
	since   time.Time
	// done: the pump has ended by itself. abandoned: it was given no more time, and the sink is no longer its own.
	done, abandoned bool
	// atEnd: the reader is exhausted, or gave an error. givenUp: it was told to end. partial: bytes may be missing.
	atEnd, givenUp, partial bool
}

// run is the pump's one goroutine.
func (p *pump) run() {
	for {
		room, ok := p.enter()
		if !ok {
			break
		}
		n, err := p.reader.Read(room)
		chunk, over := p.leave(n, err)
		if over {
			p.overflow()
		}
		if len(chunk) == 0 {
			continue
		}
		p.tee.feed(chunk)
		if p.fed != nil {
			p.fed()
		}
	}
	if p.finish() {
		_ = p.reader.Close()
		p.over()
	}
}

// enter makes room for a Read, unless there is none to come.
func (p *pump) enter() (room []byte, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.atEnd || p.abandoned {
		return nil, false
	}
	p.reading = true
	if p.clocked {
		p.since = time.Now()
	}
	return p.sink.room(), true
}

// leave accounts for what a Read gave. over reports that the cap was passed just now.
func (p *pump) leave(n int, err error) (chunk []byte, over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reading = false
	if p.abandoned {
		return nil, false
	}
	if n > 0 {
		before := p.sink.overflowed()
		chunk = p.sink.wrote(n)
		over = !before && p.sink.overflowed()
	}
	if err != nil {
		p.atEnd = true
		p.partial = err != io.EOF && !p.released(err)
	}
	return chunk, over
}

// released reports whether err ends a stream that is only held open: what it was given up with, after all that it had.
func (p *pump) released(err error) bool {
	if err == errStranger {
		p.givenUp = true
	}
	return p.givenUp && (err == errStranger || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed))
}

// errStranger ends a stream on which somebody outside the tree writes without end.
var errStranger = errors.New("runner: stream is held from outside the tree")

// finish reports whether the stream is the pump's own to the last.
func (p *pump) finish() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = !p.abandoned
	return p.done
}

// busy reports whether the onlookers have the last chunk still.
func (p *pump) busy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.reading && !p.done
}

// clock starts the time that a pending Read is given.
func (p *pump) clock(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clocked, p.since = true, now
}

// hasten does what is due at now to make the pump end: a reader that gives nothing is given up, and a pump whose time
// is over is abandoned. forced is when the run began to be ended by us, zero when it ended by itself. It returns
// when it wants to be called again, zero for never, and whether it abandoned the pump.
func (p *pump) hasten(now, forced time.Time) (next time.Time, abandoned bool) {
	p.mu.Lock()
	var due time.Time
	switch {
	case p.done || p.abandoned:
		p.mu.Unlock()
		return time.Time{}, false
	case p.reading:
		due = p.since.Add(readPatience)
		if !forced.IsZero() && due.After(forced.Add(forcedPatience)) {
			due = forced.Add(forcedPatience)
		}
	case !forced.IsZero():
		due = forced.Add(forcedPatience)
	default:
		p.mu.Unlock()
		return time.Time{}, false
	}
	if now.Before(due) {
		p.mu.Unlock()
		return due, false
	}
	if p.reading && !p.givenUp {
		p.givenUp = true
		p.since = now
		p.mu.Unlock()
		p.giveUp()
		return now.Add(readPatience), false
	}
	p.abandoned, p.partial = true, true
	stuckInRead := p.reading
	p.mu.Unlock()
	if !stuckInRead {
		p.salvage()
	}
	_ = p.reader.Close()
	return time.Time{}, true
}

// giveUp makes a pending and any further Read return what is there already, and end then.
func (p *pump) giveUp() bool {
	d, ok := p.reader.(interface{ SetReadDeadline(t time.Time) error })
	if ok && d.SetReadDeadline(longAgo) == nil {
		return true
	}
	_ = p.reader.Close()
	return false
}

// longAgo is a deadline that has passed under any clock.
var longAgo = time.Unix(1, 0)

// salvage takes what an abandoned pump has left in its stream. The pump's own goroutine is with an onlooker, and
// touches neither the reader nor the sink any more.
func (p *pump) salvage() {
	if !p.giveUp() {
		return
	}
	for {
		n, err := p.reader.Read(p.sink.room())
		if n > 0 {
			p.sink.wrote(n)
		}
		if err != nil {
			p.partial = err != io.EOF
			return
		}
	}
}

// captured is what the stream came to. The pump is done, or abandoned.
func (p *pump) captured(id StreamID) captured {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.sink.finish(id)
	c.partial = p.partial
	return c
}
