package runner

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"
)

// Logged is r with a log of what becomes of its runs: "command started", "command killed", "command settled" and "command
// refused", the second and the last as warnings. A record has the attributes of an [Observation] that say something, and
// so never an argument, an environment value, a path or output. The base name of the program is in it.
//
//	r := runner.Logged(runner.Contained{}, slog.Default())
func Logged(r Runner, l *slog.Logger) Runner { return Observed(r, logger{l}) }

type logger struct{ l *slog.Logger }

// Observe writes one record.
func (to logger) Observe(seen Observation) {
	level := slog.LevelInfo
	attrs := []slog.Attr{slog.Uint64("run", seen.Run), slog.String("program", seen.Program)}
	if seen.PID != 0 {
		attrs = append(attrs, slog.Int("pid", seen.PID))
	}
	switch seen.Kind {
	case ObservedRefusal:
		level = slog.LevelWarn
		attrs = append(attrs, slog.String("refusal", seen.Refusal))
	case ObservedKill:
		level = slog.LevelWarn
		attrs = append(attrs, seen.ending()...)
	case ObservedEnd:
		attrs = append(attrs, seen.ending()...)
		if seen.StdoutBytes >= 0 {
			attrs = append(attrs, slog.Int64("stdout_bytes", seen.StdoutBytes))
		}
		attrs = append(attrs, slog.Int64("stderr_bytes", seen.StderrBytes))
		attrs = append(attrs, slog.Bool("pipes_held", seen.PipesHeld), slog.Bool("replayed", seen.Replayed))
	}
	to.l.LogAttrs(context.Background(), level, "command "+seen.Kind.String(), attrs...)
}

func (o Observation) ending() []slog.Attr {
	attrs := []slog.Attr{slog.String("outcome", o.Outcome.String()), slog.Duration("duration", o.Duration.Round(time.Microsecond))}
	if o.Mechanism != "" {
		attrs = append(attrs, slog.String("mechanism", string(o.Mechanism)), slog.Int("survivors", o.Survivors))
	}
	return attrs
}

// Tally is an [Observer] that counts. The zero value is ready to use; it is safe for concurrent use.
//
//	var tally runner.Tally
//	r := runner.Observed(runner.Contained{}, &tally)
//	...
//	fmt.Println(tally.Counts().Live)
type Tally struct {
	mu     sync.Mutex
	counts Counts
}

// Counts are numbers of runs.
type Counts struct {
	// Started is how many runs were started, Refused how many starts gave an error, Live how many runs are not settled.
	Started, Refused, Live int
	// Killed is how many were ended by a timeout, a cancel or an overflow.
	Killed int
	// Ended is how many are settled, by the kind of their outcome.
	Ended map[OutcomeKind]int
	// Survivors is how many processes outlived the kill of their tree.
	Survivors int
}

// Observe counts one observation.
func (t *Tally) Observe(seen Observation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch c := &t.counts; seen.Kind {
	case ObservedRefusal:
		c.Refused++
	case ObservedStart:
		c.Started++
		c.Live++
	case ObservedKill:
		c.Killed++
	case ObservedEnd:
		c.Live--
		c.Survivors += seen.Survivors
		if c.Ended == nil {
			c.Ended = map[OutcomeKind]int{}
		}
		c.Ended[seen.Outcome.Kind()]++
	}
}

// Counts are the numbers by now.
func (t *Tally) Counts() Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.counts
	c.Ended = maps.Clone(c.Ended)
	return c
}
