//go:build !linux

package runner

import "os"

// pipe makes a pipe whose read or write end is ours. [os.File.Fd] makes the child's end blocking when it is handed on.
func pipe(read bool) (ours, childs *os.File, err error) {
	r, w, err := os.Pipe()
	if read {
		return r, w, err
	}
	return w, r, err
}

// childPipe makes a pipe whose ends are both for children.
func childPipe() (r, w *os.File, err error) { return os.Pipe() }

// enlarge does nothing: these systems size their pipes themselves.
func enlarge(uintptr) {}

// fionread asks how many bytes wait in a pipe. Every BSD and macOS have the same number for it.
const fionread = 0x4004667f
