//go:build unix

package fake_test

import (
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = DescribeTable("a signal to a pending script does what it does to a process that handles none",
	func(ctx SpecContext, sig syscall.Signal, ends bool) {
		p := play(tool(), fake.Script{Pending: true})
		Expect(p.Signal(sig)).To(Succeed())
		if !ends {
			Consistently(p.Settled()).ShouldNot(BeClosed())
			return
		}
		Expect(wait(ctx, p)).To(HaveOutcome(runner.Signalled(sig)))
	},
	Entry("SIGTERM", syscall.SIGTERM, true),
	Entry("SIGINT", syscall.SIGINT, true),
	Entry("SIGHUP", syscall.SIGHUP, true),
	Entry("SIGUSR1", syscall.SIGUSR1, true),
	Entry("SIGSEGV", syscall.SIGSEGV, true),
	Entry("SIGKILL", syscall.SIGKILL, true),
	Entry("SIGCHLD", syscall.SIGCHLD, false),
	Entry("SIGWINCH", syscall.SIGWINCH, false),
	Entry("SIGURG", syscall.SIGURG, false),
	Entry("SIGCONT", syscall.SIGCONT, false),
	Entry("SIGSTOP", syscall.SIGSTOP, false),
	Entry("signal 0", syscall.Signal(0), false),
)
