//go:build unix

package cassette

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func systemSignalName(sig syscall.Signal) string { return unix.SignalName(sig) }

func systemSignal(name string) syscall.Signal { return unix.SignalNum(name) }
