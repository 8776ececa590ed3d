package boombox_test

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("a tree that forks while it is killed", Label("live", "escape"), func() {
	for mechanism, f := range outruns {
		if f == lives {
			continue // below, with a smaller one
		}
		It(fmt.Sprintf("by %s: a fork bomb of 200 sessions, killed in the middle of it, %s", mechanism, f), Label("forkbomb"), Serial, func(ctx SpecContext) {
			g := group(mechanism)
			Expect(g.Guarantees().Has(contain.KillForkBomb)).To(Equal(f == dies))
			b := prepareBoxed("forkbomb", "200")
			b.start(ctx, runner.Contained{Group: g})
			b.ready()
			Eventually(func() int { return len(b.nonce()) }).WithTimeout(longEnough).Should(BeNumerically(">", 20))
			began := time.Now()
			err := b.p.Close()
			took := time.Since(began)
			if f == named && err != nil {
				Expect(err).To(MatchError(contain.ErrDrain), "who outran the kill is named")
				b.hunt()
				Eventually(b.p.Close).WithTimeout(longEnough).Should(Succeed())
				return
			}
			Expect(err).NotTo(HaveOccurred())
			Expect(b.left()).NotTo(HaveSurvivors())
			AddReportEntry("fork bomb killed and drained in", took.String(), ReportEntryVisibilityFailureOrVerbose)
			Expect(took).To(BeNumerically("<", contain.KillBound))
		}, NodeTimeout(3*longEnough))
		if f != dies {
			continue
		}

		It(fmt.Sprintf("by %s: a fork bomb that has spent itself is gone", mechanism), Label("forkbomb"), Serial, func(ctx SpecContext) {
			b := prepareBoxed("forkbomb", "60")
			b.start(ctx, runner.Contained{Group: group(mechanism)})
			b.ready()
			Eventually(b.out.line(1)).WithTimeout(longEnough).Should(BeClosed())
			Expect(b.out.text(1)).To(Equal("spent"))
			Eventually(b.left).WithTimeout(longEnough).Should(HaveMembers(1 + 60))
			Expect(b.p.Close()).To(Succeed())
			Expect(b.left()).NotTo(HaveSurvivors())
		}, NodeTimeout(3*longEnough))
	}

	It("by process-group: the fork bomb lives on", Label("forkbomb"), Serial, func(ctx SpecContext) {
		b := prepareBoxed("forkbomb", "12")
		b.start(ctx, runner.Contained{Group: group(contain.ProcessGroup)})
		b.ready()
		Eventually(b.leaders).WithTimeout(longEnough).Should(HaveLen(12), "out of the group")
		Expect(b.p.Close()).To(Succeed())
		Expect(b.left()).To(HaveMembers(12))
	}, NodeTimeout(3*longEnough))

	for mechanism, becomes := range escapes {
		It(fmt.Sprintf("by %s: twenty chains that fork and exit: %s", mechanism, becomes), func(ctx SpecContext) {
			hops := map[fate]string{dies: "200", lives: "20"}[becomes]
			b := prepareBoxed("hopper", "20", hops)
			b.start(ctx, runner.Contained{Group: group(mechanism)})
			Expect(b.ready()).To(HaveLen(20))
			Expect(b.p.Close()).To(Succeed())
			if becomes == dies {
				Expect(b.left()).NotTo(HaveSurvivors())
			} else {
				Expect(b.held()).To(BeTrue())
			}
		}, NodeTimeout(3*longEnough))
	}
})
