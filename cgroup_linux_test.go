package boombox_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// ownCgroup is the directory of our own version 2 cgroup, "" where there is none to be seen. It is found without the
// help of package contain, for these specs judge that package.
func ownCgroup() string {
	GinkgoHelper()
	own, err := os.ReadFile("/proc/self/cgroup")
	Expect(err).NotTo(HaveOccurred())
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	Expect(err).NotTo(HaveOccurred())
	for line := range strings.Lines(string(own)) {
		path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		for mount := range strings.Lines(string(mounts)) {
			before, after, _ := strings.Cut(mount, " - ")
			if fields := strings.Fields(before); strings.HasPrefix(after, "cgroup2 ") {
				if below, err := filepath.Rel(fields[3], path); err == nil && !strings.HasPrefix(below, "..") {
					return filepath.Join(fields[4], below)
				}
			}
		}
	}
	return ""
}

// makeCgroup makes a cgroup below our own, or skips the spec where that is not allowed. It is removed with the spec.
func makeCgroup(name string) string {
	GinkgoHelper()
	own := ownCgroup()
	if own == "" {
		Skip("this host shows us no version 2 cgroup")
	}
	dir := filepath.Join(own, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		Skip("this host does not let us make a cgroup")
	}
	DeferCleanup(removeCgroup, dir)
	return dir
}

// removeCgroup removes a cgroup as soon as its dying members have left it.
func removeCgroup(dir string) {
	GinkgoHelper()
	Eventually(func() error {
		if err := os.Remove(dir); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}).WithTimeout(5 * time.Second).Should(Succeed())
}
