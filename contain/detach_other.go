//go:build unix && !linux

package contain

import "os"

// detachedMember tells the id alone.
func detachedMember(pid int) Member { return Member{PID: pid, Parent: os.Getpid()} }
