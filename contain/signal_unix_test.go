//go:build unix

package contain_test

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	. "github.com/boombox-go/boombox/matchers"
)

var _ = Describe("Signal", func() {
	onEvery("reaches all members of all trees", func(m contain.Mechanism) {
		g := newGroup(m)
		Expect(g.Signal(syscall.SIGTERM)).To(MatchError(os.ErrProcessDone), "nobody is there")
		all := []*running{start(g, "doublefork"), start(g, "doublefork"), start(g, "sleep")}
		Expect(g.Signal(syscall.SIGTERM)).To(Succeed())
		for _, r := range all {
			Eventually(r.find).WithTimeout(bound).ShouldNot(HaveSurvivors())
			Eventually(r.Exited()).WithTimeout(bound).Should(BeClosed())
			Expect(statusOf(r.Child).Signal).To(Equal(syscall.SIGTERM))
		}
		Expect(g.Signal(syscall.SIGTERM)).To(MatchError(os.ErrProcessDone), "zombies hear nothing")
	})

	onEvery("says what the system says of a signal that there is not", func(m contain.Mechanism) {
		g := newGroup(m)
		r := start(g, "sleep")
		err := g.Signal(syscall.Signal(1000))
		Expect(err).To(MatchError(syscall.EINVAL))
		if refused, ok := errors.AsType[*contain.SignalError](err); ok {
			Expect(refused).To(And(HaveField("Sent", 0), HaveField("Refused", HaveLen(1))))
			Expect(refused.Refused[0].Member.PID).To(Equal(r.PID()))
		}
	})
})

var _ = Describe("Ask", func() {
	ctx := context.Background()

	onEvery("is heard by who ends when asked, and spares who does not", func(m contain.Mechanism) {
		g := newGroup(m)
		Expect(g.Ask(ctx, time.Hour)).To(And(HaveField("Before", 0), HaveField("Drained", true), HaveField("Spared", false)))
		start(g, "graceful", "4")
		Expect(g.Ask(ctx, bound)).To(And(
			HaveField("Signalled", syscall.SIGTERM), HaveField("Before", 1), HaveField("After", 0),
			HaveField("Drained", true), HaveField("Spared", false), HaveField("Escalated", false),
		))
		deaf := start(g, "sigtermignorer")
		Expect(g.Ask(ctx, 50*time.Millisecond)).To(And(
			HaveField("Signalled", syscall.SIGTERM), HaveField("Before", 1), HaveField("After", 1),
			HaveField("Drained", false), HaveField("Spared", true), HaveField("Escalated", false),
		))
		Expect(deaf.find()).To(HaveSurvivors())
		Expect(g.Close()).To(Succeed())
		Expect(deaf.find()).NotTo(HaveSurvivors(), "what was spared is still the group's")
	})
})
