//go:build !windows

package main

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalName is SIGKILL and the like, or SIG and the number for a signal without a name.
func signalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	return fmt.Sprintf("SIG%d", int(sig))
}
