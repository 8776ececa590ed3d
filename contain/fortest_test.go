package contain_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/suite"
)

var (
	_ contain.TB = (*testing.T)(nil)
	_ contain.TB = (*testing.B)(nil)
	_ contain.TB = GinkgoTInterface(nil)
)

var _ = Describe("ForTest", func() {
	It("closes the group with the test", func() {
		tb := &suite.TB{}
		g := contain.ForTest(tb, contain.Options{})
		c := start(g, "sleep")
		tb.End()
		Expect(c.Exited()).To(BeClosed())
		_, err := g.Start(nil, contain.Spec{}) //nolint:staticcheck // a closed group looks at nothing else
		Expect(err).To(MatchError(contain.ErrClosed))
		Expect(tb.Fatal).To(BeEmpty())
	})

	It("fails the test when the group cannot be had", func() {
		tb := &suite.TB{}
		Expect(contain.ForTest(tb, contain.Options{Mechanism: "none-such"})).To(BeNil())
		Expect(tb.Fatal).To(ConsistOf(HavePrefix("no group for this test: contain: this host has no none-such")))
		Expect(tb.Cleanups()).To(BeZero())
	})
})
