package runner_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

// fullDisk is a folder on a file system of 64 KiB, or skips.
func fullDisk() string {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	if err := unix.Mount("boombox-test", dir, "tmpfs", 0, "size=64k"); err != nil {
		Skip("no small file system can be mounted here: " + err.Error())
	}
	DeferCleanup(func() { Expect(unix.Unmount(dir, unix.MNT_DETACH)).To(Succeed()) })
	return dir
}
