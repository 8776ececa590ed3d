package runner

import (
	"slices"
	"strings"
	"unsafe"
)

// The sizes of capture chunks, in bytes. The first is small, so that a quiet child costs little; each is twice the one
// before, up to maxChunk, at which the cost of a read no longer shows.
const (
	minChunk = 2 << 10
	maxChunk = 1 << 20
	// minRoom is the least worth a read: a chunk with less room is left as it is.
	minRoom = 512
)

// discardBacklog is how much of the beginning of a stream is held under [Discard] for a loop over its lines that comes
// soon after the start, in bytes.
const discardBacklog = 256 << 10

// sink keeps what one stream's policy lets it keep. It has no goroutine and no lock: whoever owns it feeds it. Bytes
// are read straight into its chunks (room, then wrote), or given whole (add), and what it keeps depends on the bytes
// alone, never on how they were cut.
type sink struct {
	policy Policy
	max    int64
	lines  lineCap
	// chunks hold what is kept, and for Tail up to one chunk more than max.
	chunks [][]byte
	held   int64
	// total is what was read of the stream, and offered what of it came here.
	total, offered int64
	// scratch is read into when nothing is kept any more.
	scratch []byte
	// spare is a chunk that Tail let go of last, for the next one.
	spare []byte
	// lent: somebody else reads the chunks, so that none is used again.
	lent bool
}

// init readies the sink. Its chunks are held in chunks as long as there is room: one saves most streams an allocation.
func (s *sink) init(stream *Stream, chunks [][]byte) {
	s.chunks = chunks
	s.policy, s.max = stream.Policy, stream.max()
	s.lines.framing, s.lines.most = stream.Framing, stream.MaxLines
}

// heads reports whether the first of the stream is kept, up to a cap.
func (s *sink) heads() bool { return s.policy == Fail || s.policy == Head }

// keeps reports whether any further byte can be kept.
func (s *sink) keeps() bool {
	switch s.policy {
	case Discard:
		return s.offered < discardBacklog
	case Tail:
		return s.max > 0
	default:
		return s.held < s.max && !s.lines.passed
	}
}

// room is where the next bytes are to be read to.
func (s *sink) room() []byte {
	if !s.keeps() {
		if s.scratch == nil {
			s.scratch = make([]byte, minChunk)
		}
		return s.scratch
	}
	size := minChunk
	if n := len(s.chunks); n > 0 {
		last := s.chunks[n-1]
		if free := last[len(last):cap(last)]; len(free) >= minRoom {
			return free
		}
		size = min(2*max(cap(last), minChunk), maxChunk)
	}
	if cap(s.spare) >= size {
		s.chunks = append(s.chunks, s.spare[:0])
	} else {
		s.chunks = append(s.chunks, make([]byte, 0, size))
	}
	s.spare = nil
	last := s.chunks[len(s.chunks)-1]
	return last[:cap(last)]
}

// wrote takes the first n bytes of the last room, which were read from the stream, and returns them.
func (s *sink) wrote(n int) []byte {
	s.total += int64(n)
	return s.took(n)
}

// put takes b, which is not what was read, by copying it.
func (s *sink) put(b []byte) {
	for len(b) > 0 {
		n := copy(s.room(), b)
		s.took(n)
		b = b[n:]
	}
}

// took takes the first n bytes of the last room, and returns them.
func (s *sink) took(n int) []byte {
	if !s.keeps() {
		s.offered += int64(n)
		read := s.scratch[:n:n]
		if n == len(s.scratch) && n < maxChunk/4 {
			s.scratch = make([]byte, 2*n)
		}
		return read
	}
	end := len(s.chunks) - 1
	last := s.chunks[end]
	read := last[len(last) : len(last)+n : len(last)+n]
	s.chunks[end] = last[:len(last)+s.admit(read)]
	s.drop()
	return read
}

