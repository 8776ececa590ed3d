//go:build !linux

package contain

// waitChannel is not to be known.
func waitChannel(Member) string { return "" }
