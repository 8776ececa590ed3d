package contain_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/internal/suite"
	. "github.com/boombox-go/boombox/matchers"
)

// eventsOf are the events of the cgroup v2 that a process is in, found without the code under test.
func eventsOf(pid int) string {
	text, _ := readFile("/proc/" + itoa(pid) + "/cgroup")
	for line := range strings.Lines(text) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			for _, root := range cgroup2Mounts() {
				if events, err := readFile(filepath.Join(root, path, "cgroup.events")); err == nil {
					return events
				}
			}
		}
	}
	return ""
}

func init() {
	// frozen holds a tree that stands still when its owner dies.
	helpers["frozen"] = func() error {
		g, err := contain.New(contain.Options{Mechanism: contain.Cgroup2, Require: contain.KillOnOwnerDeath})
		if err != nil {
			return err
		}
		argv := fixtures.Argv("sleep")
		_, err = g.Start(context.Background(), contain.Spec{Path: argv[0], Argv: contain.Seal(argv...), Env: contain.Seal(os.Environ()...)})
		if err == nil {
			err = g.Freeze(context.Background())
		}
		if err != nil {
			return err
		}
		say("frozen")
		untilReleased()
		return g.Close()
	}
}

var _ = Describe("Freeze", func() {
	ctx := context.Background()

	freezes := func(m contain.Mechanism) bool { return m == contain.Cgroup2 || m == contain.Cgroup2PIDNamespace }

	onFreezers := func(text string, body func(m contain.Mechanism)) {
		for _, m := range mechanisms() {
			if freezes(m) {
				It(text+" ("+string(m)+")", func() { body(m) })
			}
		}
	}

	It("is refused where nothing can be frozen, and the group is as it was", func() {
		for _, m := range mechanisms() {
			if freezes(m) {
				continue
			}
			g := newGroup(m)
			r := start(g, "sleep")
			err := g.Freeze(ctx)
			Expect(err).To(MatchError(contain.ErrUnsupported))
			refused, ok := errors.AsType[*contain.UnsupportedError](err)
			Expect(ok).To(BeTrue())
			Expect(refused).To(And(HaveField("Operation", "freeze"), HaveField("Asked", m)))
			Expect(g.Thaw()).To(Succeed())
			Expect(stopped(r.PID())).To(BeFalse())
			start(g, "sleep")
		}
	})

	onFreezers("makes every member stand still until Thaw", func(m contain.Mechanism) {
		g := newGroup(m)
		all := []*running{start(g, "spinner"), start(g, "doublefork")}
		used := func() time.Duration {
			GinkgoHelper()
			used := g.Stats().CPU
			Expect(used).NotTo(BeNil())
			return *used
		}
		runs := func() {
			GinkgoHelper()
			before := used()
			Eventually(used).WithTimeout(longEnough).Should(BeNumerically(">", before), "the control: it runs")
		}
		runs()
		for range 3 {
			Expect(g.Freeze(ctx)).To(Succeed())
			Expect(g.Freeze(ctx)).To(Succeed(), "twice is once")
			// A member counts as frozen on its way off the processor.
			Eventually(func() time.Duration {
				before := used()
				<-time.After(20 * time.Millisecond)
				return used() - before
			}).WithTimeout(bound).Should(BeZero())
			for _, r := range all {
				Expect(eventsOf(r.PID())).To(ContainSubstring("frozen 1"))
				Expect(stopped(r.PID())).To(BeFalse(), "nobody sees it as stopped")
			}
			Expect(g.Thaw()).To(Succeed())
			Expect(g.Thaw()).To(Succeed())
			runs()
			Expect(eventsOf(all[0].PID())).To(ContainSubstring("frozen 0"))
		}
	})

	onFreezers("lets nothing be started, at once and with its reason, until Thaw", func(m contain.Mechanism) {
		g := newGroup(m)
		Expect(g.Freeze(ctx)).To(Succeed(), "an empty group, too")
		spec, _, find := specOf("sleep")
		_, err := g.Start(ctx, spec)
		Expect(err).To(MatchError(contain.ErrFrozen))
		Expect(find()).NotTo(HaveSurvivors())
		Expect(g.Kill()).To(Succeed())
		_, err = g.Start(ctx, spec)
		Expect(err).To(MatchError(contain.ErrFrozen), "a kill does not thaw")
		Expect(g.Thaw()).To(Succeed())
		start(g, "sleep")
	})

	onFreezers("waits for the starts under way, and forbids the later ones", func(m contain.Mechanism) {
		g := newGroup(m)
		const many = 8
		var finds []func() []contain.Member
		var starts sync.WaitGroup
		errs := make(chan error, many)
		under := make(chan struct{}, many)
		for range many {
			spec, _, find := specOf("sleep")
			finds = append(finds, find)
			starts.Go(func() {
				under <- struct{}{}
				_, err := g.Start(ctx, spec)
				errs <- err
			})
		}
		for range many / 2 {
			<-under
		}
		Expect(g.Freeze(ctx)).To(Succeed())
		starts.Wait()
		close(errs)
		for err := range errs {
			Expect(err).To(Or(BeNil(), MatchError(contain.ErrFrozen)))
		}
		for _, find := range finds {
			for _, m := range find() {
				Expect(eventsOf(m.PID)).To(ContainSubstring("frozen 1"))
			}
		}
	})

	onFreezers("is in the way of neither Kill nor Close", func(m contain.Mechanism) {
		g, err := contain.New(contain.Options{Mechanism: m})
		Expect(err).NotTo(HaveOccurred())
		r := start(g, "escapees")
		Expect(g.Freeze(ctx)).To(Succeed())
		Expect(g.Kill()).To(Succeed())
		Expect(r.find()).NotTo(HaveSurvivors())
		Expect(g.Thaw()).To(Succeed())
		r = start(g, "escapees")
		Expect(g.Freeze(ctx)).To(Succeed())
		Expect(g.Close()).To(Succeed())
		Expect(r.find()).NotTo(HaveSurvivors())
		Expect(g.Freeze(ctx)).To(MatchError(contain.ErrClosed))
	})

	onFreezers("makes Stop kill at once, and Ask spare, because nobody would hear them", func(m contain.Mechanism) {
		g := newGroup(m)
		r := start(g, "graceful", "0")
		Expect(g.Freeze(ctx)).To(Succeed())
		Expect(g.Ask(ctx, time.Hour)).To(And(
			HaveField("SignalErr", MatchError(contain.ErrFrozen)), HaveField("Spared", true), HaveField("After", 1),
		))
		report, err := g.Stop(ctx, time.Hour)
		Expect(err).NotTo(HaveOccurred())
		Expect(report).To(And(
			HaveField("SignalErr", MatchError(contain.ErrFrozen)), HaveField("Escalated", true), HaveField("Drained", true),
		))
		Expect(r.find()).NotTo(HaveSurvivors())
	})

	onFreezers("gives up when its context ends, and thaws", func(m contain.Mechanism) {
		g := newGroup(m)
		r := start(g, "doublefork")
		thaw := deepFreeze(r.left[0]) // it sleeps uninterruptibly, and so cannot stand still
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		Expect(g.Freeze(short)).To(MatchError(context.DeadlineExceeded))
		start(g, "sleep")
		thaw()
		Expect(g.Freeze(ctx)).To(Succeed(), "the control")
		Expect(g.Close()).To(Succeed())
	})

	It("does not save a tree from the death of its owner", func() {
		suite.Require(contain.KillOnOwnerDeath)
		requireCgroups()
		nonce, find := suite.WithNonce()
		DeferCleanup(reap, find)
		owner := startHelper("frozen", nil, nonce)
		Expect(owner.line()).To(Equal("frozen"))
		Expect(find()).To(HaveMembers(2), "the owner and its child")
		owner.die()
		Eventually(find).WithTimeout(deathBound).ShouldNot(HaveSurvivors())
	})
})
