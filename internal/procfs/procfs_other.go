//go:build !linux

package procfs

import (
	"errors"

	"github.com/boombox-go/boombox/contain"
)

func look(int) (contain.Member, error) { return contain.Member{}, errors.ErrUnsupported }

func carrying(string) ([]contain.Member, error) { return nil, errors.ErrUnsupported }

func end(contain.Member, string) error { return errors.ErrUnsupported }
