package boombox_test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("the end of a run", Label("live", "escape"), func() {
	// Whatever ends a run, the tree goes with it.
	endings := []struct {
		name string
		end  func(b *boxed, g *contain.Group)
		want runner.Outcome
	}{
		{"the process closed", func(b *boxed, _ *contain.Group) { Expect(b.p.Close()).To(Succeed()) }, runner.Cancelled},
		{"the process killed", func(b *boxed, _ *contain.Group) { Expect(b.p.Kill()).To(Succeed()) }, runner.Signalled(syscall.SIGKILL)},
		{"the run cancelled", func(b *boxed, _ *contain.Group) { b.p.Cancel(nil) }, runner.Cancelled},
		{"the group closed", func(_ *boxed, g *contain.Group) { Expect(g.Close()).To(Succeed()) }, runner.Signalled(syscall.SIGKILL)},
		{
			"the child ended by a signal",
			func(b *boxed, _ *contain.Group) { Expect(b.p.Signal(syscall.SIGTERM)).To(Succeed()) }, runner.Signalled(syscall.SIGTERM),
		},
	}
	for _, mechanism := range rungs {
		if mechanism == contain.ProcessGroup {
			continue // it loses them, however the run ends
		}
		for _, e := range endings {
			It(fmt.Sprintf("takes the escapees along, by %s: %s", mechanism, e.name), func(ctx SpecContext) {
				g := group(mechanism)
				b := prepareBoxed("escapees")
				b.start(ctx, runner.Contained{Group: g})
				Expect(b.ready()).To(HaveLen(3))
				Expect(b.left()).To(HaveMembers(4), "the escapees and the child")
				e.end(b, g)
				res := b.settle()
				Expect(b.left()).NotTo(HaveSurvivors())
				Expect(res).To(HaveOutcome(e.want))
				Expect(res).To(HaveReapedTree())
			})
		}
	}

	It("takes the escapees along at a timeout, on time", func(ctx SpecContext) {
		g := group(contain.Cgroup2)
		// How long it takes here and now to get the escapees out: the timeout must not come before that.
		began := time.Now()
		rehearsal := prepareBoxed("escapees")
		rehearsal.start(ctx, runner.Contained{Group: g})
		rehearsal.ready()
		Expect(rehearsal.p.Close()).To(Succeed())
		patience := min(max(time.Second, 5*time.Since(began)), longEnough/2)

		b := prepareBoxed("escapees")
		b.cmd.Timeout = patience
		b.start(ctx, runner.Contained{Group: g})
		Expect(b.ready()).To(HaveLen(3))
		res := b.settle()
		Expect(b.left()).NotTo(HaveSurvivors())
		Expect(res).To(HaveTimedOut())
		Expect(res.SettledAfter()).To(BeNumerically(">=", patience))
		Expect(res.SettledAfter()).To(BeNumerically("<", patience+time.Second))
	})

	It("takes the escapees along when the context of Run ends", func(ctx SpecContext) {
		b := prepareBoxed("escapees")
		DeferCleanup(b.hunt)
		g := group(contain.Cgroup2)
		runCtx, cancel := context.WithCancel(ctx)
		go func() {
			defer GinkgoRecover()
			defer cancel()
			Eventually(b.out.line(0)).WithTimeout(longEnough).Should(BeClosed())
		}()
		_, err := runner.Run(runCtx, runner.Contained{Group: g}, b.cmd)
		Expect(err).To(MatchError(runner.ErrCancelled))
		Expect(b.left()).NotTo(HaveSurvivors())
	})

	for _, mechanism := range rungs {
		It("does not wait for who holds the output of a child that exited: "+string(mechanism), func(ctx SpecContext) {
			b := prepareBoxed("setsid", "leave")
			b.start(ctx, runner.Contained{Group: group(mechanism)})
			Expect(b.ready()).To(HaveLen(1))
			res := b.settle()
			Expect(res).To(HaveSucceeded())
			Expect(res.PipesHeld()).To(BeTrue())
			Expect(res.SettledAfter()-res.Duration()).To(BeNumerically("<", 2*time.Second), "from the exit on")
		})
	}

	It("returns within 1.2 s from a 200 ms timeout of a shell with a background session", func(ctx SpecContext) {
		g := group(contain.Cgroup2)
		w := newWitness()
		cmd := runner.Command("/bin/sh", "-c", "setsid sleep 60 & sleep 60")
		cmd.Timeout = 200 * time.Millisecond
		w.carryNonce(cmd)
		began := time.Now()
		res, err := runner.Run(ctx, runner.Contained{Group: g}, cmd)
		took := time.Since(began)
		Expect(err).NotTo(HaveOccurred())
		Expect(w.nonce()).NotTo(HaveSurvivors())
		Expect(res).To(HaveTimedOut())
		Expect(took).To(BeNumerically("<", 1200*time.Millisecond))
		AddReportEntry("200 ms timeout of a shell with a background session returned after", took.String())
	})
})

var _ = Describe("a child", Label("live"), func() {
	for _, mechanism := range rungs {
		It(fmt.Sprintf("by %s: its descriptors are 0, 1 and 2, whatever this process was started with", mechanism), func(ctx SpecContext) {
			b := prepareBoxed("fds")
			b.start(ctx, runner.Contained{Group: group(mechanism)})
			Expect(b.settle()).To(HaveStdout("0\n1\n2\n"))
		})

		It(fmt.Sprintf("by %s: its environment has what it is given, and nothing of ours", mechanism), func(ctx SpecContext) {
			b := prepareBoxed("envnames")
			name, value, _ := strings.Cut(b.env, "=")
			b.cmd.Env = runner.CleanEnv().Set(name, value)
			b.start(ctx, runner.Contained{Group: group(mechanism)})
			Expect(b.settle()).To(HaveStdout(name + "\n"))
		})
	}
})
