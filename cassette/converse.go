package cassette

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/boombox-go/boombox/runner"
)

// silence is how long a program that says less than is recorded is waited for before it is told the next.
const silence = 2 * time.Second

// Converse runs cmd, which [Tape.Commands] gave for the run of that number, with r, and holds the recorded conversation with it: what was
// written to it is written, and its terminal given what size it was given, when it has said as much as it had by then, or when it has said nothing more
// for two seconds, so that one that says something else is told the rest too, and the two can be compared. What it says is not looked at: a deck in mode [Verify] does that. Without a deadline in cmd,
// ctx is what ends a program that waits for more than is recorded.
func (t *Tape) Converse(ctx context.Context, r runner.Runner, number int, cmd *runner.Cmd, opts ...Option) (*runner.Result, error) {
	o, err := gather(opts)
	if err != nil {
		return nil, err
	}
	p := t.state()
	words, err := bind(p.tokens, o.values)
	if err != nil {
		return nil, err
	}
	if number < 1 || number > len(p.runs) {
		return nil, fmt.Errorf("cassette: there is no run %d", number)
	}
	said := &hearer{more: make(chan struct{}, 1)}
	process, err := r.Start(ctx, cmd.Tapped(said.note))
	if err != nil {
		return nil, err
	}
	defer process.Close()
	stop := context.AfterFunc(ctx, func() { process.Cancel(context.Cause(ctx)) })
	defer stop()
	var due [2]int64
	for _, c := range p.runs[number-1].script(words, Instant).Chunks {
		if len(c.Reads) > 0 || c.ReadsEOF || c.Resize != noPTY {
			said.await(due, process.Settled())
		}
		// Input that it does not take, or does not wait for, is told by the comparison.
		if len(c.Reads) > 0 {
			_, _ = process.Stdin().Write(c.Reads)
		}
		if c.ReadsEOF {
			_ = process.Stdin().Close()
		}
		if c.Resize != noPTY {
			_ = process.Resize(c.Resize.Cols, c.Resize.Rows)
		}
		due[c.Stream] += int64(len(c.Data))
	}
	return process.Wait(context.WithoutCancel(ctx)) // its end is what ctx has cancelled
}

// hearer counts what a program has said.
type hearer struct {
	mu    sync.Mutex
	total [2]int64
	more  chan struct{} // has a value when something was said since await last looked
}

func (h *hearer) note(id runner.StreamID, chunk []byte) {
	h.mu.Lock()
	h.total[id] += int64(len(chunk))
	h.mu.Unlock()
	select {
	case h.more <- struct{}{}:
	default:
	}
}

// await returns when so much was said, when there is silence, or when the program is over.
func (h *hearer) await(due [2]int64, over <-chan struct{}) {
	for {
		h.mu.Lock()
		enough := h.total[0] >= due[0] && h.total[1] >= due[1]
		h.mu.Unlock()
		if enough {
			return
		}
		select {
		case <-h.more:
		case <-over:
			return
		case <-time.After(silence):
			return
		}
	}
}
