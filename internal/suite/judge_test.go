package suite_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/internal/suite"
)

// kept keeps a leaked file open.
var kept *os.File

// cases are what the specs of judged suites do.
var cases = map[string]func(){
	"tidy":  func() {},
	"fails": func() { Fail("on purpose") },
	"skips": func() { Skip("the reason\nand more of it") },
	"descriptor": func() {
		var err error
		kept, err = os.Open(os.DevNull)
		Expect(err).NotTo(HaveOccurred())
	},
	"goroutine": func() { go func() { select {} }() },
	"child":     func() { leave("sleep", "life=6s", "quiet") },
	"zombie": func() {
		pid := leave("exit")
		Eventually(func() bool { return suite.Alive(pid) }).WithTimeout(20 * time.Second).Should(BeFalse())
	},
	"escapee": func() {
		argv := fixtures.Argv("daemonise", "life=6s")
		Expect(exec.Command(argv[0], argv[1:]...).Run()).To(Succeed())
	},
	"cgroup": func() {
		_, err := contain.New(contain.Options{Mechanism: contain.Cgroup2})
		Expect(err).NotTo(HaveOccurred())
	},
	"requires everything": func() { suite.Require(^contain.Guarantee(0)) },
}

var (
	leftProcess = regexp.MustCompile(`left behind: (?:descendant pid|escaped process) (\d+)`)
	leftCgroup  = regexp.MustCompile(`left behind: cgroup (.*)`)
)

// tidyUp removes what a judged suite said that it left.
func tidyUp(out string) {
	GinkgoHelper()
	for _, m := range leftProcess.FindAllStringSubmatch(out, -1) {
		pid, err := strconv.Atoi(m[1])
		Expect(err).NotTo(HaveOccurred())
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill()
			_ = p.Release()
		}
	}
	for _, m := range leftCgroup.FindAllStringSubmatch(out, -1) {
		groups, err := filepath.Glob(m[1] + "/group-*")
		Expect(err).NotTo(HaveOccurred())
		for _, dir := range append(groups, m[1]) {
			// Any process that makes a group sweeps what dead owners left, and may have been first.
			Expect(os.Remove(dir)).To(Or(Succeed(), MatchError(os.ErrNotExist)))
		}
	}
}

// leave starts a child and forgets it.
func leave(child string, args ...string) int {
	argv := fixtures.Argv(child, args...)
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{})
	Expect(err).NotTo(HaveOccurred())
	return p.Pid
}

// judged runs one case in a process of its own.
func judged(name string, env ...string) (output string, passed bool) {
	GinkgoHelper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestSuite$", "-test.count="+count(name), "-ginkgo.no-color")
	cmd.Env = append(append(os.Environ(), caseVariable+"="+strings.TrimSuffix(name, " three times")), env...)
	// Not CombinedOutput: a case may leave a child behind that holds the pipe.
	out, err := os.CreateTemp(GinkgoT().TempDir(), "out")
	Expect(err).NotTo(HaveOccurred())
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Run()
	b, readErr := os.ReadFile(out.Name())
	Expect(readErr).NotTo(HaveOccurred())
	return string(b), err == nil
}

func count(name string) string {
	if strings.HasSuffix(name, " three times") {
		return "3"
	}
	return "1"
}

