package cassette

import (
	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/runner"
)

// script is the run as the engine of package fake plays it.
func (r *runText) script(t translator, pace Pace) fake.Script {
	if r.end.failure != nil {
		return fake.Script{StartErr: r.end.failure.err(programOf(r.argv()), t), Replayed: true}
	}
	s := fake.Script{Outcome: r.end.outcome, Status: r.end.knownStatus(), PipesHeld: r.held, Replayed: true, Pending: r.pending(), Teardown: r.teardown()}
	arrivals := r.tape()
	s.Duration = arrivals.duration()
	if r.start[secTape] == 0 {
		for id := range r.cut {
			if n := r.total(runner.StreamID(id)); n > 0 {
				arrivals.chunks = append(arrivals.chunks, arrival{stream: runner.StreamID(id), n: n})
			}
		}
	}
	var streams [2]capture
	for id := range streams {
		c := r.capture(runner.StreamID(id))
		c.data, arrivals = translateStream(c, runner.StreamID(id), arrivals, t.toLive)
		streams[id] = c
	}
	input := r.talk(&arrivals, t)
	for _, a := range arrivals.chunks {
		wait := pace.wait(a.after)
		switch a.stream {
		case inStream:
			s.Chunks = append(s.Chunks, fake.Chunk{Reads: input[:a.n:a.n]})
			input = input[a.n:]
			continue
		case inClosed:
			s.Chunks = append(s.Chunks, fake.Chunk{ReadsEOF: true})
			continue
		case resized:
			s.Chunks = append(s.Chunks, fake.Chunk{Resize: unpackSize(a.n)})
			continue
		}
		for a.n > 0 {
			data := streams[a.stream].take(a.n)
			s.Chunks = append(s.Chunks, fake.Chunk{After: wait, Stream: a.stream, Data: data})
			a.n -= int64(len(data))
			wait = 0
		}
	}
	if wait := pace.wait(arrivals.exit); wait > 0 {
		s.Chunks = append(s.Chunks, fake.Chunk{After: wait})
	}
	return s
}

// pending reports whether the run did not end by itself: at any pace but Instant it is played until its deadline ends
// it again, or its caller.
func (r *runText) pending() bool {
	switch r.end.outcome {
	case runner.Cancelled, runner.TimedOut, runner.IdleTimedOut:
		return true
	}
	return false
}

// finished is the run as one that is over before it is played: what an instant script comes to, without the chunks.
func (r *runText) finished(t translator) runner.Finished {
	f := runner.Finished{Outcome: r.end.outcome, Status: r.end.knownStatus(), PipesHeld: r.held, Replayed: true, Teardown: r.teardown()}
	if t.none() && r.start[secCut] == 0 {
		f.Late = [2]runner.Late{(*stdoutOf)(r), (*stderrOf)(r)}
		f.Arrival, f.Duration = r.arrivals()
		return f
	}
	for id, stream := range [2]*[]byte{&f.Stdout, &f.Stderr} {
		c := r.capture(runner.StreamID(id))
		*stream = t.toLive(c.data, nil)
		if filler := make([]byte, c.dropped); c.tail {
			*stream = append(filler, *stream...)
		} else if c.dropped > 0 {
			*stream = append(*stream, filler...)
		}
	}
	f.Arrival, f.Duration = r.arrivals()
	// Where a token stands for more or less than it does here, the order is not known any more.
	if int64(len(f.Stdout)) != r.total(runner.Stdout) || int64(len(f.Stderr)) != r.total(runner.Stderr) {
		f.Arrival = nil
	}
	return f
}

// stdoutOf and stderrOf are streams of a run that are decoded when somebody reads them.
type (
	stdoutOf runText
	stderrOf runText
)

func (r *stdoutOf) Len() int     { return r.size[secOut-secIn] }
func (r *stdoutOf) Read() []byte { return (*runText)(r).stream(secOut) }
func (r *stderrOf) Len() int     { return r.size[secErr-secIn] }
func (r *stderrOf) Read() []byte { return (*runText)(r).stream(secErr) }

// teardown is what is known of the tree: the evidence of its caps, and nothing of how it was held.
func (r *runText) teardown() runner.Teardown { return runner.Teardown{Evidence: r.evidence()} }

// capture is one stream as the file has it.
func (r *runText) capture(id runner.StreamID) capture {
	c := capture{data: r.output(id), tail: r.cut[id].tail}
	c.dropped = r.total(id) - int64(len(c.data))
	return c
}

// filler stands for bytes that a cassette does not hold. Only a policy that drops them gets to see them; see
// runText.serves.
var filler [32 << 10]byte

// take removes at most n bytes from the start of a stream, kept or not.
func (c *capture) take(n int64) []byte {
	if c.dropped > 0 && (c.tail || len(c.data) == 0) {
		n = min(n, c.dropped, int64(len(filler)))
		c.dropped -= n
		return filler[:n:n]
	}
	n = min(n, int64(len(c.data)))
	data := c.data[:n:n]
	c.data = c.data[n:]
	return data
}

// serves reports whether the cassette holds all that cmd would keep of the run's output: of a cut stream, cmd must
// drop what the cassette does not have.
func (r *runText) serves(cmd *runner.Cmd, t translator) bool {
	if r.start[secCut] == 0 {
		return true
	}
	for id, s := range [2]runner.Stream{cmd.Output.Stdout, cmd.Output.Stderr} {
		c := r.cut[id]
		if c.total == 0 {
			continue
		}
		kept := len(t.toLive(r.output(runner.StreamID(id)), nil))
		most := s.MaxBytes
		if most == 0 {
			most = runner.DefaultMaxBytes
		}
		fits := most <= int64(kept) && (s.Policy == runner.Tail) == c.tail
		if s.Tee != nil || s.Policy != runner.Discard && !fits {
			return false
		}
	}
	return true
}
