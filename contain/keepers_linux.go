package contain

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// keepers are the keepers of one kind that this process has and does not use. A keeper whose tree is verified empty is
// as good as new, and spares the next start the execution of a program. An idle one has no goroutine of ours, and does
// not stay for long.
type keepers struct {
	begin func(program string) (*keeper, error)
	// program is what they execute, as in [Options.Keeper].
	program string
	// turns bounds how many are started at once. More would only wait for a processor, each until it is taken for one that does not come.
	turns chan struct{}

	mu    sync.Mutex
	idle  []*keeper
	timer *time.Timer
	// used is set by put, and unset by the timer: what nobody came for between two ticks is dismissed.
	used bool
}

func newKeepers(begin func(program string) (*keeper, error), program string) *keepers {
	return &keepers{begin: begin, program: program, turns: make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))}
}

const (
	// keeperIdle is how long keepers stay when nobody wants them, at most twice. It is short enough for those who count
	// their children and descriptors when they are done.
	keeperIdle = time.Second
	// keepersMost is how many may be idle.
	keepersMost = 8
)

// get takes an idle keeper, or starts one. When ctx ends while it waits for its turn, the error is that of ctx.
func (ks *keepers) get(ctx context.Context) (*keeper, error) {
	if k := ks.take(); k != nil {
		return k, nil
	}
	select {
	case ks.turns <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-ks.turns }()
	if k := ks.take(); k != nil { // one has come back meanwhile
		return k, nil
	}
	return ks.begin(ks.program)
}

// take takes an idle keeper that is of use, nil when there is none.
func (ks *keepers) take() *keeper {
	for {
		k := ks.pop()
		if k == nil || k.alive() && !k.isMute() {
			return k
		}
		k.end()
	}
}

func (ks *keepers) pop() *keeper {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if len(ks.idle) == 0 {
		return nil
	}
	k := ks.idle[len(ks.idle)-1]
	ks.idle = ks.idle[:len(ks.idle)-1]
	return k
}

// put gives a keeper back that has no tree.
func (ks *keepers) put(k *keeper) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if len(ks.idle) >= keepersMost {
		k.end()
		return
	}
	ks.idle = append(ks.idle, k)
	ks.used = true
	if ks.timer == nil {
		ks.timer = time.AfterFunc(keeperIdle, ks.tick)
	}
}

func (ks *keepers) tick() {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if ks.used {
		ks.used = false
		ks.timer.Reset(keeperIdle)
		return
	}
	for _, k := range ks.idle {
		k.end()
	}
	ks.idle, ks.timer = nil, nil
}