func judge() {
	It("passes a suite that leaves nothing behind", func() {
		out, passed := judged("tidy")
		Expect(passed).To(BeTrue(), out)
		Expect(out).To(ContainSubstring("\nsuite: 2 passed, 0 failed, 0 skipped\n"))
	})

	It("fails a suite whose spec fails", func() {
		out, passed := judged("fails")
		Expect(passed).To(BeFalse())
		Expect(out).To(ContainSubstring("\nsuite: 1 passed, 1 failed, 0 skipped\n"))
	})

	It("counts and prints what was skipped, and why", func() {
		out, passed := judged("skips")
		Expect(passed).To(BeTrue(), out)
		Expect(out).To(ContainSubstring("\nsuite: skipped 1: the reason\nsuite: 1 passed, 0 failed, 1 skipped\n"))
	})

	It("says so under ginkgo -p as well", func(ctx SpecContext) {
		tool, err := exec.LookPath("go")
		if err != nil {
			Skip("there is no go tool to build the ginkgo command with")
		}
		self, err := os.Executable()
		Expect(err).NotTo(HaveOccurred())
		binary := filepath.Join(GinkgoT().TempDir(), "suite.test") // the command knows a suite by its name
		Expect(os.Symlink(self, binary)).To(Succeed())
		cmd := exec.CommandContext(ctx, tool, "run", "github.com/onsi/ginkgo/v2/ginkgo", "--procs=2", "--no-color", binary)
		cmd.Env = append(os.Environ(), caseVariable+"=skips")
		out, err := cmd.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(out))
		Expect(string(out)).To(And(ContainSubstring("suite: skipped 1: the reason"), ContainSubstring("suite: 1 passed, 0 failed, 1 skipped")))
	}, NodeTimeout(5*time.Minute))

	It("runs every repetition in a process of its own", func() {
		out, passed := judged("tidy three times")
		Expect(passed).To(BeTrue(), out)
		Expect(strings.Count(out, "suite: 2 passed, 0 failed, 0 skipped\n")).To(Equal(3))
		out, passed = judged("fails three times")
		Expect(passed).To(BeFalse())
		Expect(strings.Count(out, "suite: 1 passed, 1 failed, 0 skipped\n")).To(Equal(3))
	})

	It("fails a suite that leaves something behind", func() {
		if runtime.GOOS != "linux" {
			Skip("what is left is counted through /proc, which this system has not")
		}
		left := map[string]string{
			"descriptor": "descriptor ", "goroutine": "goroutine ", "child": "descendant ", "zombie": "descendant ",
			"escapee": "escaped process ",
		}
		if g, err := contain.New(contain.Options{Mechanism: contain.Cgroup2}); err == nil {
			Expect(g.Close()).To(Succeed())
			left["cgroup"] = "cgroup "
		}
		// Each takes the whole patience of a suite: all at once.
		var all sync.WaitGroup
		for name, what := range left {
			all.Go(func() {
				defer GinkgoRecover()
				out, passed := judged(name)
				tidyUp(out)
				Expect(passed).To(BeFalse(), name)
				Expect(out).To(ContainSubstring("suite: left behind: "+what), name)
				Expect(out).To(MatchRegexp(`\nsuite: 2 passed, [1-9] failed, 0 skipped\n`), name)
			})
		}
		all.Wait()
	})

	It("skips what the host cannot do, and fails it where BOOMBOX_REQUIRE lists it", func() {
		out, passed := judged("requires everything", "BOOMBOX_REQUIRE=")
		Expect(passed).To(BeTrue(), out)
		lacks := regexp.MustCompile(`\nsuite: skipped 1: this host cannot guarantee ([a-z-]+)`).FindStringSubmatch(out)
		Expect(lacks).NotTo(BeNil(), out)
		out, passed = judged("requires everything", "BOOMBOX_REQUIRE=kill-tri")
		Expect(passed).To(BeFalse(), "a misspelt requirement requires nothing, so it must not pass")
		Expect(out).To(ContainSubstring("BOOMBOX_REQUIRE"))
		if lacks[1] == contain.Guarantee(0).String() {
			Skip("this host lacks no guarantee that has a name")
		}
		out, passed = judged("requires everything", "BOOMBOX_REQUIRE="+lacks[1])
		Expect(passed).To(BeFalse())
		Expect(out).To(ContainSubstring("this host cannot guarantee "))
	})

	It("finds the processes that carry a nonce, and no other", func() {
		if runtime.GOOS != "linux" {
			Skip("the nonce is found through /proc, which this system has not")
		}
		env, find := suite.WithNonce()
		Expect(find()).To(BeEmpty())
		argv := fixtures.Argv("sleep", "quiet")
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), env)
		Expect(cmd.Start()).To(Succeed())
		Eventually(find).WithTimeout(5 * time.Second).Should(ConsistOf(HaveField("PID", cmd.Process.Pid)))
		Expect(cmd.Process.Kill()).To(Succeed())
		Eventually(find).WithTimeout(5*time.Second).Should(BeEmpty(), "a zombie does not run")
		_ = cmd.Wait()
	})
}
