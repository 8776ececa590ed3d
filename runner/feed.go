package runner

import (
	"context"
	"sync"
)

// feed hands what the pumps of a live run read to those who follow it, each through a queue of its own. Its lock is
// taken last: a pump holds its own when it pushes.
type feed struct {
	mu      sync.Mutex
	changed sync.Cond
	// order is how the streams' bytes arrived.
	order     arrivals
	followers []*follower
	ended     [2]bool
	// free: the child does not wait for followers any more.
	free bool
}

func (f *feed) init() { f.changed.L = &f.mu }

// push gives chunk, which one stream brought, to all followers. The caller holds the pump's lock, under which the
// chunk went into its sink.
func (f *feed) push(id StreamID, chunk []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.order.add(id, len(chunk))
	if len(f.followers) == 0 {
		return
	}
	text := string(chunk)
	for _, to := range f.followers {
		to.queue = append(to.queue, piece{id: id, text: text, live: true})
		to.lag[id] += int64(len(text))
	}
	f.changed.Broadcast()
}

// pace waits until no follower lags too far behind the stream. The caller holds no lock.
func (f *feed) pace(id StreamID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for !f.free && f.lags(id) {
		f.changed.Wait()
	}
}

func (f *feed) lags(id StreamID) bool {
	for _, to := range f.followers {
		if to.lag[id] > to.most[id] {
			return true
		}
	}
	return false
}

// release ends all waiting of pumps for followers.
func (f *feed) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.free = true
	f.changed.Broadcast()
}

// end tells that nothing more comes of the stream.
func (f *feed) end(id StreamID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended[id] {
		return
	}
	f.ended[id] = true
	for _, to := range f.followers {
		to.queue = append(to.queue, piece{id: id, end: true})
	}
	f.changed.Broadcast()
}

// piece is a part of one stream, on its way to a follower.
type piece struct {
	id StreamID
	// text is what came, or data where it comes out of a capture, where nothing changes any more.
	text string
	data []byte
	// missed counts bytes that were let go before the follower came.
	missed int64
	// live: it counts as lag.
	live bool
	end  bool
}

// follower reads a run from its beginning, as far as that is kept, to its end.
type follower struct {
	// feed is nil when the queue holds all there is.
	feed  *feed
	queue []piece
	// lag is how much of each stream waits in the queue, and most how much may before the child waits.
	lag, most [2]int64
	split     [2]splitter
	ended     int
	// quit: the context of the follower has ended.
	quit bool
	ctx  context.Context
	stop func() bool
}

// follow joins the run.
func (r *run) follow(ctx context.Context) *follower {
	to := &follower{feed: &r.feed, ctx: ctx}
	f := to.feed
	for i := range r.pumps {
		p := &r.pumps[i]
		to.split[i], to.most[i] = p.lines, p.sink.max
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	to.queue = f.order.replay(r.pumps[Stdout].sink.lend(Stdout), r.pumps[Stderr].sink.lend(Stderr))
	for id, ended := range f.ended {
		if ended {
			to.queue = append(to.queue, piece{id: StreamID(id), end: true})
		}
	}
	f.followers = append(f.followers, to)
	to.stop = context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		to.quit = true
		f.leave(to)
	})
	return to
}

// follow replays a run that was over from the start.
func (r *result) follow(ctx context.Context) *follower {
	to := &follower{ctx: ctx, split: [2]splitter{{lineRule: r.lines[Stdout]}, {lineRule: r.lines[Stderr]}}}
	to.queue = r.order.replay(r.whole(Stdout, &r.stdout), r.whole(Stderr, &r.stderr))
	to.queue = append(to.queue, piece{id: Stdout, end: true}, piece{id: Stderr, end: true})
	return to
}

// follow joins whatever run p is.
func (p *Process) follow(ctx context.Context) *follower {
	if p.live == nil {
		return p.result.in().follow(ctx)
	}
	return p.live().follow(ctx)
}

// leave takes a follower off, and lets those go on who waited for it. The lock is held.
func (f *feed) leave(to *follower) {
	for i, other := range f.followers {
		if other == to {
			f.followers = append(f.followers[:i:i], f.followers[i+1:]...)
			break
		}
	}
	f.changed.Broadcast()
}

// next waits for the next piece. Both ends come as pieces; after them there is none, and the error is nil.
func (to *follower) next() (next piece, ok bool, err error) {
	if to.ctx.Err() != nil {
		return piece{}, false, context.Cause(to.ctx)
	}
	if to.ended == len(to.split) {
		return piece{}, false, nil
	}
	if f := to.feed; f != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		for len(to.queue) == 0 && !to.quit {
			f.changed.Wait()
		}
		if to.quit {
			return piece{}, false, context.Cause(to.ctx)
		}
	}
	next = to.queue[0]
	to.queue[0] = piece{}
	to.queue = to.queue[1:]
	if next.live {
		to.lag[next.id] -= int64(len(next.text))
		to.feed.changed.Broadcast()
	}
	if next.end {
		to.ended++
	}
	return next, true, nil
}

// close ends the following.
func (to *follower) close() {
	if to.feed == nil {
		return
	}
	to.stop()
	to.feed.mu.Lock()
	defer to.feed.mu.Unlock()
	to.feed.leave(to)
}
