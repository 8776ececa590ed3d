//go:build !unix

package runner

import (
	"fmt"
	"syscall"
)

// signalName is a signal as far as this system knows one.
func signalName(sig syscall.Signal) string { return fmt.Sprintf("%d", int(sig)) }
