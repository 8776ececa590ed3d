//go:build unix

package runner

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/boombox-go/boombox/contain"
)

// wireTerminal makes the terminal in the place of the pipes.
func (l *launch) wireTerminal(spec *contain.Spec) error {
	opened, childs, err := pty.Open()
	if err != nil {
		return l.failed(StartOther, err)
	}
	l.given = append(l.given, childs, opened)
	ours, err := duplicate(opened)
	if err != nil {
		return l.failed(StartOther, err)
	}
	if l.outputs[Stdout], err = newReader(ours); err != nil {
		_ = ours.Close()
		return l.failed(StartOther, err)
	}
	l.outputs[Stdout].terminal = true
	if err := l.outputs[Stdout].resize(*l.cmd.PTY); err != nil {
		return l.failed(StartOther, err)
	}
	if err := withoutEcho(childs); err != nil {
		return l.failed(StartOther, err)
	}
	spec.Stdin, spec.Stdout, spec.Stderr, spec.Terminal = childs, childs, childs, true
	return l.wireKeyboard(ours)
}

// wireKeyboard sees to it that the input is typed.
func (l *launch) wireKeyboard(terminal *os.File) (err error) {
	src := l.cmd.Stdin.source()
	if !src.claim() {
		return l.cmd.invalid("Stdin", "its reader was used before")
	}
	l.source = src
	keyboard, err := duplicate(terminal)
	if err != nil {
		return l.failed(StartOther, err)
	}
	if src.kind == StdinInteractive {
		l.stdin = &keys{File: keyboard}
		return nil
	}
	l.in = &feeder{pipe: keyboard, rest: append(bytes.Clone(src.data), endOfInput...)}
	reader, closer, err := src.typed()
	if err != nil {
		return l.failed(StartBadStdin, err)
	}
	if reader != nil {
		l.in.source, l.in.closer = io.MultiReader(reader, strings.NewReader(endOfInput)), closer
	}
	return nil
}

// keys is the interactive input of a terminal: its Close types the end.
type keys struct {
	*os.File
	once sync.Once
}

func (k *keys) Close() (err error) {
	k.once.Do(func() {
		// A Write that is pending ends, and what is typed here waits for nobody.
		_ = k.SetWriteDeadline(longAgo)
		prefill(k.File, []byte(endOfInput))
		err = k.File.Close()
	})
	return err
}

// duplicate is a descriptor of its own for f, which does not block and is in the runtime's poller. Package pty leaves its
// own blocking.
func duplicate(f *os.File) (*os.File, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	if ctlErr := conn.Control(func(old uintptr) { fd, err = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 3) }); ctlErr != nil {
		return nil, ctlErr
	}
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "terminal"), nil
}

// withoutEcho keeps the terminal from showing what is typed.
func withoutEcho(terminal *os.File) error {
	conn, err := terminal.SyscallConn()
	if err != nil {
		return err
	}
	ctlErr := conn.Control(func(fd uintptr) {
		var mode *unix.Termios
		if mode, err = unix.IoctlGetTermios(int(fd), getTermios); err == nil {
			mode.Lflag &^= unix.ECHO | unix.ECHOE | unix.ECHOK | unix.ECHONL
			err = unix.IoctlSetTermios(int(fd), setTermios, mode)
		}
	})
	if ctlErr != nil {
		return ctlErr
	}
	return err
}

// Resize changes the size of the child's terminal.
func (b *realBackend) Resize(to PTY) error { return b.outputs[Stdout].resize(to) }

func (r *pipeReader) resize(to PTY) (err error) {
	cols, rows := to.Size()
	ctlErr := r.conn.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: cols, Row: rows})
	})
	if ctlErr != nil {
		return ctlErr
	}
	return err
}
