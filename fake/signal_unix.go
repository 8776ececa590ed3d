//go:build unix

package fake

import "syscall"

// endsProcess reports whether sig ends a process that does not handle it: every signal does, but for those which
// signal(7) says are ignored, stop a process, or let it go on.
func endsProcess(sig syscall.Signal) bool {
	switch sig {
	case 0, syscall.SIGCHLD, syscall.SIGURG, syscall.SIGWINCH,
		syscall.SIGCONT, syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU:
		return false
	}
	return true
}
