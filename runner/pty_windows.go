package runner

import "github.com/boombox-go/boombox/contain"

func (l *launch) wireTerminal(*contain.Spec) error {
	return &contain.FieldError{Field: "PTY", Reason: "this package has no terminals on Windows"}
}
