//go:build unix

package runner

import (
	"io"
	"os"
)

// NewTerminalReader reads from our side of a terminal. It does not wait: where nothing is to be read, the error is
// [os.ErrDeadlineExceeded].
func NewTerminalReader(side *os.File) (io.ReadCloser, error) {
	ours, err := duplicate(side)
	if err != nil {
		return nil, err
	}
	r, err := newReader(ours)
	if err != nil {
		return nil, err
	}
	r.terminal = true
	return r, r.SetReadDeadline(longAgo)
}
