//go:build !linux

package runner_test

import . "github.com/onsi/ginkgo/v2"

// fullDisk skips: no small file system can be had.
func fullDisk() string {
	GinkgoHelper()
	Skip("no small file system can be mounted here")
	return ""
}
