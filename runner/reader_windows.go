package runner

import (
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// canAskToEnd: there are no signals that ask a process to end.
const canAskToEnd = false

// pipeReader is our end of an output pipe. It has no read deadline: it is given up by Close, which ends a pending read.
type pipeReader struct {
	file     *os.File
	conn     syscall.RawConn
	treeless atomic.Bool
}

func newOutput() (*pipeReader, *os.File, error) {
	r, w, err := pipe(true)
	if err != nil {
		return nil, nil, err
	}
	conn, err := r.SyscallConn()
	if err != nil {
		_ = r.Close()
		_ = w.Close()
		return nil, nil, err
	}
	return &pipeReader{file: r, conn: conn}, w, nil
}

func (r *pipeReader) Read(p []byte) (int, error) { return r.file.Read(p) }

func (r *pipeReader) Close() error { return r.file.Close() }

var peekNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")

// hungUp reports whether all write ends are closed, or the reader is: a pipe without a writer is broken.
func (r *pipeReader) hungUp() bool {
	open := false
	err := r.conn.Control(func(fd uintptr) {
		var waiting uint32
		ok, _, _ := peekNamedPipe.Call(fd, 0, 0, 0, uintptr(unsafe.Pointer(&waiting)), 0)
		open = ok != 0
	})
	return err != nil || !open
}
