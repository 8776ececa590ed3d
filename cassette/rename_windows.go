package cassette

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// While somebody has a file open, it cannot be replaced: an editor, a scanner, a reader of ours. Most have it for a moment.
const (
	renameTries = 50
	renamePause = 20 * time.Millisecond
)

// rename tries again, for a second at most, while somebody holds one of the two files.
func rename(from, to string) (err error) {
	for range renameTries {
		if err = os.Rename(from, to); !held(err) {
			return err
		}
		time.Sleep(renamePause)
	}
	return err
}

// held reports whether an error says that somebody has a file open. Where the file to be replaced is held, the system speaks of denied access.
func held(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_LOCK_VIOLATION) ||
		errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_USER_MAPPED_FILE)
}

func syncDir(string) error { return nil }
