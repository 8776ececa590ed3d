package runner

import (
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

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

// held reports whether anybody can still write to the pipe: a pipe whose write ends are all closed is broken. The
// child has ended.
func (r *pipeReader) held() bool {
	held := false
	_ = r.conn.Control(func(fd uintptr) {
		var waiting uint32
		ok, _, _ := peekNamedPipe.Call(fd, 0, 0, 0, uintptr(unsafe.Pointer(&waiting)), 0)
		held = ok != 0 && waiting == 0
	})
	return held
}
