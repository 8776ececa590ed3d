package runner_test

import (
	"os/exec"
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/runner"
	"github.com/boombox-go/boombox/runner/runnertest"
)

var _ = Describe("the real runner conforms", func() {
	harness := func(of func(testing.TB) runner.Runner) runnertest.Harness {
		return runnertest.Harness{
			Prepare: func(tb testing.TB, b runnertest.Behaviour, configure func(*runner.Cmd)) (runner.Runner, *runner.Cmd) {
				if _, err := exec.LookPath("sh"); err != nil {
					tb.Skip("no POSIX shell here")
				}
				cmd := runnertest.Shell(b)
				configure(cmd)
				return of(tb), cmd
			},
		}
	}
	private := harness(func(testing.TB) runner.Runner { return runner.Contained{} })
	floor := harness(func(tb testing.TB) runner.Runner {
		g, err := contain.New(contain.Options{Mechanism: contain.ProcessGroup})
		if err != nil {
			tb.Skip("no process groups here")
		}
		tb.Cleanup(func() {
			if err := g.Close(); err != nil {
				tb.Error(err)
			}
		})
		return runner.Contained{Group: g}
	})
	for _, c := range runnertest.Cases() {
		It(c.Name+", in a private group", func() { c.Run(GinkgoTB(), private) })
		It(c.Name+", in a shared process group", func() { c.Run(GinkgoTB(), floor) })
	}
})
