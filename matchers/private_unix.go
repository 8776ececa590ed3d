//go:build unix

package matchers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// access is who may use a file, and why it is not private, "" when it is.
func access(info fs.FileInfo, _ string) (evidence []fact, open string, err error) {
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, "", errors.New("matchers: BePrivateFile cannot tell the owner from this fs.FileInfo")
	}
	mode, uid := info.Mode(), int(sys.Uid)
	evidence = []fact{
		{"mode", fmt.Sprintf("%04o (%s)", mode.Perm(), mode)},
		{"owner", fmt.Sprintf("uid %d, we are %d", uid, os.Geteuid())},
	}
	switch {
	case mode.Perm()&0o077 != 0:
		open = fmt.Sprintf("group or others may use it; want %04o", mode.Perm()&^0o077)
	case uid != os.Geteuid():
		open = "it belongs to somebody else"
	}
	return evidence, open, nil
}
