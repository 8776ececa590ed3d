//go:build unix

package matchers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

func ownership(info fs.FileInfo) (owner string, ours bool, err error) {
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", false, errors.New("matchers: BePrivateFile cannot tell the owner from this fs.FileInfo")
	}
	uid := int(sys.Uid)
	return fmt.Sprintf("uid %d, we are %d", uid, os.Geteuid()), uid == os.Geteuid(), nil
}
