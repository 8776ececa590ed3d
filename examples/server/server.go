// Package server starts a server and waits until it answers.
package server

import (
	"context"
	"errors"
	"strings"

	"github.com/boombox-go/boombox/runner"
)

// Server is a server that answers.
type Server struct {
	*runner.Process
	// Addr is where it listens: host and port.
	Addr string
}

// listening is how a server tells where it listens.
const listening = "listening on "

// Start starts cmd, which tells on its standard output where it listens, and returns when it has answered a request. ctx
// bounds the waiting; the server lives until it is closed. One that ends before, or is not ready in time, is a
// [*runner.NotReadyError], and nothing of it is left.
func Start(ctx context.Context, r runner.Runner, cmd *runner.Cmd) (*Server, error) {
	p, err := r.Start(ctx, cmd)
	if err != nil {
		return nil, err
	}
	s := &Server{Process: p}
	if err := s.wait(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return s, nil
}

func (s *Server) wait(ctx context.Context) error {
	line, err := s.WaitForLine(ctx, func(l runner.Line) bool {
		return l.Stream == runner.Stdout && strings.HasPrefix(l.Text, listening)
	})
	if err != nil {
		return err
	}
	s.Addr = strings.TrimPrefix(line.Text, listening)
	return s.WaitForHTTP(ctx, "http://"+s.Addr+"/healthz")
}
