//go:build !unix

package fake

import "syscall"

// endsProcess reports whether sig ends a process. These systems define only signals that do.
func endsProcess(sig syscall.Signal) bool { return sig != 0 }
