package boombox_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// inNamespace says of a mechanism that its children have other process ids than we see.
func inNamespace(m contain.Mechanism) bool {
	return m == contain.PIDNamespace || m == contain.Cgroup2PIDNamespace
}

var _ = Describe("what a child leaves behind", Label("live", "escape"), func() {
	onRungs(func(r row) bool { return !r.attacks }, func(m contain.Mechanism, r row, f fate) {
		It(r.text(m, f), func(ctx SpecContext) {
			g := group(m)
			b := prepareRow(r)
			b.start(ctx, runner.Contained{Group: g})
			left := b.ready()
			if inNamespace(m) {
				left = nil // the child sees other numbers than we: these are some strangers'
			}
			if r.provoke != nil {
				left = r.provoke(b, left)
			}
			Expect(b.p.Close()).To(Succeed())
			Expect(g.Close()).To(Succeed())

			if f == dies {
				Expect(b.left()).NotTo(HaveSurvivors())
			} else {
				Expect(left).NotTo(BeEmpty())
				Expect(b.leftIDs()).To(ConsistOf(left))
			}
			Expect(b.settle()).To(BeContainedBy(m))
			Expect(g.Guarantees().Has(contain.KillTree)).To(Equal(m != contain.ProcessGroup))
			if r.after != nil {
				r.after(b, left)
			}
		}, NodeTimeout(3*longEnough))
	})
})
