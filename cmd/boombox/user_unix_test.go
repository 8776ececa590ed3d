//go:build unix

package main_test

import (
	"os"
	"path/filepath"
	"runtime"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("--user", func() {
	const whoami = "id -u; id -g; id -G"

	BeforeEach(func() {
		if os.Geteuid() != 0 {
			Skip("it takes root")
		}
	})

	It("runs the program as that user and group, in no group of ours", func() {
		Expect(boombox("run", "--", "sh", "-c", whoami).Stdout).To(HavePrefix("0\n0\n"), "the control")
		Expect(boombox("run", "--user", "4711:4712", "--", "sh", "-c", whoami)).To(And(
			HaveField("Status", 0), HaveField("Stdout", "4711\n4712\n4712\n"),
		))
	})

	It("is recorded as any other run", func() {
		end := boombox("record", "t.cassette", "--user", "4711:4712", "--", "sh", "-c", whoami)
		Expect(end.Stdout).To(Equal("4711\n4712\n4712\n"))
		Expect(read(end.Dir, "t.cassette")).To(ContainSubstring(`out "4711\n"`))
	})

	It("needs a program and a directory that the user may use", func() {
		dir := GinkgoT().TempDir()
		Expect(os.Chmod(dir, 0o700)).To(Succeed())
		program := filepath.Join(dir, "SECRET")
		Expect(os.WriteFile(program, []byte("#!/bin/sh\nexit 3\n"), 0o755)).To(Succeed())
		Expect(boombox("run", "--", program).Status).To(Equal(3), "the control")
		Expect(boombox("run", "--user", "65534:65534", "--", program).Status).To(Equal(126))
		end := boombox("run", "--user", "65534:65534", "--dir", dir, "--", "true")
		Expect(end).To(haveRefused("working directory cannot be used"))
	})

	It("is refused to whoever may not, before anything starts", func() {
		if runtime.GOOS != "linux" {
			Skip("setpriv is Linux's")
		}
		via := []string{"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"}
		end := call{via: via, args: []string{"run", "--user", "1:1", "--", "sh", "-c", "echo SECRET"}}.run()
		Expect(end).To(haveRefused("--user cannot be honoured: running a program as somebody else takes"))
		Expect(end.Stdout).To(BeEmpty())
	})
})
