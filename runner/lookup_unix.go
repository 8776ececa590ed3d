//go:build unix

package runner

import (
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func hasSeparator(name string) bool { return strings.Contains(name, "/") }

// executable reports why the file cannot be executed by us. It asks with the effective identity, as exec does.
func executable(path string, _ envList) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return "", syscall.EISDIR
	}
	return path, access(path)
}

func searchable(dir string) error { return access(dir) }

func access(path string) error {
	err := unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS)
	if err == unix.ENOSYS || err == unix.EINVAL || err == unix.EPERM {
		// Not every kernel or seccomp filter lets us ask. The start itself will tell.
		return nil
	}
	return err
}
