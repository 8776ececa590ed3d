package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// nobody is a user and group that owns nothing.
const nobody = "65534"

// asNobody runs boombox as an unprivileged user: in a user namespace of the spec's making in which no further one may be
// made, as hosted CI runners have it, or, with namespaces, on the host as it is.
func asNobody(c call, namespaces bool) ended {
	GinkgoHelper()
	setpriv, err := exec.LookPath("setpriv")
	if os.Getuid() != 0 || err != nil {
		Skip("only root can become another user, with setpriv")
	}
	become := `exec ` + setpriv + ` --reuid ` + nobody + ` --regid ` + nobody + ` --clear-groups "$0" "$@"`
	if namespaces {
		c.via = []string{"/bin/sh", "-c", become}
		return c.run()
	}
	c.via = []string{"/bin/sh", "-c", `echo 0 2>/dev/null >/proc/sys/user/max_user_namespaces || exit 77; ` + become}
	cmd := c.command()
	all := []syscall.SysProcIDMap{{Size: 65536}}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER, UidMappings: all, GidMappings: all, GidMappingsEnableSetgroups: true,
	}
	end := collect(cmd)
	if end.Status == 77 {
		Skip("user namespaces cannot be forbidden here")
	}
	return end
}

// openDir is a directory that everybody may write to.
func openDir() string {
	GinkgoHelper()
	dir, err := os.MkdirTemp("", "boombox-spec-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, dir)
	Expect(os.Chmod(dir, 0o777)).To(Succeed())
	return dir
}

var _ = Describe("a cap that the host lets nobody enforce", Label("limits"), func() {
	// The program would leave a file.
	const witness = "witness"
	run := func(flags ...string) call {
		return call{dir: openDir(), args: append(append([]string{"run"}, flags...), "--", "touch", witness)}
	}
	hosts := map[string]func(call) ended{
		"a container": func(c call) ended { return elsewhere(readOnlyCgroups(), c) },
		"a user without a session, cgroup or namespace": func(c call) ended { return asNobody(c, false) },
	}

	for name, on := range hosts {
		DescribeTable("ends with 125 and one line that says why and what would help, and nothing starts, on the host of "+name,
			func(kind string, flags ...string) {
				end := on(run(flags...))
				Expect(end).To(haveRefused(kind + " limit cannot be enforced ("))
				Expect(end.Stderr).To(ContainSubstring("; would help: "))
				Expect(filepath.Join(end.Dir, witness)).NotTo(BeAnExistingFile())
			},
			Entry("memory", "memory", "--max-memory", "64MiB"),
			Entry("processes", "processes", "--max-processes", "64"),
			Entry("cpu", "cpu", "--cpu", "1"),
			Entry("all of an untrusted program", "memory", "--untrusted"),
		)

		It("is what refuses it: without one the program runs, on the host of "+name, func() {
			end := on(run())
			Expect(end.Status).To(BeZero(), end.Stderr)
			Expect(filepath.Join(end.Dir, witness)).To(BeAnExistingFile())
		})
	}

	It("may yet be had for processes alone, by a user who has namespaces", func() {
		c := call{dir: openDir()}
		// Everybody may execute a copy.
		bomb := fixture("taskbomb", "60")
		text, err := os.ReadFile(bomb[0])
		Expect(err).NotTo(HaveOccurred())
		bomb[0] = filepath.Join(c.dir, "bomb")
		Expect(os.WriteFile(bomb[0], text, 0o755)).To(Succeed())
		c.args = append([]string{"run", "--report", "r.json", "--max-processes", "20", "--timeout", "2s", "--"}, bomb...)
		end := asNobody(c, true)
		if end.Status == 125 {
			Expect(end).To(haveRefused("processes limit cannot be enforced ("))
			Skip("users have no namespaces here: " + end.Stderr)
		}
		Expect(end.Status).To(Equal(124), end.Stderr)
		report := reportOf(read(end.Dir, "r.json"))
		Expect(report).To(And(HaveKeyWithValue("mechanism", "pid-namespace"), HaveKeyWithValue("survivors", BeEquivalentTo(0)),
			HaveKeyWithValue("guarantees", ContainElement("cap-processes"))))
		Expect(report["limits"]).To(HaveExactElements(And(
			HaveKeyWithValue("kind", "processes"), HaveKeyWithValue("tripped", "unknown"), HaveKeyWithValue("events", BeNil()))))
		Expect(end.Stdout).To(ContainSubstring("refused\n"))
	})
})
