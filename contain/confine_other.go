//go:build !linux

package contain

import "errors"

// gate is for Linux.
type gate struct{}

// unconfinable refuses what only Linux has.
func (s Spec) unconfinable() error {
	if s.NoNewPrivileges || s.NoCoreDumps {
		return &StartError{Step: StepConfine, Err: errors.ErrUnsupported}
	}
	return nil
}

// confine does what is left to do to a child that was started: nothing.
func confine(*leader, Spec) error { return nil }
