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
	// sealedPatience takes its place where no descendant can have left the tree. A stream that is open still is then
	// most likely held by a child that is just being started elsewhere in this program: until its exec has closed them, it
	// has a copy of every descriptor of ours, and on a machine that is busy twenty times over that took 500 ms.
	sealedPatience = time.Second
	// teePatience is how long one chunk may keep the onlookers once the tree of a run that was ended by us is gone: those
	// of a stream that takes longer are abandoned.
	teePatience = 500 * time.Millisecond
	// forcedBound is when such a run is done with its streams, come what may.
	forcedBound = 900 * time.Millisecond
)

// pump reads one stream to its end: each chunk goes into the sink first and to the onlookers then, so that a tee which
// is stuck holds up the child and loses nothing that was read.
type pump struct {
	id     StreamID
	reader io.ReadCloser
	tee    tee
	feed   *feed
	// lines is how the stream is cut into lines.
	lines splitter
	// shape is nil when the stream is kept as it is. raw is read into when it is not.
	shape *shaper
	raw   []byte
	file  fileWriter
	// filed: the stream has a file.
	filed bool
	// fail is called when the file cannot be written.
	fail func(error)
	// overflow is called when the sink passes a cap that fails the run, fed after each chunk that is dealt with, over
	// once, when the pump has ended by itself. fed may be nil.
	overflow, fed, over func()

	mu   sync.Mutex
	sink sink
	// chunk is where the sink has its first.
	chunk [1][]byte
	// reading: the pump is in Read. Otherwise it is busy with the onlookers.
	reading bool
	// clocked: the pump notes since when it does either. Only the ending needs to know.
	clocked  bool
	since    time.Time
	patience time.Duration
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
		p.tee.announce()
		chunk, over := p.leave(n, err)
		if over {
			p.overflow()
		}
		if len(chunk) == 0 {
			p.tee.shown()
			continue
		}
		if p.shape != nil {
			p.keep(p.shape.feed(chunk))
		} else {
			p.store(chunk)
		}
		p.tee.show(chunk)
		p.tee.shown()
		p.tee.hand(chunk)
		p.feed.pace(p.id)
		if p.fed != nil {
			p.fed()
		}
	}
	if p.shape != nil {
		p.keep(p.shape.flush())
	}
	p.tee.end()
	if err := p.file.close(); err != nil {
		p.fail(err)
	}
	if p.finish() {
		_ = p.reader.Close()
		p.feed.end(p.id)
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
	p.turn(true)
	if p.shape == nil {
		return p.sink.room(), true
	}
	if p.raw == nil {
		p.raw = make([]byte, rawChunk)
	}
	return p.raw, true
}

// rawChunk is how much is read at once of a stream that is not kept as it is, in bytes.
const rawChunk = 32 << 10

// keep takes what the shaper made of a chunk.
func (p *pump) keep(b []byte) {
	p.mu.Lock()
	abandoned := p.abandoned
	over := false
	if !abandoned {
		before := p.sink.overflowed()
		p.sink.put(b)
		over = !before && p.sink.overflowed()
		p.feed.push(p.id, b)
	}
	p.mu.Unlock()
	if over {
		p.overflow()
	}
	if !abandoned {
		p.store(b)
	}
}

// store writes to the stream's file.
func (p *pump) store(b []byte) {
	if err := p.file.write(b); err != nil {
		p.fail(err)
	}
}

// turn notes what the pump is at. The caller holds mu.
func (p *pump) turn(reading bool) {
	p.reading = reading
	if p.clocked {
		p.since = time.Now()
	}
}

// leave accounts for what a Read gave. over reports that the cap was passed just now.
func (p *pump) leave(n int, err error) (chunk []byte, over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn(false)
	if p.abandoned {
		return nil, false
	}
	if n > 0 {
		before := p.sink.overflowed()
		if p.shape != nil {
			p.sink.total += int64(n)
			chunk = p.raw[:n]
		} else {
			chunk = p.sink.wrote(n)
			p.feed.push(p.id, chunk)
		}
		over = !before && p.sink.overflowed()
	}
	if err != nil {
		p.atEnd = true
		p.partial = !p.released(err)
	}
	return chunk, over
}

// released reports whether err comes after all that the stream had: at its end, or when it was given up for being held
// open. The caller holds mu.
func (p *pump) released(err error) bool {
	switch {
	case err == io.EOF:
		p.givenUp = false
		return true
	case err == errStranger:
		p.givenUp = true
		return true
	default:
		return p.givenUp && (errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed))
	}
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

// clock starts the time that a pending Read, or a busy onlooker, is given.
func (p *pump) clock(now time.Time, patience time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clocked, p.since, p.patience = true, now, patience
}

// hasten does what is due at now to make the pump end: a reader that gives nothing is given up, and a pump whose time
// is over is abandoned. forced is when the run began to be ended by us, zero when it ended by itself. It returns
// when it wants to be called again, zero for never, and whether it abandoned the pump.
func (p *pump) hasten(now, forced time.Time) (next time.Time, abandoned bool) {
	p.mu.Lock()
	due := p.due(forced)
	if due.IsZero() || now.Before(due) {
		p.mu.Unlock()
		return due, false
	}
	if p.reading && !p.givenUp {
		p.givenUp, p.since = true, now
		due = p.due(forced)
		p.mu.Unlock()
		p.giveUp()
		return due, false
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

// due is when the next thing has to happen to the pump, zero for never. The caller holds mu.
func (p *pump) due(forced time.Time) (due time.Time) {
	bound := forced.Add(forcedBound)
	switch {
	case p.done || p.abandoned:
		return time.Time{}
	case p.reading && !p.givenUp:
		due, bound = p.since.Add(p.patience), bound.Add(-readPatience)
	case p.reading:
		due = p.since.Add(readPatience)
	case forced.IsZero():
		return time.Time{}
	case p.since.Before(forced):
		due = forced.Add(teePatience)
	default:
		due = p.since.Add(teePatience)
	}
	if !forced.IsZero() && due.After(bound) {
		return bound
	}
	return due
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
// touches neither the reader nor the sink any more. Where lines are redacted, what is left cannot be, and is dropped.
func (p *pump) salvage() {
	if !p.giveUp() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		room := p.raw
		if p.shape == nil {
			room = p.sink.room()
		}
		n, err := p.reader.Read(room)
		switch {
		case n > 0 && p.shape == nil:
			p.feed.push(p.id, p.sink.wrote(n))
		case n > 0:
			p.sink.total += int64(n)
		}
		if err != nil {
			p.partial = err != io.EOF || p.shape != nil
			return
		}
	}
}

// onlookerErr is what went wrong with whoever looked on, of a pump that has ended by itself.
func (p *pump) onlookerErr() error {
	if p.tee.err == nil && p.shape != nil {
		return p.shape.err
	}
	return p.tee.err
}

// captured is what the stream came to. The pump is done, or abandoned.
func (p *pump) captured() captured {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.sink.finish(p.id)
	c.partial = p.partial
	return c
}
