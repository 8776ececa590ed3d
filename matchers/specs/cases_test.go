package specs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/fixtures"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/matchers/specs"
	"github.com/boombox-go/boombox/runner"
)

func child(name string, args ...string) *runner.Cmd {
	argv := fixtures.Argv(name, args...)
	return runner.Command(argv[0], argv[1:]...)
}

// tool is what the cassettes of the cases record.
func tool() runner.Runner {
	r := fake.New()
	r.On("tool").Reply(fake.Lines("hello"))
	return r
}

func call(ctx SpecContext, r runner.Runner, args ...string) {
	GinkgoHelper()
	_, _ = runner.Run(ctx, r, runner.Command("tool", args...))
}

var try int

// meet returns when two processes of ginkgo -p are in a spec that calls it, so that neither runs the spec of the other.
func meet(ctx SpecContext) {
	GinkgoHelper()
	here := fmt.Sprintf("met-%d", GinkgoParallelProcess())
	Expect(os.WriteFile(here, nil, 0o600)).To(Succeed())
	Eventually(filepath.Glob).WithContext(ctx).WithArguments("met-*").Should(HaveLen(2))
}

// cases are containers that are run in processes of their own.
var cases = map[string]func(){
	"group": func() {
		var p *runner.Process
		It("starts", func(ctx SpecContext) {
			specs.NoLeaks()
			group := specs.Group(contain.Options{})
			var err error
			p, err = runner.Contained{Group: group}.Start(ctx, child("setsid"))
			Expect(err).NotTo(HaveOccurred())
			Eventually(ctx, group).Should(HaveMembers())
		})
		AfterEach(func() { DeferCleanup(func() { Expect(p).NotTo(BeNil()) }) })
	},
	"no group": func() {
		It("asks for what there is not", func() { specs.Group(contain.Options{Mechanism: "none-such"}) })
	},
	"leak": func() {
		BeforeEach(specs.NoLeaks)
		It("leaves a process behind", func() {
			argv := fixtures.Argv("daemonise", "life=20s")
			Expect(exec.Command(argv[0], argv[1:]...).Run()).To(Succeed())
		})
		It("leaves none behind, and is not blamed for the other", func() {})
	},
	"escape": func() {
		BeforeEach(specs.NoLeaks)
		It("is seen outside of its group, by the mark of the spec", func(ctx SpecContext) {
			group := specs.Group(contain.Options{Mechanism: contain.ProcessGroup})
			_, err := runner.Contained{Group: group}.Start(ctx, child("setsid"))
			Expect(err).NotTo(HaveOccurred())
			Eventually(ctx, group).Should(HaveEscapees(specs.Mark()))
		})
	},
	"hang": func() {
		It("goes on until it is interrupted, and its clean-up for longer", func(ctx SpecContext) {
			group := specs.Group(contain.Options{})
			_, err := runner.Contained{Group: group}.Start(ctx, child("setsid"))
			Expect(err).NotTo(HaveOccurred())
			Eventually(group).WithTimeout(time.Minute).Should(HaveMembers(2))
			DeferCleanup(func() {
				fmt.Println("cleaning up")
				select {}
			})
			fmt.Println("hanging")
			<-ctx.Done()
		})
	},
	"no mark": func() {
		It("asks for a mark that there is not", func() { specs.Mark() })
	},
	"late": func() {
		BeforeEach(specs.NoLeaks)
		It("is waited for", func() {
			argv := fixtures.Argv("sleep", "300ms", "quiet")
			cmd := exec.Command(argv[0], argv[1:]...)
			Expect(cmd.Start()).To(Succeed())
			DeferCleanup(func() { go func() { _ = cmd.Wait() }() })
		})
	},
	"require": func() {
		It("asks for everything", func() { specs.Require(^contain.Guarantee(0)) })
		It("asks for nothing", func() { specs.Require(0) })
	},
	"record": func() {
		It("calls the tool", func(ctx SpecContext) { call(ctx, specs.Runner(cassette.WithRunner(tool()))) })
	},
	"record and fail": func() {
		It("calls the tool", func(ctx SpecContext) {
			call(ctx, specs.Runner(cassette.WithRunner(tool())), "canary")
			Fail("on purpose")
		})
	},
	"retry": func() {
		It("calls the tool", FlakeAttempts(3), func(ctx SpecContext) {
			r := specs.Runner(cassette.WithRunner(tool()))
			try++
			call(ctx, r, strings.Repeat("x", try))
			Expect(try).To(Equal(2))
		})
	},
	"miss": func() {
		It("calls the tool", func(ctx SpecContext) {
			r := specs.Runner()
			call(ctx, r)
			call(ctx, r, "canary")
		})
	},
	"collision": func() {
		DescribeTable("calls", func(ctx SpecContext, arg string) { call(ctx, specs.Runner(cassette.WithRunner(tool())), arg) },
			Entry("the tool", "a"),
			Entry("the tool", "b"))
	},
	"collision of processes": func() {
		DescribeTable("takes", func(ctx SpecContext) { meet(ctx); specs.CassettePath() },
			Entry("a path", FlakeAttempts(2)),
			Entry("a path", FlakeAttempts(2)))
	},
	"processes": func() {
		DescribeTable("takes", func(ctx SpecContext) { meet(ctx); specs.CassettePath() }, Entry("a path"), Entry("another path"))
	},
	"timeout": func() {
		It("hangs", func(ctx SpecContext) {
			group := specs.Group(contain.Options{})
			specs.ShowTreeOnTimeout(group)
			p, err := runner.Contained{Group: group}.Start(ctx, child("sleep", "label="+strings.ToLower("CANARY")))
			Expect(err).NotTo(HaveOccurred())
			_, err = p.Wait(ctx)
			Expect(err).NotTo(HaveOccurred())
		}, NodeTimeout(500*time.Millisecond))
	},
	"transcript": func() {
		It("fails", func(ctx SpecContext) {
			cmd := runner.Command("tool", "canary-argument")
			cmd.Env = cmd.Env.Set("KEY", "canary-value")
			cmd.Dir = "/canary-dir"
			res, err := runner.Run(ctx, tool(), cmd)
			Expect(err).NotTo(HaveOccurred())
			specs.AttachTranscript(res)
			specs.AttachTranscript(res, WithOutput(nil))
			specs.AttachTranscript(nil)
			Fail("on purpose")
		})
	},
	"sweep": func() {
		BeforeEach(specs.SweepStale)
		It("starts clean", func() {})
	},
}
