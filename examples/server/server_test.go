package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
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

// No process: what the code makes of a server that behaves, and of those that do not.
var _ = Describe("Start", Label("unit"), func() {
	var r *fake.Runner
	BeforeEach(func() { r = fake.New(GinkgoT()) })

	// stand answers in the place of a server that is scripted, and is its address.
	stand := func(h http.Handler) string {
		s := httptest.NewServer(h)
		DeferCleanup(s.Close)
		return strings.TrimPrefix(s.URL, "http://")
	}

	It("waits for the line and for the answer", func(ctx SpecContext) {
		addr := stand(answering())
		r.On("server").Reply(fake.LinesEvery(5*time.Millisecond, "loading", "listening on "+addr), fake.Pending())
		s, err := server.Start(ctx, r, runner.Command("server"))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(s.Close)
		Expect(s.Addr).To(Equal(addr))
		Expect(s.Signal(syscall.SIGTERM)).To(Succeed())
		Eventually(ctx, s).Should(BeSignaled(syscall.SIGTERM))
	}, NodeTimeout(10*time.Second))

	It("tells a server that ends early", func(ctx SpecContext) {
		r.On("server").Reply(fake.Stderr("port in use\n"), fake.Exit(1))
		_, err := server.Start(ctx, r, runner.Command("server"))
		Expect(err).To(MatchError(ContainSubstring(`"server" is not ready: no such line after`)))
		Expect(err).To(MatchError(HaveSuffix("it is over, exited 1")))
	})

	It("gives up when the caller does, and leaves nothing running", func(ctx SpecContext) {
		sick := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
		r.On("server").Reply(fake.Lines("listening on "+stand(sick)), fake.Pending())
		within, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		_, err := server.Start(within, r, runner.Command("server"))
		Expect(err).To(MatchError(runner.ErrNotReady))
		Expect(err).To(MatchError(context.DeadlineExceeded))
	})
})

// Real processes, in a box.
var _ = Describe("a real server", Label("live"), func() {
	command := func() *runner.Cmd {
		cmd := runner.Command(os.Args[0])
		cmd.Env = cmd.Env.Set(serve, "1")
		return cmd
	}

	BeforeEach(func() { specs.NoLeaks() })

	It("is gone with its helpers when its group is", func(ctx SpecContext) {
		group := specs.Group(contain.Options{})
		specs.ShowTreeOnTimeout(group)
		s, err := server.Start(ctx, runner.Contained{Group: group}, command())
		Expect(err).NotTo(HaveOccurred())
		Expect(group).To(HaveMembers(2))
		Expect(group).NotTo(HaveEscapees(specs.Mark()))

		Expect(group.Close()).To(Succeed())
		Eventually(ctx, s).Should(And(BeSignaled(syscall.SIGKILL), HaveReapedTree()))
	}, NodeTimeout(30*time.Second))

	It("is gone at its deadline", func(ctx SpecContext) {
		cmd := command()
		cmd.Timeout = time.Second
		res, err := runner.Run(ctx, runner.Contained{}, cmd)
		Expect(err).NotTo(HaveOccurred())
		specs.AttachTranscript(res)
		Expect(res).To(MatchResult(ResultFields{
			Outcome: runner.TimedOut, Stdout: HavePrefix("listening on "), Reaped: true, Replayed: false,
		}))
		Expect(res).To(HaveTimedOut().At(time.Second).Within(10 * time.Second))
	}, NodeTimeout(30*time.Second))

	It("is known to those who keep gbytes", func(ctx SpecContext) {
		session, err := AsSession(ctx, runner.Contained{}, command())
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(session.Close)
		Eventually(ctx, session).Should(gbytes.Say("listening on"))
		Expect(session.Kill()).To(Succeed())
		Eventually(ctx, session).Should(BeSignaled(syscall.SIGKILL))
	}, NodeTimeout(30*time.Second))

	It("is killed on its owner's death, where the host can", func() {
		specs.Require(contain.KillTree | contain.KillOnOwnerDeath)
		group := specs.Group(contain.Options{Require: contain.KillTree | contain.KillOnOwnerDeath})
		Expect(group.Guarantees().Has(contain.KillOnOwnerDeath)).To(BeTrue())
	})
})
