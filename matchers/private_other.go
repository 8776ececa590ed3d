//go:build !unix

package matchers

import (
	"errors"
	"io/fs"
)

func ownership(fs.FileInfo) (string, bool, error) {
	return "", false, errors.New("matchers: BePrivateFile cannot judge on this system: the access control list is not checked")
}
