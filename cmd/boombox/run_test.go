package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/internal/suite"
	. "github.com/boombox-go/boombox/matchers"
)

var _ = Describe("run", func() {
	source, err := filepath.Abs("run_test.go")
	if err != nil {
		panic(err)
	}

	Context("streams", func() {
		It("passes both through, byte for byte", func() {
			end := boombox(boxed(nil, "streams", fixtures.Out("\xff\x00bin\r\n"), fixtures.Err("\x1b[31merr"), "exit:3")...)
			Expect(end.Stdout).To(Equal("\xff\x00bin\r\n"))
			Expect(end.Stderr).To(Equal("\x1b[31merr"))
			Expect(end.Status).To(Equal(3))
		})

		It("hands over standard input", func() {
			end := call{args: boxed(nil, "cat"), stdin: "in\x00put"}.run()
			Expect(end.Stdout).To(Equal("in\x00put"))
			Expect(end.Status).To(Equal(0))
		})

		It("gives an empty input where there is none", func() {
			Expect(boombox(boxed(nil, "cat")...)).To(And(HaveField("Status", 0), HaveField("Stdout", BeEmpty())))
		})

		It("passes no more than --max-output, and says so", func() {
			end := boombox(boxed([]string{"--max-output", "1KiB", "--report", "r.json"}, "flood", "100000")...)
			Expect(end.Status).To(Equal(125))
			Expect(end.Stdout).To(HaveLen(1024))
			Expect(end.Stderr).To(MatchRegexp(`^boombox: .*output passed a cap[^\n]*\n$`))
			Expect(reportOf(read(end.Dir, "r.json"))).To(HaveKeyWithValue("outcome", "overflowed"))
		})

		It("ends in time though nobody takes the output", func() {
			r, w, err := os.Pipe()
			Expect(err).NotTo(HaveOccurred())
			defer r.Close()
			defer w.Close()
			began := time.Now()
			end := call{args: boxed([]string{"--timeout", "500ms"}, "flood"), stdout: w}.run()
			Expect(end.Status).To(Equal(124))
			Expect(time.Since(began)).To(BeNumerically("<", 5*time.Second))
		})
	})

	Context("environment and directory", func() {
		names := func(flags ...string) []string {
			end := call{args: boxed(flags, "envnames"), env: []string{"BOX_A=1", "BOX_B=2"}}.run()
			Expect(end.Status).To(Equal(0), end.Stderr)
			return strings.Fields(end.Stdout)
		}

		It("inherits by default, and sets", func() {
			Expect(names("--env", "BOX_C=3,4")).To(ContainElements("BOX_A", "BOX_B", "BOX_C", "PATH"))
		})

		It("clears", func() {
			Expect(names("--env-clear", "--env", "BOX_C=")).To(ConsistOf("BOX_C"))
		})

		It("keeps what is named, and nothing else", func() {
			Expect(names("--inherit-env", "BOX_B", "--inherit-env", "BOX_UNSET", "--env", "BOX_C=3")).
				To(ConsistOf("BOX_B", "BOX_C"))
		})

		It("runs in --dir", func() {
			dir, err := filepath.EvalSymlinks(GinkgoT().TempDir())
			Expect(err).NotTo(HaveOccurred())
			Expect(boombox(boxed([]string{"--dir", dir}, "cwd")...).Stdout).To(ContainSubstring(filepath.Base(dir)))
		})
	})

	DescribeTable("ends with the status of",
		func(status int, args []string) {
			end := boombox(append([]string{"run"}, args...)...)
			Expect(end.Status).To(Equal(status), end.Stderr)
			Expect(end.Stderr).NotTo(ContainSubstring("SECRET"))
			if status < 123 || status > 127 {
				Expect(end.Stderr).To(BeEmpty(), "the program's own end needs no words")
			} else {
				Expect(end.Stderr).To(MatchRegexp(`^boombox: [^\n]+\n$`))
			}
		},
		Entry("success", 0, boxed(nil, "exit")[1:]),
		Entry("a failure", 42, boxed(nil, "exit", "42")[1:]),
		Entry("255", 255, boxed(nil, "exit", "255")[1:]),
		Entry("a signal", 128+9, boxed(nil, "signal", "9")[1:]),
		Entry("another signal", 128+15, boxed(nil, "signal", "15")[1:]),
		Entry("a timeout", 124, boxed([]string{"--timeout", "200ms"}, "sleep", "quiet")[1:]),
		Entry("an idle timeout", 123, boxed([]string{"--idle-timeout", "300ms"}, "sleep", "quiet")[1:]),
		Entry("a missing program", 127, []string{"--", "no-such-program", "SECRET"}),
		Entry("a missing path", 127, []string{"--", "/no/such/program", "SECRET"}),
		Entry("a directory", 126, []string{"--", os.TempDir(), "SECRET"}),
		Entry("a file that is no program", 126, []string{"--", source, "SECRET"}),
		Entry("a missing directory", 125, boxed([]string{"--dir", "/no/such/SECRET"}, "exit")[1:]),
	)

	It("exits 0 within the grace of a timeout, and has timed out all the same", func() {
		flags := []string{"--timeout", "500ms", "--grace", "10s", "--report", "r.json"}
		end := boombox(boxed(flags, "graceful")...)
		Expect(end.Status).To(Equal(124))
		Expect(end.Stdout).To(HaveSuffix("bye\n"))
		Expect(reportOf(read(end.Dir, "r.json"))).To(And(
			HaveKeyWithValue("outcome", "timed_out"),
			HaveKeyWithValue("exit_code", BeEquivalentTo(0)),
			HaveKeyWithValue("signal", BeNil()),
		))
	})

	DescribeTable("leaves nothing of a tree that times out, as a look into /proc from outside confirms",
		func(child string, args ...string) {
			suite.Require(contain.KillTree)
			env, find := suite.WithNonce()
			end := call{
				args: boxed([]string{"--timeout", "1s", "--report", "r.json"}, child, args...),
				env:  []string{env},
			}.run()
			Expect(end.Status).To(Equal(124), end.Stderr)
			Expect(end.Stdout).To(HavePrefix("ready"))
			Expect(find()).NotTo(HaveSurvivors())
			Expect(reportOf(read(end.Dir, "r.json"))).To(And(
				HaveKeyWithValue("outcome", "timed_out"),
				HaveKeyWithValue("mechanism", usualMechanism()),
				HaveKeyWithValue("guarantees", ContainElement("kill-tree")),
				HaveKeyWithValue("survivors", BeEquivalentTo(0)),
			))
		},
		Entry("escapees", "escapees"),
		Entry("setsid", "setsid"),
		Entry("setpgid", "setpgid"),
		Entry("doublefork", "doublefork"),
		Entry("pipeholder", "pipeholder", "stay"),
		Entry("sigtermignorer", "sigtermignorer"),
	)

	It("leaves nothing when the program exits and leaves a daemon", func() {
		suite.Require(contain.KillTree)
		env, find := suite.WithNonce()
		end := call{args: boxed(nil, "daemonise"), env: []string{env}}.run()
		Expect(end.Status).To(Equal(0))
		Expect(find()).NotTo(HaveSurvivors())
	})

	It("is what holds them: without it the escapees live on", func() {
		env, find := suite.WithNonce()
		argv := fixture("escapees", "leave")
		bare := call{args: argv[1:], env: []string{env}}.command()
		bare.Path, bare.Args = argv[0], argv
		Expect(bare.Run()).To(Succeed())
		left := find()
		for _, m := range left {
			p, err := os.FindProcess(m.PID)
			Expect(err).NotTo(HaveOccurred())
			_ = p.Kill()
			_ = p.Release()
		}
		if len(left) == 0 {
			Skip("no /proc on this system to look into")
		}
		Expect(left).To(HaveMembers(3))
		Eventually(find).WithTimeout(patience).ShouldNot(HaveSurvivors())
	})
})
