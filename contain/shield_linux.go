package contain

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// shield keeps this thread, and whatever it executes and forks, from signalling or tracing any process that is not below
// it: its keeper, above all, and the owner. The keeper still signals them. It takes that nobody gains privileges by
// executing a program (PR_SET_NO_NEW_PRIVS), or the kernel refuses it to who is not root; so it comes with that and never
// by itself. Where the kernel has no such shield (before Linux 6.12, or without Landlock) there is none.
//
// It is no guarantee. Under our own user a child can still set the keeper's resource limits, which Landlock does not
// forbid: one of processor time has the kernel kill the keeper, and one of descriptors blinds it.
func shield() {
	attr := unix.LandlockRulesetAttr{Scoped: unix.LANDLOCK_SCOPE_SIGNAL}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return
	}
	_, _, _ = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0)
	_ = unix.Close(int(fd))
}
