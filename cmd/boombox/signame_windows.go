package main

import (
	"fmt"
	"syscall"
)

// signalName is SIG and the number: Windows has no signals, so a name could only come from a cassette.
func signalName(sig syscall.Signal) string { return fmt.Sprintf("SIG%d", int(sig)) }
