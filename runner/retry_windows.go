package runner

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// transientErrnos are the refusals of a start that may pass by themselves: somebody, such as a virus scanner, has the
// program's file open.
var transientErrnos = [...]syscall.Errno{windows.ERROR_SHARING_VIOLATION, windows.ERROR_LOCK_VIOLATION}
