// Package server starts a server and waits until it is ready.
package server

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/boombox-go/boombox/runner"
)

// ErrEarly: the server was over before it was ready.
var ErrEarly = errors.New("server: it ended before it was ready")

// Start starts cmd and returns when it has written line to its standard output. ctx bounds the waiting; the server lives
// until it is closed.
func Start(ctx context.Context, r runner.Runner, cmd *runner.Cmd, line string) (*runner.Process, error) {
	ready := &watcher{line: []byte(line + "\n"), seen: make(chan struct{})}
	p, err := r.Start(ctx, cmd.Tapped(ready.tap))
	if err != nil {
		return nil, err
	}
	select {
	case <-ready.seen:
		return p, nil
	case <-p.Settled():
		err = ErrEarly
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	select {
	case <-ready.seen: // both at once
		return p, nil
	default:
		return nil, errors.Join(err, p.Close())
	}
}

// watcher looks for a line in a stream.
type watcher struct {
	line []byte
	seen chan struct{}
	once sync.Once
	text []byte
}

func (w *watcher) tap(id runner.StreamID, chunk []byte) {
	if id != runner.Stdout || len(w.text) > 1<<16 {
		return
	}
	w.text = append(w.text, chunk...)
	if bytes.Contains(append([]byte("\n"), w.text...), append([]byte("\n"), w.line...)) {
		w.once.Do(func() { close(w.seen) })
	}
}
