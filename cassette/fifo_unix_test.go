//go:build unix

package cassette_test

import "golang.org/x/sys/unix"

// mkfifo makes a named pipe where the system has such a thing.
func mkfifo(path string) bool { return unix.Mkfifo(path, 0o600) == nil }
