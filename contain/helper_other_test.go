//go:build !linux

package contain_test

// runHelper has no helpers to run on this system.
func runHelper() {}
