package matchers

import (
	"context"

	"github.com/onsi/gomega/gbytes"

	"github.com/boombox-go/boombox/runner"
)

// Session is a process in the clothes of a gexec session: gexec.Exit, gbytes.Say and the matchers of this package take
// it. Make it with [AsSession].
type Session struct {
	*runner.Process
	// streams hides the buffers from printers that walk the fields of whoever holds a Session.
	streams func(runner.StreamID) *gbytes.Buffer
}

// AsSession starts cmd with r for those who keep gexec's and gbytes' matchers. Both streams go to buffers of the session
// besides what the command says of its output; the buffers are closed when the run is over, so that Say stops waiting.
//
//	session, err := matchers.AsSession(ctx, r, cmd)
//	Eventually(ctx, session).Should(gbytes.Say("ready"))
//	Eventually(ctx, session).Should(gexec.Exit(0))
//
// Three things are gexec's and gomega's, and not ours. Exit polls on to the end of its time when the code is a wrong one, since it
// knows a gexec session's end alone. Say eats what it has found, so that two of them in one And starve each other. And
// Eventually(ctx, session.Err()) prints the buffer while it is written, which is a data race: write
// Eventually(session.Err()).WithContext(ctx). [HaveExited] and [HaveStdout] have none of that.
func AsSession(ctx context.Context, r runner.Runner, cmd *runner.Cmd) (*Session, error) {
	buffers := [...]*gbytes.Buffer{runner.Stdout: gbytes.NewBuffer(), runner.Stderr: gbytes.NewBuffer()}
	process, err := r.Start(ctx, cmd.Tapped(func(id runner.StreamID, chunk []byte) { _, _ = buffers[id].Write(chunk) }))
	if err != nil {
		return nil, err
	}
	s := &Session{process, func(id runner.StreamID) *gbytes.Buffer { return buffers[id] }}
	finish := func() { _, _ = s.Out().Close(), s.Err().Close() }
	if _, settled := process.Result(); settled {
		finish()
	} else {
		go func() {
			<-process.Settled()
			finish()
		}()
	}
	return s, nil
}

// Buffer is standard output, for gbytes.Say.
func (s *Session) Buffer() *gbytes.Buffer { return s.Out() }

// Out is standard output, and Err standard error.
func (s *Session) Out() *gbytes.Buffer { return s.streams(runner.Stdout) }

// Err is standard error.
func (s *Session) Err() *gbytes.Buffer { return s.streams(runner.Stderr) }

// ExitCode is what gexec.Exit asks for: -1 while the run goes on, then the exit code of the child, or 128 and the number
// of the signal that ended it; 255 when nothing is known of the child's end. [runner.Result.ExitCode] has no such
// numbers.
func (s *Session) ExitCode() int {
	result, settled := s.Result()
	if !settled {
		return -1
	}
	if code, ok := result.ExitCode(); ok {
		return code
	}
	if sig, ok := result.Outcome().Signal(); ok {
		return 128 + int(sig)
	}
	switch status, known := result.Status(); {
	case !known || status.Lost:
		return 255
	case status.Exited():
		return status.Code
	default:
		return 128 + int(status.Signal)
	}
}
