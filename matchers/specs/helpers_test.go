package specs_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/require"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/matchers/specs"
)

// judged runs one case in a process of its own, in dir, which holds its cassettes.
func judged(dir, name string, env ...string) (output string, passed bool) {
	GinkgoHelper()
	self, err := os.Executable()
	Expect(err).NotTo(HaveOccurred())
	cmd := exec.Command(self, "-test.run=^TestSpecs$", "-ginkgo.no-color",
		"-ginkgo.json-report="+filepath.Join(dir, "report.json"), "-ginkgo.junit-report="+filepath.Join(dir, "report.xml"))
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), caseVariable+"="+name, "CI=", "BOOMBOX_CASSETTE=", "BOOMBOX_REQUIRE="), env...)
	// Not CombinedOutput: a case may leave a child behind that holds the pipe.
	out, err := os.Create(filepath.Join(dir, "out"))
	Expect(err).NotTo(HaveOccurred())
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Run()
	b, readErr := os.ReadFile(out.Name())
	Expect(readErr).NotTo(HaveOccurred())
	return string(b), err == nil
}

// parallel is judged by ginkgo -p, in two processes.
func parallel(ctx SpecContext, dir, name string, env ...string) (output string, passed bool) {
	GinkgoHelper()
	tool, err := exec.LookPath("go")
	if err != nil {
		Skip("there is no go tool to build the ginkgo command with")
	}
	self, err := os.Executable()
	Expect(err).NotTo(HaveOccurred())
	ginkgo := filepath.Join(GinkgoT().TempDir(), "ginkgo")
	// Built here, where the module is, and run in dir.
	out, err := exec.CommandContext(ctx, tool, "build", "-o", ginkgo, "github.com/onsi/ginkgo/v2/ginkgo").CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
	// The command knows a suite by its name, and runs it where it lies.
	Expect(os.Symlink(self, filepath.Join(dir, "specs.test"))).To(Succeed())
	cmd := exec.CommandContext(ctx, ginkgo, "--procs=2", "--no-color", "--json-report=report.json", "--junit-report=report.xml", "specs.test")
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), caseVariable+"="+name, "CI=", "BOOMBOX_CASSETTE=", "BOOMBOX_REQUIRE="), env...)
	out, err = cmd.CombinedOutput()
	return string(out), err == nil
}

// reports are the JSON and the JUnit report in dir, which must be valid.
func reports(dir string) (asJSON, asXML string) {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	Expect(err).NotTo(HaveOccurred())
	Expect(json.Valid(text)).To(BeTrue())
	junit, err := os.ReadFile(filepath.Join(dir, "report.xml"))
	Expect(err).NotTo(HaveOccurred())
	decoder := xml.NewDecoder(strings.NewReader(string(junit)))
	for err == nil {
		_, err = decoder.Token()
	}
	Expect(err).To(MatchError(io.EOF))
	return string(text), string(junit)
}

func cassettesIn(dir string) []string {
	list, err := filepath.Glob(filepath.Join(dir, "testdata", "cassettes", "*"))
	Expect(err).NotTo(HaveOccurred())
	return list
}

