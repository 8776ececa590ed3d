package main_test

import (
	"os/exec"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/suite"
	. "github.com/boombox-go/boombox/matchers"
)

var _ = Describe("demo", func() {
	show := func(path string) ended {
		GinkgoHelper()
		env, find := suite.WithNonce()
		temp := GinkgoT().TempDir()
		vars := []string{env, "TMPDIR=" + temp}
		if path != "inherit" {
			vars = append(vars, "PATH="+path)
		}
		began := time.Now()
		end := call{args: []string{"demo"}, env: vars}.run()
		Expect(end.Status).To(Equal(0), end.Stdout+end.Stderr)
		Expect(time.Since(began)).To(BeNumerically("<", 10*time.Second))
		Expect(end.Stderr).To(BeEmpty())
		Expect(find()).NotTo(HaveSurvivors())
		Expect(files(temp)).To(BeEmpty())
		Expect(files(end.Dir)).To(BeEmpty())
		Expect(end.Stdout).To(And(
			ContainSubstring("timed_out after 1"), ContainSubstring("file mode 0600"),
			ContainSubstring("program not found"), ContainSubstring("without a process"),
			ContainSubstring("no recorded run answers this call"), ContainSubstring("nearest   run"),
			ContainSubstring("All as promised"),
		))
		return end
	}

	It("shows a session with git, and leaves no process and no file", func() {
		git, err := exec.LookPath("git")
		if err != nil {
			Skip("no git on this host")
		}
		end := show("inherit")
		Expect(end.Stdout).To(And(ContainSubstring("A session with git"), ContainSubstring("6 of 6 runs")))
		Expect(end.Stdout).NotTo(ContainSubstring(filepath.Dir(git)), "no value of PATH on the cassette")
	})

	It("shows a session with the fixtures' tool where there is no git", func() {
		Expect(show("/no/such/dir").Stdout).To(And(ContainSubstring("there is no git here"), ContainSubstring("5 of 5 runs")))
	})

	It("finds every process of the tool before the deadline, and none after", func() {
		suite.Require(contain.KillTree)
		Expect(show("inherit").Stdout).To(And(
			ContainSubstring("before the deadline  4 processes"), ContainSubstring("after                0 processes"),
		))
	})
})
