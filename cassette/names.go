package cassette

import "syscall"

// System errors are written by name, since their numbers differ between systems.

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
