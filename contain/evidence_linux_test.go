package contain_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/internal/suite"
)

func init() {
	// crowded has a cap on memory that is wider than that of the cgroup above, and a hog that fills that one.
	helpers["crowded"] = func() error {
		if home := os.Getenv("BOOMBOX_SPEC_V1"); home != "" {
			if err := os.WriteFile(filepath.Join(home, "cgroup.procs"), []byte("0"), 0); err != nil {
				return err
			}
		}
		g, err := contain.New(contain.Options{Limits: contain.Limits{Memory: 240 << 20}, Parent: os.Getenv("BOOMBOX_SPEC_CGROUP")})
		if err != nil {
			return err
		}
		argv := fixtures.Argv("hog", "life=50s", os.Getenv("BOOMBOX_SPEC_HOG"))
		c, err := g.Start(context.Background(), contain.Spec{Path: argv[0], Argv: contain.Seal(argv...), Env: contain.Seal(os.Environ()...)})
		if err != nil {
			return err
		}
		<-c.Exited()
		status, _ := c.Poll()
		for range 2 { // before and after
			e := g.Evidence()
			l := e.Limits[0]
			say(status.Signal, "own:", l.Tripped, *l.Events, "outside:", *e.OutsideKills > 0, "MiB:", l.Effective/(1<<20))
			if err := g.Close(); err != nil {
				return err
			}
		}
		return nil
	}
}

var _ = Describe("a kill for want of memory that is not the group's own", Label("limits"), func() {
	BeforeEach(func() { suite.Require(contain.CapMemory) })

	It("is told as one of a cgroup above, whose cap is the effective one", func() {
		cappedGroup(contain.Limits{Memory: 64 << 20}) // enables the controller at the root
		dir := specCgroup()
		text, err := readFile(filepath.Join(dir, "cgroup.controllers"))
		Expect(err).NotTo(HaveOccurred())
		if !strings.Contains(text, "memory") {
			Skip("this host's controllers sit on cgroup v1, or are not passed down")
		}
		Expect(os.WriteFile(filepath.Join(dir, "memory.max"), []byte(strconv.Itoa(16<<20)), 0)).To(Succeed())
		_ = os.WriteFile(filepath.Join(dir, "memory.swap.max"), []byte("0"), 0) // not there without swap
		Expect(startHelper("crowded", &syscall.SysProcAttr{}, "BOOMBOX_SPEC_CGROUP="+dir, "BOOMBOX_SPEC_HOG=32").rest()).To(Equal([]string{
			"killed own: no 0 outside: true MiB: 16", "killed own: no 0 outside: true MiB: 16",
		}))
	})

	It("is told so on cgroup v1", func() {
		home := ownV1Cgroup("memory")
		if home == "" {
			Skip("this host's controller of memory does not sit on cgroup v1")
		}
		dir, err := os.MkdirTemp(home, "boombox-spec-")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Eventually(func() error { return os.Remove(dir) }).WithTimeout(longEnough).Should(Succeed()) })
		for _, file := range []string{"memory.limit_in_bytes", "memory.memsw.limit_in_bytes"} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(strconv.Itoa(160<<20)), 0); !os.IsNotExist(err) {
				Expect(err).NotTo(HaveOccurred())
			}
		}
		// It shares the cap with the helper, and is the larger of the two.
		Expect(startHelper("crowded", &syscall.SysProcAttr{}, "BOOMBOX_SPEC_V1="+dir, "BOOMBOX_SPEC_HOG=220").rest()).To(Equal([]string{
			"killed own: no 0 outside: true MiB: 160", "killed own: no 0 outside: true MiB: 160",
		}))
	})
})

// ownV1Cgroup is the directory of our own cgroup in the v1 hierarchy of a controller, found without the code under test; ""
// for none.
func ownV1Cgroup(controller string) string {
	text, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(text)) {
		if f := strings.SplitN(strings.TrimSpace(line), ":", 3); f[1] == controller {
			if dir := filepath.Join("/sys/fs/cgroup", controller, f[2]); isDir(dir) {
				return dir
			}
		}
	}
	return ""
}

