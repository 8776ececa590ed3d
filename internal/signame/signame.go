// Package signame names signals. Numbers differ between systems, so that files and messages go by name.
package signame

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
)

// linux names the signals where the system has no names of its own, by Linux number.
var linux = [...]string{
	1: "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGUSR1", "SIGSEGV",
	"SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT", "SIGCHLD", "SIGCONT", "SIGSTOP", "SIGTSTP", "SIGTTIN",
	"SIGTTOU", "SIGURG", "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO", "SIGPWR", "SIGSYS",
}

// Of is the name of sig, such as "SIGKILL", or its number when it has none, as the real-time signals.
func Of(sig syscall.Signal) string {
	if name := system(sig); name != "" {
		return name
	}
	return strconv.Itoa(int(sig))
}

// Shown is sig as people know it: "SIGKILL (9)", or "signal 64".
func Shown(sig syscall.Signal) string {
	if name := system(sig); name != "" {
		return fmt.Sprintf("%s (%d)", name, int(sig))
	}
	return fmt.Sprintf("signal %d", int(sig))
}

// Parse reads what Of writes. A name that this system does not know is read by its Linux number.
func Parse(name string) (syscall.Signal, bool) {
	if !strings.HasPrefix(name, "SIG") {
		n, err := strconv.ParseUint(name, 10, 8)
		return syscall.Signal(n), err == nil && 0 < n && n <= 128 && name[0] != '0'
	}
	if sig := bySystem(name); sig != 0 {
		return sig, true
	}
	for n, known := range linux {
		if name == known {
			return syscall.Signal(n), true
		}
	}
	return 0, false
}
