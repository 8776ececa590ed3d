package contain

import (
	"slices"
	"sync"
	"time"
)

// keepers are the keepers of one kind that this process has and does not use. A keeper whose tree is verified empty is
// as good as new, and spares the next start the execution of a program. Who finds none although there was one before has
// two started, the second for who comes next. An idle one has no goroutine of ours, and does not stay for long.
type keepers struct {
	begin func(program string) (*keeper, error)
	// program is what they execute, as in [Options.Keeper].
	program string

	mu    sync.Mutex
	idle  []*keeper
	timer *time.Timer
	// used is set by put, and unset by the timer: what nobody came for between two ticks is dismissed.
	used bool
	// begun is set when there was one.
	begun bool
	// ahead is set while one is being started that nobody waits for.
	ahead bool
}

const (
	// keeperIdle is how long keepers stay when nobody wants them, at most twice. It is short enough for those who count
	// their children and descriptors when they are done.
	keeperIdle = time.Second
	// keepersMost is how many may be idle.
	keepersMost = 8
)

// get takes an idle keeper, or starts one.
func (ks *keepers) get() (*keeper, error) {
	for {
		k := ks.take()
		if k == nil {
			return ks.begin(ks.program)
		}
		if k.alive() {
			return k, nil
		}
		k.end()
	}
}

func (ks *keepers) take() *keeper {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if len(ks.idle) == 0 {
		if ks.begun && !ks.ahead {
			ks.ahead = true
			go ks.startAhead()
		}
		ks.begun = true
		return nil
	}
	k := ks.idle[len(ks.idle)-1]
	ks.idle = ks.idle[:len(ks.idle)-1]
	return k
}

// startAhead starts a keeper for who comes next. If it cannot be had, he will hear why.
func (ks *keepers) startAhead() {
	k, err := ks.begin(ks.program)
	ks.mu.Lock()
	defer ks.mu.Unlock()
	ks.ahead = false
	if err == nil {
		ks.keep(k, 0) // one that has served before is taken first
	}
}

// put gives a keeper back that has no tree.
func (ks *keepers) put(k *keeper) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	ks.keep(k, len(ks.idle))
}

func (ks *keepers) keep(k *keeper, at int) {
	if len(ks.idle) >= keepersMost {
		k.end()
		return
	}
	ks.idle = slices.Insert(ks.idle, at, k)
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
	ks.idle, ks.timer, ks.begun = nil, nil, false
}
