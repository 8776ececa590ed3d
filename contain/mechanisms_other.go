//go:build !linux && !windows && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package contain

import (
	"os"
	"syscall"
	"time"
)

// No mechanism is known on this system: [New] always refuses.
func mechanisms() []mechanism { return nil }

type leader struct {
	pid   int
	ended chan struct{}
}

func (*leader) poll() (ExitStatus, bool)    { return ExitStatus{}, false }
func (*leader) signal(syscall.Signal) error { return os.ErrProcessDone }
func (*leader) reap(time.Time) error        { return nil }
