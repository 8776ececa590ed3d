package server_test

import (
	"context"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/examples/server"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/matchers/specs"
	"github.com/boombox-go/boombox/runner"
)

// No process: what the code makes of a server that behaves, and of one that does not.
var _ = Describe("Start", Label("unit"), func() {
	var r *fake.Runner
	BeforeEach(func() { r = fake.New(GinkgoT()) })

	It("waits for the line", func(ctx SpecContext) {
		r.On("server").Reply(fake.LinesEvery(5*time.Millisecond, "loading", "ready"), fake.Pending())
		p, err := server.Start(ctx, r, runner.Command("server"), "ready")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(p.Close)
		Expect(p.Signal(syscall.SIGTERM)).To(Succeed())
		Eventually(ctx, p).Should(BeSignaled(syscall.SIGTERM))
	}, NodeTimeout(10*time.Second))

	It("tells a server that ends early", func(ctx SpecContext) {
		r.On("server").Reply(fake.Stderr("port in use\n"), fake.Exit(1))
		_, err := server.Start(ctx, r, runner.Command("server"), "ready")
		Expect(err).To(MatchError(server.ErrEarly))
	})

	It("gives up when the caller does, and leaves nothing running", func(ctx SpecContext) {
		r.On("server").Reply(fake.Lines("loading"), fake.Pending())
		within, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
		defer cancel()
		_, err := server.Start(within, r, runner.Command("server"), "ready")
		Expect(err).To(MatchError(context.DeadlineExceeded))
	})
})

// Real processes, in a box.
var _ = Describe("a real server", Label("live"), func() {
	// A shell that leaves a helper in the background, as servers do.
	command := func() *runner.Cmd { return runner.Command("sh", "-c", "sleep 60 & echo ready; wait") }

	BeforeEach(func() { specs.NoLeaks() })

	It("is gone with its helpers when its group is", func(ctx SpecContext) {
		group := specs.Group(contain.Options{})
		specs.ShowTreeOnTimeout(group)
		p, err := server.Start(ctx, runner.Contained{Group: group}, command(), "ready")
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, group).Should(HaveMembers(2))

		Expect(group.Close()).To(Succeed())
		Eventually(ctx, p).Should(And(BeSignaled(syscall.SIGKILL), HaveReapedTree(), Not(HaveSurvivors())))
	}, NodeTimeout(30*time.Second))

	It("is gone at its deadline", func(ctx SpecContext) {
		cmd := command()
		cmd.Timeout = time.Second
		res, err := runner.Run(ctx, runner.Contained{}, cmd)
		Expect(err).NotTo(HaveOccurred())
		specs.AttachTranscript(res)
		Expect(res).To(MatchResult(ResultFields{
			Outcome: runner.TimedOut, Stdout: "ready\n", Reaped: true, Replayed: false,
		}))
		Expect(res).To(HaveTimedOut().At(time.Second).Within(10 * time.Second))
	}, NodeTimeout(30*time.Second))

	It("is known to those who keep gbytes", func(ctx SpecContext) {
		session, err := AsSession(ctx, runner.Contained{}, command())
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(session.Close)
		Eventually(ctx, session).Should(gbytes.Say("ready"))
		Expect(session.Kill()).To(Succeed())
		Eventually(ctx, session).Should(BeSignaled(syscall.SIGKILL))
	}, NodeTimeout(30*time.Second))

	It("is killed on its owner's death, where the host can", func() {
		specs.Require(contain.KillTree | contain.KillOnOwnerDeath)
		group := specs.Group(contain.Options{Require: contain.KillTree | contain.KillOnOwnerDeath})
		Expect(group.Guarantees().Has(contain.KillOnOwnerDeath)).To(BeTrue())
	})
})
