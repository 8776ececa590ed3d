//go:build !linux

package suite

import "github.com/boombox-go/boombox/contain"

func descendants(int) []contain.Member { return nil }
func descriptors() map[string]string   { return nil }
func cgroups() []string                { return nil }