func judge() {
	var dir string
	BeforeEach(func() { dir = GinkgoT().TempDir() })

	Describe("Group", func() {
		It("ends with its spec, descendants included", func() {
			out, passed := judged(dir, "group")
			Expect(passed).To(BeTrue(), out)
		})

		It("fails the spec where it cannot be had", func() {
			out, passed := judged(dir, "no group")
			Expect(passed).To(BeFalse())
			Expect(out).To(ContainSubstring("no group for this test: contain: this host has no none-such"))
		})
	})

	Describe("NoLeaks", func() {
		It("names and kills what a spec left behind, and blames no other", func() {
			out, passed := judged(dir, "leak")
			Expect(passed).To(BeFalse())
			Expect(out).To(ContainSubstring("this spec left processes behind, which are killed now"))
			Expect(out).To(ContainSubstring("specs: 1 passed, 1 failed, 0 skipped"))
			m := regexp.MustCompile("pid (\\d+) `").FindStringSubmatch(out)
			Expect(m).To(HaveLen(2), out)
			pid, err := strconv.Atoi(m[1])
			Expect(err).NotTo(HaveOccurred())
			Eventually(func() int { return pid }).Should(Or(BeGone(), BeZombie()))
		})

		It("marks what HaveEscapees then finds, and names it once the group is closed", func() {
			out, passed := judged(dir, "escape")
			Expect(passed).To(BeFalse())
			Expect(out).To(ContainSubstring("this spec left processes behind, which are killed now"))
			Expect(out).NotTo(ContainSubstring("to have escapees"), "it was found while it lived")
			out, passed = judged(dir, "no mark")
			Expect(passed).To(BeFalse())
			Expect(out).To(ContainSubstring("specs.Mark: nothing is marked: call specs.NoLeaks in a BeforeEach"))
		})

		It("waits for what is about to end", func() {
			out, passed := judged(dir, "late")
			Expect(passed).To(BeTrue(), out)
		})

		It("leaves the environment as it was", func() {
			_, set := os.LookupEnv(specs.EnvNonce)
			Expect(set).To(BeFalse())
			specs.NoLeaks()
			Expect(os.Getenv(specs.EnvNonce)).NotTo(BeEmpty())
		})
	})

	Describe("Require", func() {
		It("skips with a reason, and fails where the environment says so", func() {
			out, passed := judged(dir, "require")
			Expect(passed).To(BeTrue(), out)
			Expect(out).To(MatchRegexp(`specs: skipped 1: this host cannot guarantee `))
			Expect(out).To(ContainSubstring("specs: 1 passed, 0 failed, 1 skipped"))
			missing := regexp.MustCompile(`this host cannot guarantee ([a-z-]+)`).FindStringSubmatch(out)[1]
			out, passed = judged(dir, "require", "BOOMBOX_REQUIRE="+missing)
			Expect(passed).To(BeFalse())
			Expect(out).To(ContainSubstring("and BOOMBOX_REQUIRE asks for " + missing))
			out, passed = judged(dir, "require", "BOOMBOX_REQUIRE=no-such-thing")
			Expect(passed).To(BeFalse(), "a misspelt requirement requires nothing, so it must not pass")
			Expect(out).To(ContainSubstring("BOOMBOX_REQUIRE: "))
		})

		It("asks one mechanism for all of it", func() {
			host := contain.HostReport{Rungs: []contain.Rung{
				{Guarantees: contain.KillTree | contain.KillOnOwnerDeath | contain.CapCPU},
				{Guarantees: contain.KillTree | contain.KillForkBomb, Available: true},
				{Guarantees: contain.KillOnOwnerDeath, Available: true},
			}}
			Expect(require.Lacking(host, contain.KillTree)).To(BeZero())
			Expect(require.Lacking(host, contain.KillTree|contain.KillOnOwnerDeath)).NotTo(BeZero())
			Expect(require.Lacking(host, contain.CapCPU)).To(Equal(contain.CapCPU))
			Expect(require.Lacking(host, 0)).To(BeZero())
		})
	})

	Describe("Runner", func() {
		It("records a spec that passes, under its name, and replays it", func() {
			out, passed := judged(dir, "record", "BOOMBOX_CASSETTE=record")
			Expect(passed).To(BeTrue(), out)
			Expect(cassettesIn(dir)).To(ConsistOf(MatchRegexp(`/case-calls-the-tool-[0-9a-f]{8}\.cassette$`)))
			Expect(cassettesIn(dir)[0]).To(And(BePrivateFile(), HaveInteractions(1)))
			out, passed = judged(dir, "record")
			Expect(passed).To(BeTrue(), out)
		})

		It("records nothing of a spec that fails", func() {
			_, passed := judged(dir, "record and fail", "BOOMBOX_CASSETTE=record")
			Expect(passed).To(BeFalse())
			Expect(cassettesIn(dir)).To(BeEmpty())
		})

		It("records the try that passed alone", func() {
			out, passed := judged(dir, "retry", "BOOMBOX_CASSETTE=record")
			Expect(passed).To(BeTrue(), out)
			text, err := os.ReadFile(cassettesIn(dir)[0])
			Expect(err).NotTo(HaveOccurred())
			Expect(string(text)).To(And(ContainSubstring(`argv "xx"`), Not(ContainSubstring(`argv "x"`))))
		})

		It("fails a spec whose code swallowed a miss, and tells how to record", func() {
			out, passed := judged(dir, "record", "BOOMBOX_CASSETTE=record")
			Expect(passed).To(BeTrue(), out)
			out, passed = judged(dir, "miss")
			Expect(passed).To(BeFalse())
			Expect(out).To(ContainSubstring("cassette: miss at call 2"))
			Expect(out).To(ContainSubstring(`BOOMBOX_CASSETTE=record go test -count=1 -ginkgo.focus=' case calls the tool$'`))
			Expect(out).NotTo(ContainSubstring("canary"))
		})

		It("fails two specs that would share a cassette, with the places of both", func() {
			out, passed := judged(dir, "collision", "BOOMBOX_CASSETTE=record")
			Expect(passed).To(BeFalse())
			Expect(out).To(MatchRegexp(`two specs have the text "case calls the tool", .*\n.*cases_test.go:\d+\n.*cases_test.go:\d+`))
			Expect(out).To(ContainSubstring("specs: 1 passed, 1 failed, 0 skipped"))
		})

		It("quotes the text of a spec for the shell and for Ginkgo", func() {
			Expect(specs.Hint("it's (a) spec")).To(HaveSuffix(` -ginkgo.focus=' it'\''s \(a\) spec$'`))
		})
	})

	Describe("ShowTreeOnTimeout", func() {
		It("shows the processes, without arguments, when a node times out", func() {
			out, passed := judged(dir, "timeout")
			Expect(passed).To(BeFalse())
			Expect(out).To(MatchRegexp(`process tree, held by [a-z0-9+-]+: 1 members\n\s+pid \d+ "`))
			Expect(out).NotTo(ContainSubstring("canary"))
		})

		It("draws children below their parents, each once, and bounds the list", func() {
			list := []contain.Member{
				{PID: 3, Parent: 2, Name: "c", State: 'Z'}, {PID: 2, Parent: 1, Name: "b", State: 'S'}, {PID: 9, Parent: 9, Name: "loop", State: 'R'},
			}
			Expect(specs.DrawTree(contain.Cgroup2, list, errors.New("no"))).To(Equal(
				"process tree, held by cgroup2: 3 members (the list may be short: no)\n" +
					"  pid 2 \"b\" (S)\n    pid 3 \"c\" (Z)\n  pid 9 \"loop\" (R)"))
			var many []contain.Member
			for i := range 1000 {
				many = append(many, contain.Member{PID: 10 + i, Parent: 10 + i - 1})
			}
			text := specs.DrawTree(contain.Cgroup2, many, nil)
			Expect(strings.Count(text, "\n")).To(Equal(51))
			Expect(text).To(HaveSuffix("... and 950 more"))
		})

		It("is quick and total", func() {
			over := make(chan struct{})
			defer close(over)
			for _, members := range []func() ([]contain.Member, error){
				func() ([]contain.Member, error) { <-over; return nil, nil },
				func() ([]contain.Member, error) { panic("no") },
			} {
				started := time.Now()
				Expect(specs.ReportTree(listing(members))).To(ContainSubstring("not to be had"))
				Expect(time.Since(started)).To(BeNumerically("<", 5*time.Second), "what Ginkgo gives to all reporters together")
			}
		})
	})

	Describe("AttachTranscript", func() {
		It("adds what is no secret to reports that stay valid", func() {
			out, passed := judged(dir, "transcript")
			Expect(passed).To(BeFalse())
			asJSON, asXML := reports(dir)
			for _, shown := range []string{out, asJSON, asXML} {
				Expect(shown).To(And(ContainSubstring("it exited with code 0"), ContainSubstring("hello"), ContainSubstring("no run")))
				Expect(shown).NotTo(ContainSubstring("canary"))
			}
		})
	})

	Describe("under ginkgo -p", func() {
		It("reports of many processes are valid, and show no secret", func(ctx SpecContext) {
			out, passed := judged(dir, "record", "BOOMBOX_CASSETTE=record")
			Expect(passed).To(BeTrue(), out)
			out, passed = parallel(ctx, dir, "miss,timeout,transcript")
			Expect(passed).To(BeFalse())
			asJSON, asXML := reports(dir)
			var told []struct {
				SuiteConfig struct{ ParallelTotal int }
				SpecReports []struct{ LeafNodeType, State string }
			}
			Expect(json.Unmarshal([]byte(asJSON), &told)).To(Succeed())
			Expect(told).To(HaveLen(1))
			Expect(told[0].SuiteConfig.ParallelTotal).To(Equal(2))
			failed := 0
			for _, spec := range told[0].SpecReports {
				if spec.LeafNodeType == "It" && spec.State != "passed" {
					failed++
				}
			}
			Expect(failed).To(Equal(3), out)
			for _, shown := range []string{out, asJSON, asXML} {
				Expect(shown).To(And(ContainSubstring("cassette: miss at call 2"), ContainSubstring("process tree, held by"),
					ContainSubstring("it exited with code 0")))
				Expect(shown).NotTo(ContainSubstring("canary"))
			}
		}, NodeTimeout(5*time.Minute))

		It("specs of two processes that would share a cassette fail, with the places of both", func(ctx SpecContext) {
			out, passed := parallel(ctx, dir, "collision of processes", "TMPDIR="+dir)
			Expect(passed).To(BeFalse())
			Expect(out).To(MatchRegexp(`two specs have the text "case takes a path", .*\n.*cases_test.go:\d+\n.*cases_test.go:\d+`))
			Expect(out).To(ContainSubstring("specs: 1 passed, 1 failed, 0 skipped"), "and trying again does not help")
		}, NodeTimeout(5*time.Minute))

		It("specs of two processes that have each a cassette of their own pass, time after time", func(ctx SpecContext) {
			for range 2 {
				out, passed := parallel(ctx, dir, "processes", "TMPDIR="+dir)
				Expect(passed).To(BeTrue(), out)
				Expect(os.Remove(filepath.Join(dir, "specs.test"))).To(Succeed())
			}
		}, NodeTimeout(5*time.Minute))
	})

	Describe("an interrupt", func() {
		It("that comes twice skips the clean-ups, and the next program ends what was left", func(ctx SpecContext) {
			if runtime.GOOS != "linux" {
				Skip("what is left is found through /proc, which this system has not")
			}
			mark := NewMark()
			self, err := os.Executable()
			Expect(err).NotTo(HaveOccurred())
			cmd := exec.Command(self, "-test.run=^TestSpecs$", "-ginkgo.no-color", "-ginkgo.v")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), caseVariable+"=hang", string(mark), "BOOMBOX_REQUIRE=")
			out := gbytes.NewBuffer()
			cmd.Stdout, cmd.WaitDelay = out, time.Second
			Expect(cmd.Start()).To(Succeed())
			Eventually(out).WithContext(ctx).Should(gbytes.Say("hanging"))
			Expect(mark.Processes()).To(HaveLen(3), "the control: the program, its child and the grandchild")
			Expect(cmd.Process.Signal(os.Interrupt)).To(Succeed())
			Eventually(out).WithContext(ctx).Should(gbytes.Say("cleaning up"))
			Expect(cmd.Process.Signal(os.Interrupt)).To(Succeed())
			Expect(cmd.Wait()).NotTo(Succeed())

			report, passed := judged(dir, "sweep")
			Expect(passed).To(BeTrue(), report)
			Eventually(mark.Processes).WithTimeout(10 * time.Second).Should(BeEmpty())
		}, NodeTimeout(2*time.Minute))
	})

	Describe("SweepStale", func() {
		It("leaves a clean host alone", func() {
			out, passed := judged(dir, "sweep")
			Expect(passed).To(BeTrue(), out)
		})
	})
}

// listing is a tree whose members are what a function says.
type listing func() ([]contain.Member, error)

func (l listing) Members() ([]contain.Member, error) { return l() }
func (l listing) Mechanism() contain.Mechanism       { return contain.Cgroup2 }
