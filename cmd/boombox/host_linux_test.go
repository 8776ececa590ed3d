package main_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// elsewhere runs boombox in a mount namespace of its own, after a script has changed it. Nothing of it is seen outside.
func elsewhere(script string, c call) ended {
	GinkgoHelper()
	sh, err := exec.LookPath("sh")
	if os.Getuid() != 0 || err != nil {
		Skip("only root can change mounts, with a sh and mount")
	}
	c.via = []string{sh, "-c", script + ` || exit 77; exec "$0" "$@"`}
	cmd := c.command()
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	end := collect(cmd)
	if end.Status == 77 {
		Skip("this host does not let root change mounts")
	}
	return end
}

// readOnlyCgroups remounts every cgroup file system, as containers have it.
func readOnlyCgroups() string {
	GinkgoHelper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	Expect(err).NotTo(HaveOccurred())
	script := "true"
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); f[2] == "cgroup2" {
			script += " && mount -o remount,bind,ro " + f[1]
		}
	}
	return script
}

var _ = Describe("on a host whose cgroups cannot be written", func() {
	// A namespace, or where there is none a subreaper.
	const instead = "(pid-namespace|subreaper)"

	It("reports what holds the tree instead", func() {
		args := boxed([]string{"--timeout", "300ms", "--report", "r.json"}, "sleep")
		end := elsewhere(readOnlyCgroups(), call{args: args})
		Expect(end.Status).To(Equal(124))
		Expect(reportOf(read(end.Dir, "r.json"))).To(And(
			HaveKeyWithValue("mechanism", MatchRegexp(instead)),
			HaveKeyWithValue("guarantees", ContainElements("kill-tree", "kill-on-owner-death")),
			HaveKeyWithValue("survivors", BeEquivalentTo(0)),
		))
	})

	It("refuses --require cap-memory with the reason, and so does doctor", func() {
		args := boxed([]string{"--require", "cap-memory"}, "exit")
		Expect(elsewhere(readOnlyCgroups(), call{args: args})).To(haveRefused("cannot guarantee cap-memory"))
		end := elsewhere(readOnlyCgroups(), call{args: []string{"doctor", "--require", "cap-memory"}})
		Expect(end.Status).To(Equal(125))
		Expect(end.Stdout).To(ContainSubstring("not available: "))
	})

	It("shows a demo that says so, and that nothing escaped", func() {
		end := elsewhere(readOnlyCgroups(), call{args: []string{"demo"}})
		Expect(end.Status).To(Equal(0), end.Stdout+end.Stderr)
		Expect(end.Stdout).To(And(
			MatchRegexp("held by              "+instead+", which guarantees kill-tree,"),
			ContainSubstring("after                0 processes of the tool found in /proc"),
			ContainSubstring("All as promised"),
		))
	})
})

var _ = Describe("on a host without cgroups and without /proc, as in many a chroot", func() {
	const bare = "mount -t tmpfs none /proc"

	It("reports a process group, and nothing that it would guarantee", func() {
		end := elsewhere(bare, call{args: boxed([]string{"--timeout", "300ms", "--report", "r.json"}, "sleep")})
		Expect(end.Status).To(Equal(124))
		Expect(reportOf(read(end.Dir, "r.json"))).To(And(
			HaveKeyWithValue("mechanism", "process-group"),
			HaveKeyWithValue("guarantees", BeEmpty()),
		))
	})

	It("refuses --require kill-tree, and starts nothing", func() {
		end := elsewhere(bare, call{args: []string{"run", "--require", "kill-tree", "--", "touch", "witness"}})
		Expect(end).To(haveRefused("cannot guarantee kill-tree"))
		Expect(files(end.Dir)).To(BeEmpty())
		By("which would have left a witness")
		end = elsewhere(bare, call{args: []string{"run", "--", "touch", "witness"}})
		Expect(end.Status).To(Equal(0), end.Stderr)
		Expect(files(end.Dir)).To(ConsistOf("witness"))
	})
})

var _ = Describe("on a disk that is full", func() {
	const full = `mkdir full && mount -t tmpfs -o size=16k none full && (cp old full/t.cassette; cat /dev/zero >full/fill; true) 2>/dev/null`

	It("fails to write the report, and says so", func() {
		args := boxed([]string{"--report", "full/r.json"}, "exit")
		Expect(elsewhere(full, call{args: args})).To(haveRefused("cannot write the report: "))
	})

	It("keeps the old cassette, and says why there is no new one", func() {
		dir := GinkgoT().TempDir()
		Expect(call{args: onTape("record", nil, "lines", "1"), dir: dir}.run().Status).To(Equal(0))
		Expect(os.Rename(dir+"/t.cassette", dir+"/old")).To(Succeed())
		args := append([]string{"record", "full/t.cassette", "--"}, fixture("streams", strings.Repeat("x", 3000))...)
		after := full + ` && ("$0" "$@"; status=$?; cmp old full/t.cassette && ls -A full && exit $status); exit $?; true`
		end := elsewhere(after, call{args: args, dir: dir})
		Expect(end.Status).To(Equal(125), end.Stderr)
		Expect(end.Stderr).To(ContainSubstring("no space left on device"))
		Expect(end.Stdout).To(Equal("fill\nt.cassette\n"))
	})
})
