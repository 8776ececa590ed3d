//go:build unix

package runner_test

import (
	"context"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/boombox-go/boombox/runner"
)

// shownHere shows what this system has of what a child is born with.
var shownHere = map[string]func(SpecContext, way, func(*runner.Cmd)){
	"Files": func(ctx SpecContext, w way, set func(*runner.Cmd)) {
		Expect(strings.Fields(outputOf(ctx, w, fixture("fds"), func(*runner.Cmd) {}))).To(Equal([]string{"0", "1", "2"}), "the control")
		Expect(strings.Fields(outputOf(ctx, w, fixture("fds"), set))).To(Equal([]string{"0", "1", "2", "3"}))
		from, to, err := os.Pipe()
		Expect(err).NotTo(HaveOccurred())
		defer from.Close()
		outputOf(ctx, w, shell("echo passed >&3"), func(c *runner.Cmd) { c.Files = []*os.File{to} })
		Expect(to.Close()).To(Succeed())
		line := make([]byte, 100)
		n, _ := from.Read(line)
		Expect(string(line[:n])).To(Equal("passed\n"))
	},
	"NewSession": func(ctx SpecContext, _ way, set func(*runner.Cmd)) {
		leads := func(set func(*runner.Cmd)) bool {
			cmd := fixture("sleep")
			set(cmd)
			p, err := runner.Contained{}.Start(ctx, cmd)
			Expect(err).NotTo(HaveOccurred())
			defer p.Close()
			pid, _ := p.PID()
			sid, err := unix.Getsid(pid)
			Expect(err).NotTo(HaveOccurred())
			return sid == pid
		}
		Expect(leads(func(*runner.Cmd) {})).To(BeFalse(), "the control")
		Expect(leads(set)).To(BeTrue())
	},
	"Credential": func(ctx SpecContext, w way, set func(*runner.Cmd)) {
		Expect(outputOf(ctx, w, shell("id -u; id -g; id -G"), set)).To(Equal("4711\n4712\n4712"))
	},
	"Grace":       cancelled("ready\nTERM\n"),
	"CancelGrace": cancelled("ready\nTERM\n"),
	"StopSignal":  cancelled("ready\nINT\n"),
}

// cancelled shows what a child that says which signal it is ended by has time to say when it is cancelled.
func cancelled(want string) func(SpecContext, way, func(*runner.Cmd)) {
	said := func(ctx SpecContext, w way, set func(*runner.Cmd)) string {
		GinkgoHelper()
		run, cancel := context.WithCancel(ctx)
		defer cancel()
		cmd := shell("trap 'echo TERM; exit' TERM; trap 'echo INT; exit' INT; echo ready; while :; do sleep 0.05; done")
		cmd.Output.Stdout.Tee = writerFunc(func([]byte) { cancel() })
		set(cmd)
		res, err := w.run(run, cmd)
		Expect(err).To(MatchError(runner.ErrCancelled))
		return string(res.Stdout())
	}
	return func(ctx SpecContext, w way, set func(*runner.Cmd)) {
		Expect(said(ctx, w, func(*runner.Cmd) {})).To(Equal("ready\n"), "the control")
		Expect(said(ctx, w, set)).To(Equal(want))
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }
