package contain_test

import (
	"math"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
)

const v1Mounts = `33 31 0:30 / /sys/fs/cgroup/cpu\040one rw,relatime shared:3 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 /docker/x /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
37 31 0:32 / /elsewhere rw,relatime - tmpfs cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`

var _ = Describe("the files of caps", func() {
	It("tell our own v1 cgroups and their mounts", func() {
		own := contain.ParseV1Cgroups([]byte("9:name=systemd:/s\n4:cpu,cpuacct:/a:b\n3:memory:/m\n0::/\nbad\n7:pids:relative\n"))
		Expect(own).To(Equal(map[string]string{"cpu": "/a:b", "cpuacct": "/a:b", "memory": "/m"}))
		Expect(contain.ParseV1Mounts([]byte(v1Mounts), "cpuacct")).To(Equal([][2]string{{"/", "/sys/fs/cgroup/cpu one"}}))
		Expect(contain.ParseV1Mounts([]byte(v1Mounts), "memory")).To(Equal([][2]string{{"/docker/x", "/sys/fs/cgroup/memory"}}))
		Expect(contain.ParseV1Mounts([]byte(v1Mounts), "pids")).To(BeEmpty())
	})

	It("tell caps", func() {
		for text, want := range map[string]float64{
			"max\n": contain.NoLimit, "-1\n": contain.NoLimit, "9223372036854771712\n": contain.NoLimit, "0\n": 0, "4096": 4096,
		} {
			Expect(contain.ParseMax([]byte(text))).To(Equal(want), text)
		}
		for _, text := range []string{"", "x", "1 2", "-2", "1e3"} {
			_, err := contain.ParseMax([]byte(text))
			Expect(err).To(HaveOccurred(), text)
		}
		Expect(contain.ParseCPUMax([]byte("50000 100000\n"))).To(Equal(0.5))
		Expect(contain.ParseCPUMax([]byte("max 100000\n"))).To(Equal(contain.NoLimit))
		for _, text := range []string{"", "1", "1 0", "1 max", "x 100000"} {
			_, err := contain.ParseCPUMax([]byte(text))
			Expect(err).To(HaveOccurred(), text)
		}
	})

	It("tell counts, and never a count that is not there", func() {
		n, ok := contain.ParseCount([]byte("low 0\noom 3\noom_kill 4\n"), "oom_kill")
		Expect(ok).To(BeTrue())
		Expect(n).To(BeEquivalentTo(4))
		for _, text := range []string{"", "oom", "oom x", "oom -1", "xoom 1", "oom 1 2"} {
			_, ok := contain.ParseCount([]byte(text), "oom")
			Expect(ok).To(BeFalse(), text)
		}
	})
})

func FuzzParseCaps(f *testing.F) {
	f.Add([]byte("50000 100000\n"))
	f.Add([]byte("max"))
	f.Add([]byte("oom_kill 4\nmax 2\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, parse := range []func([]byte) (float64, error){contain.ParseMax, contain.ParseCPUMax} {
			if n, err := parse(text); err == nil && (n < 0 || math.IsNaN(n) || math.IsInf(n, 0)) {
				t.Errorf("%v", n)
			}
		}
		if n, ok := contain.ParseCount(text, "max"); ok && n < 0 {
			t.Errorf("%d", n)
		}
	})
}

func FuzzParseV1Cgroups(f *testing.F) {
	f.Add([]byte("4:cpu,cpuacct:/a:b\n0::/\n"), "cpu")
	f.Add([]byte(v1Mounts), "memory")
	f.Fuzz(func(t *testing.T, text []byte, controller string) {
		for name, path := range contain.ParseV1Cgroups(text) {
			if name == "" || !strings.HasPrefix(path, "/") {
				t.Errorf("%q at %q", name, path)
			}
		}
		for _, m := range contain.ParseV1Mounts(text, controller) {
			if m[0][0] != '/' || m[1][0] != '/' {
				t.Errorf("relative mount %q", m)
			}
		}
	})
}
