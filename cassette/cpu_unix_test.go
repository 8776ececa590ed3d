//go:build unix

package cassette_test

import (
	"syscall"
	"time"
)

// cpuTime is the processor time of this process: what a benchmark costs however busy its machine is.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
