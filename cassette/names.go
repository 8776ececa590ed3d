package cassette

import (
	"strconv"
	"strings"
	"syscall"
)

// Signals and system errors are written by name, since their numbers differ between systems.

// linuxSignals names the signals where the system has no names of its own, by Linux number.
var linuxSignals = [...]string{
	1: "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGUSR1", "SIGSEGV",
	"SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT", "SIGCHLD", "SIGCONT", "SIGSTOP", "SIGTSTP", "SIGTTIN",
	"SIGTTOU", "SIGURG", "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO", "SIGPWR", "SIGSYS",
}

// signalName is the name of sig, or its number when it has none (the real-time signals).
func signalName(sig syscall.Signal) string {
	if name := systemSignalName(sig); name != "" {
		return name
	}
	return strconv.Itoa(int(sig))
}

// signalByName reads what signalName writes. A name that this system does not know is read by its Linux number.
func signalByName(name string) (syscall.Signal, bool) {
	if !strings.HasPrefix(name, "SIG") {
		n, ok := parseInt(name, 128)
		return syscall.Signal(n), ok && n > 0
	}
	if sig := systemSignal(name); sig != 0 {
		return sig, true
	}
	for n, known := range linuxSignals {
		if name == known && known != "" {
			return syscall.Signal(n), true
		}
	}
	return 0, false
}

// errnos are the system errors that a start can end in, by the names that every system shares.
var errnos = []struct {
	name  string
	errno syscall.Errno
}{
	{"ENOENT", syscall.ENOENT},
	{"EACCES", syscall.EACCES},
	{"EPERM", syscall.EPERM},
	{"ENOTDIR", syscall.ENOTDIR},
	{"EISDIR", syscall.EISDIR},
	{"E2BIG", syscall.E2BIG},
	{"ENOEXEC", syscall.ENOEXEC},
	{"EAGAIN", syscall.EAGAIN},
	{"ENOMEM", syscall.ENOMEM},
	{"EMFILE", syscall.EMFILE},
	{"ENFILE", syscall.ENFILE},
	{"ELOOP", syscall.ELOOP},
	{"ENAMETOOLONG", syscall.ENAMETOOLONG},
	{"ETXTBSY", syscall.ETXTBSY},
	{"EINVAL", syscall.EINVAL},
	{"EIO", syscall.EIO},
	{"EBUSY", syscall.EBUSY},
	{"ENOSPC", syscall.ENOSPC},
	{"EROFS", syscall.EROFS},
	{"ENOSYS", syscall.ENOSYS},
}

// errnoName is "" for an error that has no name here; it is then kept as text.
func errnoName(errno syscall.Errno) string {
	for _, known := range errnos {
		if known.errno == errno {
			return known.name
		}
	}
	return ""
}

func errnoByName(name string) error {
	for _, known := range errnos {
		if known.name == name {
			return known.errno
		}
	}
	return nil
}
