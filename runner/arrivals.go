package runner

import "slices"

// mostSpans bounds what is remembered of the order in which two streams arrived, in spans of 16 bytes.
const mostSpans = 4096

// Span is a number of bytes of one stream.
type Span struct {
	Stream StreamID
	Bytes  int64
}

// arrivals is the order in which the bytes of both streams came, as far as it is remembered: beyond mostSpans changes
// from one stream to the other it is not, and the rest of one stream counts as before the rest of the other.
type arrivals struct{ spans []Span }

func (a *arrivals) add(id StreamID, n int) {
	if last := len(a.spans) - 1; last >= 0 && a.spans[last].Stream == id {
		a.spans[last].Bytes += int64(n)
	} else if n > 0 && len(a.spans) < mostSpans {
		a.spans = append(a.spans, Span{id, int64(n)})
	}
}

// merged is both streams as one.
func (a *arrivals) merged(stdout, stderr []byte) []byte {
	if len(stderr) == 0 {
		return stdout
	}
	all := make([]byte, 0, len(stdout)+len(stderr))
	for _, p := range a.replay(whole(Stdout, stdout), whole(Stderr, stderr)) {
		all = append(all, p.data...)
	}
	return all
}

// whole is a stream of which everything is there.
func whole(id StreamID, b []byte) captured {
	n := int64(len(b))
	return captured{id: id, chunks: [][]byte{b}, held: n, total: n, offered: n}
}

// replay puts what was kept of both streams into the order of its arrival, and says where something is missing.
func (a *arrivals) replay(stdout, stderr captured) (queue []piece) {
	stdout.chunks, stderr.chunks = slices.Clone(stdout.chunks), slices.Clone(stderr.chunks)
	streams := [2]kept{Stdout: {captured: stdout}, Stderr: {captured: stderr}}
	queue = make([]piece, 0, len(a.spans)+4) // mostly one a span, and the rest and the end of both
	for _, span := range a.spans {
		queue = streams[span.Stream].advance(queue, span.Bytes)
	}
	for i := range streams {
		queue = streams[i].advance(queue, streams[i].offered-streams[i].at)
	}
	return queue
}

// kept walks over one stream as it came, with what was kept of it.
type kept struct {
	captured
	// at is how far the walk is, among all bytes that came.
	at int64
	// used is how much of the chunks it has handed out.
	used int64
}

// advance walks over the next n bytes.
func (k *kept) advance(queue []piece, n int64) []piece {
	n = min(n, k.offered-k.at)
	if n <= 0 {
		return queue
	}
	from, to := k.at, k.at+n
	k.at = to
	first, last := k.begin, k.begin+k.held
	if gap := min(to, first) - from; gap > 0 {
		queue = missed(queue, k.id, gap)
	}
	for want := min(to, last) - max(from, first); want > 0; {
		chunk := k.chunks[0]
		if int64(len(chunk)) > want {
			k.chunks[0], chunk = chunk[want:], chunk[:want]
		} else {
			k.chunks = k.chunks[1:]
		}
		want -= int64(len(chunk))
		queue = append(queue, piece{id: k.id, data: chunk})
	}
	if gap := to - max(from, last); gap > 0 {
		queue = missed(queue, k.id, gap)
	}
	return queue
}

// missed adds a gap, or widens the one before.
func missed(queue []piece, id StreamID, n int64) []piece {
	if last := len(queue) - 1; last >= 0 && queue[last].id == id && queue[last].missed > 0 {
		queue[last].missed += n
		return queue
	}
	return append(queue, piece{id: id, missed: n})
}
