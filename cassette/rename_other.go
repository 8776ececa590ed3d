//go:build !unix

package cassette

import (
	"os"
	"time"
)

// rename tries again for a moment: on Windows a file that somebody reads right now cannot be replaced.
func rename(from, to string) (err error) {
	for range 20 {
		if err = os.Rename(from, to); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

func syncDir(string) error { return nil }
