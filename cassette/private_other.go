//go:build !windows

package cassette

import (
	"errors"
	"os"
)

// createPrivate makes a file that was not there, for its owner alone.
func createPrivate(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(0o600); err != nil { // whatever the umask took away
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
