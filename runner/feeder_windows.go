package runner

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// prefill writes nothing: a write to a pipe here blocks.
func prefill(*os.File, []byte) int { return 0 }

func brokenPipeCode(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}
