package boombox_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("a cap", Label("live", "limits"), func() {
	DescribeTable("that cannot be enforced refuses the run before anything starts", func(ctx SpecContext, limits contain.Limits, kind contain.LimitKind) {
		b := prepareBoxed("sleep")
		b.cmd.Limits = limits
		b.cmd.Timeout = 5 * time.Second
		res, err := runner.Run(ctx, runner.Contained{}, b.cmd)
		if err == nil {
			Skip("this host enforces the cap on " + string(kind))
		}
		Expect(res).To(BeNil())
		var refusal *contain.LimitError
		Expect(err).To(BeAssignableToTypeOf(refusal))
		Expect(err.(*contain.LimitError).Kind).To(Equal(kind))
		Expect(err).To(MatchError(contain.ErrUnsupported))
		Expect(b.out.held.Len()).To(BeZero())
		Expect(b.left()).To(BeEmpty())
	},
		Entry("memory", contain.Limits{Memory: 64 << 20}, contain.LimitMemory),
		Entry("processes", contain.Limits{Processes: 8}, contain.LimitProcesses),
		Entry("cpu", contain.Limits{CPU: 0.5}, contain.LimitCPU),
	)

	It("that makes no sense is invalid, and not merely unsupported", func(ctx SpecContext) {
		b := prepareBoxed("sleep")
		b.cmd.Limits.Memory = -1
		_, err := runner.Run(ctx, runner.Contained{}, b.cmd)
		Expect(err).To(HaveOccurred())
		Expect(err).NotTo(MatchError(contain.ErrUnsupported))
		Expect(b.left()).To(BeEmpty())
	})
})