// add takes b whole, and keeps it as it is, without a copy.
func (s *sink) add(b []byte) {
	s.total += int64(len(b))
	if len(b) == 0 || !s.keeps() {
		s.offered += int64(len(b))
		return
	}
	if excess := int64(len(b)) - s.max; s.policy == Tail && excess > 0 {
		s.offered += excess
		b = b[excess:]
	}
	n := s.admit(b)
	s.chunks = append(s.chunks, b[:n:n])
	s.drop()
}

// admit counts b as held, or as many of its bytes as the caps let in.
func (s *sink) admit(b []byte) int {
	n := len(b)
	s.offered += int64(n)
	if s.heads() {
		n = s.lines.admit(b[:min(int64(n), s.max-s.held)])
	}
	s.held += int64(n)
	return n
}

// drop lets go of the chunks that a Tail no longer needs, and of those that nobody came for in time of a Discard.
func (s *sink) drop() {
	if s.policy == Discard && !s.keeps() {
		s.chunks, s.held = nil, 0
	}
	for s.policy == Tail && len(s.chunks) > 1 && s.held-int64(len(s.chunks[0])) >= s.max {
		s.held -= int64(len(s.chunks[0]))
		if !s.lent {
			s.spare = s.chunks[0]
		}
		s.chunks = s.chunks[1:]
	}
}

// overflowed reports whether the stream passed a cap that fails the run.
func (s *sink) overflowed() bool { return s.policy == Fail && (s.total > s.max || s.lines.passed) }

// lend hands out what is kept so far. The sink may go on.
func (s *sink) lend(id StreamID) captured {
	s.lent = true
	c := captured{
		id: id, max: s.max, chunks: s.chunks, held: s.held, total: s.total, offered: s.offered,
		overflowed: s.overflowed(),
	}
	if s.lines.passed {
		c.maxLines = s.lines.most
	}
	if s.policy == Tail {
		c.keepLast(s.max)
	}
	if s.policy == Tail && s.lines.most > 0 {
		c.keepLast(lastLines(c.chunks, s.lines.framing, s.lines.most))
	}
	if s.policy == Tail || s.policy == Discard {
		c.begin = c.offered - c.held
	}
	return c
}

// finish hands out what is kept of a stream that is over. What a Discard holds is for readers alone.
func (s *sink) finish(id StreamID) captured {
	c := s.lend(id)
	if s.policy == Discard {
		c.chunks, c.held = nil, 0
	}
	return c
}

// captured is what was kept of one stream of a run that is over.
type captured struct {
	id     StreamID
	max    int64
	chunks [][]byte
	// late is all of the stream, in place of chunks.
	late  Late
	held  int64
	total int64
	// begin is where what was kept begins among the offered bytes.
	begin, offered int64
	// maxLines is the cap that it passed, if that is one of lines.
	maxLines int64
	// overflowed: it passed a cap that fails the run. partial: it was given up before its end.
	overflowed, partial bool
}

func (c *captured) truncated() bool { return c.partial || c.held < c.offered }

// keepLast drops what is before the last n bytes. The chunks may be in use elsewhere.
func (c *captured) keepLast(n int64) {
	excess := c.held - n
	if excess <= 0 {
		return
	}
	c.held = n
	c.chunks = slices.Clone(c.chunks)
	for excess > 0 && excess >= int64(len(c.chunks[0])) {
		excess -= int64(len(c.chunks[0]))
		c.chunks = c.chunks[1:]
	}
	if excess > 0 {
		c.chunks[0] = c.chunks[0][excess:]
	}
}

// bytes is a copy of what was kept. A strings.Builder does not clear the memory that it then fills, as make would; for
// hundreds of megabytes that is half of the time. Nobody else has its string.
func (c *captured) bytes() []byte {
	switch {
	case c.held == 0:
		return []byte{}
	case c.late != nil:
		return c.late.Read()
	}
	var b strings.Builder
	b.Grow(int(c.held))
	for _, chunk := range c.chunks {
		_, _ = b.Write(chunk)
	}
	s := b.String()
	return unsafe.Slice(unsafe.StringData(s), len(s))
}
