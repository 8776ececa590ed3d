//go:build unix

package signame

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func system(sig syscall.Signal) string { return unix.SignalName(sig) }

func bySystem(name string) syscall.Signal { return unix.SignalNum(name) }
