package runner_test

import (
	"fmt"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/runner"
)

var _ = DescribeTable("an outcome in words names its signal",
	func(o runner.Outcome, words string) {
		Expect(fmt.Sprint(o)).To(Equal(words))
		Expect(o.GomegaString()).To(Equal(words))
	},
	Entry(nil, runner.Exited(3), "exited 3"),
	Entry(nil, runner.Signalled(syscall.SIGKILL), "signalled SIGKILL"),
	Entry(nil, runner.Signalled(syscall.SIGTERM), "signalled SIGTERM"),
	Entry("one without a name by its number", runner.Signalled(syscall.Signal(100)), "signalled 100"),
	Entry(nil, runner.TimedOut, "timed_out"),
	Entry(nil, runner.IdleTimedOut, "idle_timed_out"),
	Entry(nil, runner.Cancelled, "cancelled"),
	Entry(nil, runner.Overflowed, "overflowed"),
	Entry(nil, runner.Outcome{}, "unsettled"),
)
