package contain_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
)

var (
	_ contain.TB = (*testing.T)(nil)
	_ contain.TB = (*testing.B)(nil)
	_ contain.TB = GinkgoTInterface(nil)
)

// recordedTB is a test that is run by hand.
type recordedTB struct {
	contain.TB
	fatal    []string
	cleanups []func()
}

func (tb *recordedTB) Helper() {}
func (tb *recordedTB) Fatalf(format string, args ...any) {
	tb.fatal = append(tb.fatal, fmt.Sprintf(format, args...))
}
func (tb *recordedTB) Cleanup(f func()) { tb.cleanups = append(tb.cleanups, f) }

func (tb *recordedTB) finish() {
	for i := len(tb.cleanups) - 1; i >= 0; i-- {
		tb.cleanups[i]()
	}
}

var _ = Describe("ForTest", func() {
	It("closes the group with the test", func() {
		tb := &recordedTB{}
		g := contain.ForTest(tb, contain.Options{})
		c := start(g, "sleep")
		tb.finish()
		Expect(c.Exited()).To(BeClosed())
		_, err := g.Start(nil, contain.Spec{}) //nolint:staticcheck // a closed group looks at nothing else
		Expect(err).To(MatchError(contain.ErrClosed))
		Expect(tb.fatal).To(BeEmpty())
	})

	It("fails the test when the group cannot be had", func() {
		tb := &recordedTB{}
		Expect(contain.ForTest(tb, contain.Options{Mechanism: "none-such"})).To(BeNil())
		Expect(tb.fatal).To(ConsistOf(HavePrefix("no group for this test: contain: this host has no none-such")))
		Expect(tb.cleanups).To(BeEmpty())
	})
})
