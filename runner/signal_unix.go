//go:build unix

package runner

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalName is a signal as people know it, such as "SIGKILL (9)".
func signalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return fmt.Sprintf("%s (%d)", name, int(sig))
	}
	return fmt.Sprintf("%d", int(sig))
}
