package contain_test

import (
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
)

var _ = Describe("changing caps", Label("limits"), func() {
	It("refuses a group that was made without, and nonsense first", func() {
		g, err := contain.New(contain.Options{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(g.Close)
		refused, ok := errors.AsType[*contain.LimitError](g.UpdateLimits(contain.Limits{CPU: 1}))
		Expect(ok).To(BeTrue())
		Expect(*refused).To(And(HaveField("Kind", contain.LimitCPU), HaveField("Reason", contain.LimitFixed)))
		refused, ok = errors.AsType[*contain.LimitError](g.UpdateLimits(contain.Limits{Memory: 1 << 30, CPU: -1}))
		Expect(ok).To(BeTrue())
		Expect(*refused).To(And(HaveField("Kind", contain.LimitCPU), HaveField("Reason", contain.LimitInvalid)))
		Expect(g.UpdateLimits(contain.Limits{})).To(Succeed(), "it has none, as before")
		Expect(g.Close()).To(Succeed())
		Expect(g.UpdateLimits(contain.Limits{})).To(MatchError(contain.ErrClosed))
	})
})
