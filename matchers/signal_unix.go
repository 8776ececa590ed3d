//go:build unix

package matchers

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// signalText is the signal's name, "" when it has none.
func signalText(sig syscall.Signal) string { return unix.SignalName(sig) }
