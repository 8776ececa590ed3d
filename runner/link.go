package runner

import (
	"context"
	"errors"
	"io"
	"os"
	"reflect"
	"sync"
)

// link leads from the standard output of one stage of a [Pipeline] to the standard input of the next: through a pipe of
// the system, whose ends both children get, or through memory.
type link struct {
	// from and to are the ends of the system's pipe. The start of the child that is to have one closes it, and nobody else
	// before.
	from, to *os.File

	reader *io.PipeReader
	writer *io.PipeWriter
	tell   func(stageEvent)
	writes sync.Once
	unread sync.Once
}

// linker is a Runner whose children can be given descriptors. What is nil is as the command says.
type linker interface {
	startLinked(ctx context.Context, cmd *Cmd, stdin, stdout *os.File) (*Process, error)
}

var errCutShort = errors.New("the pipeline was cut short")

// newLink makes the link from cmd to next. tell is called at most once with each of stageWrites and stageUnread.
func newLink(r Runner, cmd, next *Cmd, tell func(stageEvent)) (*link, error) {
	if _, ok := r.(linker); ok && !cmd.watched() && next.PTY == nil {
		from, to, err := childPipe()
		return &link{from: from, to: to}, err
	}
	l := &link{tell: tell}
	l.reader, l.writer = io.Pipe()
	return l, nil
}

// watched reports whether somebody wants to see what the command writes to its standard output, or when.
func (c *Cmd) watched() bool {
	return !c.Output.Stdout.isZero() || c.IdleTimeout > 0 || len(c.taps) > 0
}

func (s Stream) isZero() bool { return reflect.ValueOf(s).IsZero() }

// startLinked starts one stage. in and out may be nil.
func startLinked(ctx context.Context, r Runner, cmd *Cmd, in, out *link) (*Process, error) {
	var stdin, stdout *os.File
	if in != nil {
		if stdin = in.from; stdin == nil {
			cmd = cmd.Clone()
			cmd.Stdin = StdinStream(in.reader)
		}
	}
	if out != nil {
		if stdout = out.to; stdout == nil {
			cmd = out.feed(cmd)
		}
	}
	if stdin == nil && stdout == nil {
		return r.Start(ctx, cmd)
	}
	p, err := r.(linker).startLinked(ctx, cmd, stdin, stdout)
	for _, given := range []*os.File{stdin, stdout} {
		if given != nil {
			_ = given.Close()
		}
	}
	return p, err
}

// feed is cmd with its standard output going into the link. It is kept only if the command says how.
func (l *link) feed(cmd *Cmd) *Cmd {
	cmd = cmd.Tapped(func(id StreamID, chunk []byte) {
		if id != Stdout {
			return
		}
		l.writes.Do(func() { l.tell(stageWrites) })
		if _, err := l.writer.Write(chunk); err != nil {
			l.unread.Do(func() { l.tell(stageUnread) })
		}
	})
	if cmd.Output.Stdout.isZero() {
		cmd.Output.Stdout.Policy = Discard
	}
	return cmd
}

// closeWrite lets the reader see the end. A pipe of the system has only the child as its writer.
func (l *link) closeWrite() {
	if l.writer != nil {
		_ = l.writer.Close()
	}
}

// closeRead lets the writer see that nobody reads. A pipe of the system has only the child as its reader.
func (l *link) closeRead() {
	if l.reader != nil {
		_ = l.reader.Close()
	}
}

// close is called when no start is under way and no child lives.
func (l *link) close() {
	l.closeWrite()
	l.closeRead()
	if l.from != nil {
		_ = l.from.Close()
		_ = l.to.Close()
	}
}
