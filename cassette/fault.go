package cassette

import (
	"fmt"
	"syscall"
	"time"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/runner"
)

// Fault changes one run, to make of a true recording what a test of failures needs; see [Tape.Derive].
type Fault func(*draft)

// Derive returns the cassette with run number run, from 1, changed by faults, in their order. It is in memory: play it with [NewPlayer]. What a
// fault does not change is as it was recorded.
//
//	tape, err := cassette.Load("testdata/clone.cassette")
//	broken, err := tape.Derive(2, cassette.FaultKill(4096))
//	player, err := cassette.NewPlayer(broken)
func (t *Tape) Derive(run int, faults ...Fault) (*Tape, error) {
	p := *t.state()
	if run < 1 || run > len(p.runs) {
		return nil, fmt.Errorf("cassette: there is no run %d among %d", run, len(p.runs))
	}
	d := p.runs[run-1].draft()
	for _, fault := range faults {
		fault(d)
	}
	text := append(d.append(nil, translator{}, nil), p.runs[run-1].annotations()...)
	changed, err := readRun(text, defaultLimits, nil)
	if err != nil {
		return nil, &RecordError{Run: run, Program: programOf(d.argv), Err: err}
	}
	p.runs = append([]runText(nil), p.runs...)
	p.runs[run-1] = changed
	p.settle()
	return newTape(&p), nil
}

// FaultExit makes the run end with an exit code instead of what it did.
func FaultExit(code int) Fault {
	return func(d *draft) {
		d.end = ending{outcome: runner.Exited(code), status: contain.ExitStatus{Code: code}, known: true}
	}
}

// FaultSignal makes a signal end the run, after all of its output.
func FaultSignal(sig syscall.Signal) Fault {
	return func(d *draft) {
		d.end = ending{outcome: runner.Signalled(sig), status: contain.ExitStatus{Signal: sig}, known: true}
	}
}

// FaultStart makes the start of the run fail.
func FaultStart(kind runner.StartKind) Fault {
	return func(d *draft) {
		*d = draft{argv: d.argv, dir: d.dir, env: d.env, stdin: d.stdin, inherit: d.inherit, interactive: d.interactive, pty: d.pty, end: ending{failure: &startFailure{kind: kind}}}
		if d.interactive {
			d.stdin = nil
		}
	}
}

// FaultTruncate ends one output stream after so many bytes: what a program wrote whose disk or pipe was full. The run ends as it did.
func FaultTruncate(stream runner.StreamID, bytes int64) Fault {
	return func(d *draft) {
		var kept int64
		d.filter(func(a arrival) int64 {
			if a.stream != stream {
				return a.n
			}
			n := min(a.n, max(bytes-kept, 0))
			kept += n
			return n
		})
	}
}

// FaultKill makes SIGKILL end the run midway: when it had written so many bytes to both streams together, in the order in which they came.
// What was read and written later did not happen.
func FaultKill(bytes int64) Fault {
	return func(d *draft) {
		left := bytes
		over := false
		d.filter(func(a arrival) int64 {
			if a.stream >= inStream {
				if over {
					return -1
				}
				return a.n
			}
			n := min(a.n, left)
			left -= n
			over = over || n < a.n || left == 0
			return n
		})
		d.tape.exit, d.held = 0, false
		FaultSignal(syscall.SIGKILL)(d)
	}
}

// FaultDelay makes the run take longer before it writes anything, or before it ends where it writes nothing. An instant replay
// has no delays; see [WithPace].
func FaultDelay(by time.Duration) Fault {
	return func(d *draft) {
		d.filter(func(a arrival) int64 { return a.n })
		if len(d.tape.chunks) == 0 {
			d.tape.exit += by
		} else {
			d.tape.chunks[0].after += by
		}
	}
}

// filter goes through what arrived, in its order, and keeps of each arrival as many bytes as keep says; -1 drops it. Streams are cut
// to what is kept, and the dropped part of one that is not whole is then gone.
func (d *draft) filter(keep func(arrival) int64) {
	if !d.taped {
		for id, c := range d.stream {
			if n := int64(len(c.data)) + c.dropped; n > 0 {
				d.tape.chunks = append(d.tape.chunks, arrival{stream: runner.StreamID(id), n: n})
			}
		}
		d.taped = d.end.failure == nil
	}
	var totals [onTape]int64
	var kept []arrival
	var carried time.Duration
	for _, a := range d.tape.chunks {
		a.after += carried
		n := keep(a)
		if n < 0 || n == 0 && a.stream != inClosed {
			carried = a.after
			continue
		}
		carried, a.n = 0, n
		totals[a.stream] += n
		kept = append(kept, a)
	}
	d.tape.chunks, d.tape.exit = kept, d.tape.exit+carried
	for id := range d.stream {
		c := &d.stream[id]
		if whole := int64(len(c.data)) + c.dropped; totals[id] == whole {
			continue
		}
		if c.tail && c.dropped > 0 { // its beginning is not here: what would be left of it is unknown, and not made up
			c.data, c.dropped, c.tail = nil, 0, false
			d.drop(runner.StreamID(id))
			continue
		}
		n := min(totals[id], int64(len(c.data)))
		c.data, c.dropped = c.data[:n], totals[id]-n
	}
	if d.interactive {
		d.stdin = d.stdin[:totals[inStream]]
	}
}

// drop takes a stream off the tape.
func (d *draft) drop(id runner.StreamID) {
	kept := d.tape.chunks[:0]
	for _, a := range d.tape.chunks {
		if a.stream != id {
			kept = append(kept, a)
		}
	}
	d.tape.chunks = kept
}
