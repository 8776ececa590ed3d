//go:build !windows

package runner

import "syscall"

// transientErrnos are the refusals of a start that may pass by themselves. A program file is busy while somebody writes
// it, which may be a child of ours that has not come to its exec.
var transientErrnos = [...]syscall.Errno{syscall.EINTR, syscall.EAGAIN, syscall.EBUSY, syscall.ETXTBSY}
