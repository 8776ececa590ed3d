package cassette

import (
	"time"

	"github.com/boombox-go/boombox/runner"
)

const (
	// alwaysKept is how much of a stream a recorder keeps even if the command's own policy drops it.
	alwaysKept = 1 << 20
	// MaxStream is the most bytes that a recorded run may write to one stream, kept or dropped.
	MaxStream = 256 << 20
)

// observed is one output stream while it is recorded. Of a stream that outgrows what its command keeps, the recorder
// keeps no more than the same policy would need again.
type observed struct {
	data  []byte
	total int64
	limit int
	tail  bool
	// whole says that every byte will be asked for.
	whole bool
}

func observe(s runner.Stream) observed {
	most := s.MaxBytes
	if most == 0 {
		most = runner.DefaultMaxBytes
	}
	o := observed{limit: int(min(max(most, alwaysKept), MaxRun)), tail: s.Policy == runner.Tail}
	switch {
	case s.Tee != nil:
		o.limit, o.tail, o.whole = MaxRun, false, true
	case s.Policy == runner.Discard:
		o.limit = alwaysKept
	default:
		o.whole = most > MaxRun
	}
	return o
}

func (o *observed) write(chunk []byte) {
	o.total += int64(len(chunk))
	if !o.tail {
		chunk = chunk[:min(len(chunk), o.limit-len(o.data))]
	}
	o.data = append(o.data, chunk...)
	if len(o.data) > 2*o.limit {
		o.data = o.data[:copy(o.data, o.data[len(o.data)-o.limit:])]
	}
}

// capture is the stream when it is over, or why it cannot be recorded.
func (o *observed) capture() (capture, string) {
	c := capture{data: o.data, tail: o.tail}
	if c.tail && len(c.data) > o.limit {
		c.data = c.data[len(c.data)-o.limit:]
	}
	c.dropped = o.total - int64(len(c.data))
	switch {
	case o.total > MaxStream:
		return c, "it wrote more to one stream than a cassette can account for"
	case o.whole && c.dropped > 0:
		return c, "it wrote more than a cassette holds, and its command keeps all of it"
	}
	c.tail = c.tail && c.dropped > 0
	return c, ""
}

// clock notes when which stream gave how much, in bounded memory.
type clock struct {
	marks []mark
	// grain is how finely times are kept: it grows when there are too many marks.
	grain time.Duration
	// talk says that input was noted: the order is then more than evidence, and no marks are joined.
	talk bool
}

// maxTurns bounds the marks of a conversation.
const maxTurns = 1 << 18

type mark struct {
	at     time.Duration // since the start
	stream runner.StreamID
	n      int64
}

func (c *clock) note(at time.Duration, id runner.StreamID, n int) {
	if len(c.marks) >= 2*maxChunks && !c.talk {
		c.coarsen()
	}
	c.marks = append(c.marks, mark{at, id, int64(n)})
}

// coarsen joins what each stream gave within one grain of time, until few enough marks are left.
func (c *clock) coarsen() {
	for c.grain = max(c.grain, time.Millisecond/2); len(c.marks) > maxChunks; {
		c.grain *= 2
		kept := c.marks[:0]
		var last [2]int // the index of each stream's mark in this grain, from 1
		bucket := time.Duration(-1)
		for _, m := range c.marks {
			if b := m.at / c.grain; b != bucket {
				bucket, last = b, [2]int{}
			}
			if i := last[m.stream]; i > 0 {
				kept[i-1].n += m.n
				continue
			}
			kept = append(kept, m)
			last[m.stream] = len(kept)
		}
		c.marks = kept
	}
}

// tape is the arrival line of a run that took duration.
func (c *clock) tape(duration time.Duration) tape {
	if len(c.marks) > maxChunks && !c.talk {
		c.coarsen()
	}
	t := tape{chunks: make([]arrival, 0, len(c.marks))}
	var before time.Duration
	for _, m := range c.marks {
		at := max(m.at.Truncate(time.Millisecond), before)
		t.chunks = append(t.chunks, arrival{after: min(at-before, maxWait), stream: m.stream, n: m.n})
		before = at
	}
	t.exit = min(max(duration.Truncate(time.Millisecond)-before, 0), maxWait)
	return t
}
