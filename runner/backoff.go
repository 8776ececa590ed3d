package runner

import (
	"context"
	"math"
	"math/rand/v2"
	"time"
)

// The defaults of a [Backoff].
const (
	defaultFirstWait = 100 * time.Millisecond
	defaultFactor    = 2
	defaultMaxWait   = 30 * time.Second
)

// Backoff says how long to wait before something is tried again: longer each time, up to a cap, and never twice alike, so
// that those who failed together do not come back together. The zero value waits about 100 ms, then 200 ms and so on, up
// to 30 s.
type Backoff struct {
	// First is the wait before the first repetition. 0 means 100 ms; a negative value is refused.
	First time.Duration
	// Factor is what each wait is to the one before. 0 means 2; less than 1, infinity and NaN are refused.
	Factor float64
	// Max caps the wait. 0 means 30 s; a negative value is refused.
	Max time.Duration
	// Rand gives numbers in [0, 1), one for each wait: a wait lies between half of its length, at 0, and all of it. By
	// default it is [rand.Float64]; a test gives a seeded one, or a constant. It is called from one goroutine at a time.
	Rand func() float64
}

// Delay is how long to wait before repetition n, counted from 1.
func (b Backoff) Delay(n int) time.Duration {
	wait := float64(orElse(b.First, defaultFirstWait)) * math.Pow(orElse(b.Factor, defaultFactor), float64(max(n, 1)-1))
	limit := orElse(b.Max, defaultMaxWait)
	chance := b.Rand
	if chance == nil {
		chance = rand.Float64
	}
	wait = min(wait, float64(limit)) / 2 * (1 + min(max(chance(), 0), 1))
	if wait >= float64(limit) { // compared as numbers, before a Duration can overflow
		return limit
	}
	return time.Duration(wait)
}

// invalid says what is wrong with b, "" when nothing is.
func (b Backoff) invalid() string {
	switch {
	case b.First < 0 || b.Max < 0:
		return "a wait is negative"
	case b.Factor != 0 && !(b.Factor >= 1) || math.IsInf(b.Factor, 0):
		return "its factor is no number of 1 or more"
	}
	return ""
}

func orElse[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// sleep waits, and reports false when ctx ended first, or had ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
