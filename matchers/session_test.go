package matchers_test

import (
	"bytes"
	"context"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var (
	_ gexec.Exiter          = (*Session)(nil)
	_ gbytes.BufferProvider = (*Session)(nil)
	_ Run                   = (*Session)(nil)
)

var _ = Describe("AsSession", func() {
	start := func(ctx context.Context, parts ...fake.Reply) *Session {
		GinkgoHelper()
		r := fake.New()
		r.On("tool").Reply(parts...)
		s, err := AsSession(ctx, r, runner.Command("tool", "canary-argument"))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(s.Close)
		return s
	}

	It("serves Say and Exit, and the matchers of this package", func(ctx SpecContext) {
		s := start(ctx, fake.LinesEvery(time.Millisecond, "warming up", "ready"), fake.Stderr("note\n"), fake.After(time.Millisecond), fake.Exit(3))
		Eventually(ctx, s).Should(gbytes.Say("ready"))
		Eventually(s.Err()).WithContext(ctx).Should(gbytes.Say("note"))
		Eventually(ctx, s).Should(gexec.Exit(3))
		Expect(s).To(And(HaveExited(3), HaveStdout("warming up\nready\n")))
		Expect(s.Out().Contents()).To(BeEquivalentTo("warming up\nready\n"))
	}, NodeTimeout(time.Minute))

	It("closes the buffers when the run is over, so that Say does not wait for more", func(ctx SpecContext) {
		for _, parts := range [][]fake.Reply{{fake.Lines("x")}, {fake.LinesEvery(time.Millisecond, "x")}} {
			s := start(ctx, parts...)
			Eventually(ctx, s.Settled()).Should(BeClosed())
			Eventually(ctx, s.Out().Closed).Should(BeTrue())
			Eventually(ctx, s.Err().Closed).Should(BeTrue())
			promptly(func() time.Duration {
				g, failures := failing()
				started := time.Now()
				g.Eventually(s).WithTimeout(30 * time.Second).Should(gbytes.Say("never"))
				Expect(*failures).To(HaveLen(1))
				return time.Since(started)
			})
		}
	}, NodeTimeout(time.Minute))

	DescribeTable("has the exit codes that gexec asks for",
		func(ctx SpecContext, script fake.Script, code int) {
			s := start(ctx, fake.Scripted(script))
			Expect(s.ExitCode()).To(Equal(code))
		},
		Entry("live", fake.Script{Pending: true}, -1),
		Entry("exit", fake.Script{Outcome: runner.Exited(3)}, 3),
		Entry("signal", fake.Script{Outcome: runner.Signalled(syscall.SIGKILL)}, 137),
		Entry("timeout, killed", fake.Script{Outcome: runner.TimedOut, Status: &contain.ExitStatus{Signal: syscall.SIGKILL}}, 137),
		Entry("timeout, exited in its grace", fake.Script{Outcome: runner.TimedOut, Status: &contain.ExitStatus{Code: 4}}, 4),
		Entry("timeout, unknown", fake.Script{Outcome: runner.TimedOut}, 255),
	)

	It("leaves the command's own tee alone, and passes a refusal on", func(ctx SpecContext) {
		var tee bytes.Buffer
		cmd := runner.Command("tool")
		cmd.Output.Stdout.Tee = &tee
		r := fake.New()
		r.On("tool").Reply(fake.Lines("x"))
		_, err := AsSession(ctx, r, cmd)
		Expect(err).NotTo(HaveOccurred())
		Expect(tee.String()).To(Equal("x\n"))
		s, err := AsSession(ctx, r, runner.Command("other"))
		Expect(err).To(MatchError(fake.ErrUnscripted))
		Expect(s).To(BeNil())
	})

	It("shows no argument and no output", func(ctx SpecContext) {
		s := start(ctx, fake.Lines("canary-output"))
		Expect(s).NotTo(ExposeSecrets(NewSecret("argument", "canary-argument"), NewSecret("output", "canary-output")))
	})
})

var _ = Describe("Transcript", func() {
	run := func() *runner.Result {
		return result(fake.Script{
			Outcome: runner.Exited(3), Replayed: true,
			Teardown: runner.Teardown{Mechanism: contain.ProcessGroup, Survivors: []contain.Member{sleeper}},
			Chunks:   []fake.Chunk{{Data: []byte("token=hunter2\nplain\n")}, {Stream: runner.Stderr, Data: []byte("\x1b[2J")}},
		})
	}
	hide := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("hunter2"), []byte("***")) }

	It("tells a run without its output", func() { expectGolden("Transcript", "plain", Transcript(run())) })

	It("tells output when asked, redacted", func() {
		expectGolden("Transcript", "with redacted output", Transcript(run(), WithOutput(hide)))
		expectGolden("Transcript", "with output", Transcript(run(), WithOutput(nil)))
	})

	It("fails closed", func() {
		text := Transcript(run(), WithOutput(func([]byte) []byte { panic("no") }))
		expectGolden("Transcript", "with a redactor that fails", text)
		Expect(text).NotTo(ContainSubstring("plain"))
	})

	It("is bounded, and is total", func() {
		Expect(len(Transcript(wrote(strings.Repeat(strings.Repeat("\x00", 500)+"\n", 500), ""), WithOutput(nil)))).To(BeNumerically("<=", 4096))
		Expect(Transcript(nil)).To(Equal("no run"))
		Expect(Transcript(&runner.Result{})).To(ContainSubstring("it ended as unsettled"))
	})
})