var _ = Describe("evidence", Label("limits"), func() {
	// made makes a cgroup of files, the cap's own among them.
	made := func(files map[string]string) string {
		GinkgoHelper()
		dir := GinkgoT().TempDir()
		for name, text := range files {
			Expect(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)).To(Succeed())
		}
		return dir
	}

	DescribeTable("is what the counters say, and unknown where there are none",
		func(l contain.Limits, v1 bool, files map[string]string, tripped contain.Tripped, events, outside int64) {
			for name, text := range map[string]string{
				"memory.max": "", "memory.oom.group": "", "pids.max": "", "cpu.max": "", "memory.limit_in_bytes": "", "cpu.cfs_quota_us": "",
				"cpu.cfs_period_us": "",
			} {
				if _, ok := files[name]; !ok {
					files[name] = text
				}
			}
			var caps contain.Caps
			var err error
			if v1 {
				kind := contain.LimitMemory
				switch {
				case l.Processes > 0:
					kind = contain.LimitProcesses
				case l.CPU > 0:
					kind = contain.LimitCPU
				}
				caps, err = contain.CapV1At(made(files), kind, l)
			} else {
				caps, err = contain.CapsAt(made(files), l)
			}
			Expect(err).NotTo(HaveOccurred())
			e := caps.Evidence()
			Expect(caps.Close()).To(Succeed())
			Expect(caps.Evidence()).To(Equal(e), "it is known afterwards")
			Expect(e.Limits).To(HaveLen(1))
			Expect(e.Limits[0].Tripped).To(Equal(tripped))
			number := func(n int64) OmegaMatcher {
				if n < 0 {
					return BeNil()
				}
				return HaveValue(Equal(n))
			}
			Expect(e.Limits[0].Events).To(number(events))
			Expect(e.OutsideKills).To(number(outside))
		},
		Entry("memory, calm", contain.Limits{Memory: 1 << 20}, false,
			map[string]string{"memory.events.local": "max 3\noom 0\noom_kill 0\n"}, contain.NotTripped, int64(0), int64(0)),
		Entry("memory, its own cap", contain.Limits{Memory: 1 << 20}, false,
			map[string]string{"memory.events.local": "max 3\noom 1\noom_kill 4\n"}, contain.HasTripped, int64(4), int64(0)),
		Entry("memory, its own cap, and nobody to kill", contain.Limits{Memory: 1 << 20}, false,
			map[string]string{"memory.events.local": "oom 1\noom_kill 0\n"}, contain.HasTripped, int64(0), int64(0)),
		Entry("memory, the cap above or the host", contain.Limits{Memory: 1 << 20}, false,
			map[string]string{"memory.events.local": "max 0\noom 0\noom_kill 2\n"}, contain.NotTripped, int64(0), int64(2)),
		Entry("memory, by a kernel without the local file", contain.Limits{Memory: 1 << 20}, false,
			map[string]string{"memory.events": "oom 1\noom_kill 1\n"}, contain.HasTripped, int64(1), int64(0)),
		Entry("memory, what is below is not ours", contain.Limits{Memory: 1 << 20}, false,
			map[string]string{"memory.events.local": "oom 0\noom_kill 0\n", "memory.events": "oom 5\noom_kill 5\n"}, contain.NotTripped, int64(0), int64(0)),
		Entry("memory, unknown", contain.Limits{Memory: 1 << 20}, false, map[string]string{}, contain.TripUnknown, int64(-1), int64(-1)),
		Entry("memory, malformed", contain.Limits{Memory: 1 << 20}, false,
			map[string]string{"memory.events.local": "oom x\noom_kill 1\n"}, contain.TripUnknown, int64(-1), int64(-1)),
		Entry("processes", contain.Limits{Processes: 20}, false,
			map[string]string{"pids.events": "max 7\n", "pids.peak": "20\n"}, contain.HasTripped, int64(7), int64(-1)),
		Entry("processes, refused by a cap above", contain.Limits{Processes: 20}, false,
			map[string]string{"pids.events": "max 7\n", "pids.peak": "12\n"}, contain.NotTripped, int64(0), int64(-1)),
		Entry("processes, by a kernel that counts locally too", contain.Limits{Processes: 20}, false,
			map[string]string{"pids.events.local": "max 0\n", "pids.events": "max 7\n"}, contain.NotTripped, int64(0), int64(-1)),
		Entry("processes, unknown", contain.Limits{Processes: 20}, false, map[string]string{}, contain.TripUnknown, int64(-1), int64(-1)),
		Entry("cpu", contain.Limits{CPU: 0.5}, false,
			map[string]string{"cpu.stat": "usage_usec 1\nnr_periods 9\nnr_throttled 5\n"}, contain.HasTripped, int64(5), int64(-1)),
		Entry("cpu, calm", contain.Limits{CPU: 0.5}, false, map[string]string{"cpu.stat": "nr_throttled 0\n"}, contain.NotTripped, int64(0), int64(-1)),
		Entry("cpu, unknown", contain.Limits{CPU: 0.5}, false,
			map[string]string{"cpu.stat": "usage_usec 1\n"}, contain.TripUnknown, int64(-1), int64(-1)),
		Entry("memory of v1, its own cap", contain.Limits{Memory: 1 << 20}, true,
			map[string]string{"memory.oom_control": "under_oom 0\noom_kill 3\n", "memory.max_usage_in_bytes": "1048576\n"}, contain.HasTripped, int64(3), int64(0)),
		Entry("memory of v1, the cap above", contain.Limits{Memory: 1 << 20}, true,
			map[string]string{"memory.oom_control": "oom_kill 3\n", "memory.max_usage_in_bytes": "524288\n"}, contain.NotTripped, int64(0), int64(3)),
		Entry("memory of v1, unknown", contain.Limits{Memory: 1 << 20}, true,
			map[string]string{"memory.oom_control": "under_oom 0\n"}, contain.TripUnknown, int64(-1), int64(-1)),
		Entry("processes of v1", contain.Limits{Processes: 20}, true,
			map[string]string{"pids.events": "max 2\n"}, contain.HasTripped, int64(2), int64(-1)),
		Entry("cpu of v1", contain.Limits{CPU: 0.5}, true,
			map[string]string{"cpu.stat": "nr_periods 9\nnr_throttled 5\nthrottled_time 3\n"}, contain.HasTripped, int64(5), int64(-1)),
	)

	It("has peaks where they are measured, and nothing elsewhere", func() {
		files := map[string]string{"memory.max": "", "memory.oom.group": "", "pids.max": ""}
		limits := contain.Limits{Memory: 1 << 20, Processes: 20}
		caps, err := contain.CapsAt(made(files), limits)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(caps.Close)
		Expect(caps.Stats()).To(Equal(contain.Stats{}))
		files["memory.peak"], files["pids.peak"] = "12345\n", "7\n"
		caps, err = contain.CapsAt(made(files), limits)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(caps.Close)
		Expect(caps.Stats()).To(And(HaveField("PeakMemory", HaveValue(BeEquivalentTo(12345))), HaveField("PeakProcesses", HaveValue(BeEquivalentTo(7)))))
	})
})
