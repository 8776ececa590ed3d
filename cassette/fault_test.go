package cassette_test

import (
	"context"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

const recording = `cassette 1
run
  argv "other"
  exit 0
run
  argv "tool"
  out "one\ntwo\nthree\n"
  err "warning\n"
  exit 0
  tape 1000o4 0e8 2000o10 3000x
  repeat 2
  x-note mine
`

var _ = Describe("A derived fault", func() {
	derive := func(text string, faults ...cassette.Fault) *cassette.Tape {
		GinkgoHelper()
		tape, err := cassette.Parse(sealed(text))
		Expect(err).NotTo(HaveOccurred())
		broken, err := tape.Derive(2, faults...)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(tape.Marshal())).To(Equal(string(sealed(text))), "the recording itself is as it was")
		_, err = cassette.Parse(broken.Marshal())
		Expect(err).NotTo(HaveOccurred())
		return broken
	}
	run := func(ctx context.Context, tape *cassette.Tape, opts ...cassette.Option) (*runner.Result, error) {
		GinkgoHelper()
		player, err := cassette.NewPlayer(tape, opts...)
		Expect(err).NotTo(HaveOccurred())
		Expect(runner.Run(ctx, player, runner.Command("other"))).To(HaveField("Success()", true))
		return runner.Run(ctx, player, runner.Command("tool"))
	}

	DescribeTable("leaves the rest as it was recorded",
		func(ctx context.Context, fault cassette.Fault, text string, outcome runner.Outcome, stdout, stderr string) {
			tape := derive(recording, fault)
			Expect(string(tape.Runs()[1].Text())).To(HaveSuffix(text + "  repeat 2\n  x-note mine\n"))
			res, err := run(ctx, tape)
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveOutcome(outcome))
			Expect([]string{string(res.Stdout()), string(res.Stderr())}).To(Equal([]string{stdout, stderr}))
		},
		Entry("another exit", cassette.FaultExit(137), "  exit 137\n  tape 1000o4 0e8 2000o10 3000x\n", runner.Exited(137), "one\ntwo\nthree\n", "warning\n"),
		Entry("a signal", cassette.FaultSignal(syscall.SIGTERM), "  signal SIGTERM\n  tape 1000o4 0e8 2000o10 3000x\n", runner.Signalled(syscall.SIGTERM), "one\ntwo\nthree\n", "warning\n"),
		Entry("a stream cut short", cassette.FaultTruncate(runner.Stdout, 6), "  exit 0\n  tape 1000o4 0e8 2000o2 3000x\n", runner.Exited(0), "one\ntw", "warning\n"),
		Entry("a stream without a byte", cassette.FaultTruncate(runner.Stderr, 0), "  exit 0\n  tape 1000o4 2000o10 3000x\n", runner.Exited(0), "one\ntwo\nthree\n", ""),
		Entry("a kill midway", cassette.FaultKill(10), "  signal SIGKILL\n  tape 1000o4 0e6 0x\n", runner.Signalled(syscall.SIGKILL), "one\n", "warnin"),
		Entry("a kill at once", cassette.FaultKill(0), "  signal SIGKILL\n  tape 0x\n", runner.Signalled(syscall.SIGKILL), "", ""),
		Entry("a delay", cassette.FaultDelay(5*time.Second), "  exit 0\n  tape 6000o4 0e8 2000o10 3000x\n", runner.Exited(0), "one\ntwo\nthree\n", "warning\n"),
	)

	It("can be that nothing starts", func(ctx context.Context) {
		_, err := run(ctx, derive(recording, cassette.FaultStart(runner.StartNotFound)))
		Expect(err).To(MatchError(runner.ErrNotFound))
	})

	It("can be several", func(ctx context.Context) {
		res, err := run(ctx, derive(recording, cassette.FaultTruncate(runner.Stdout, 4), cassette.FaultExit(1)))
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveExited(1))
		Expect(res).To(HaveStdout("one\n"))
	})

	It("ends a conversation where it is", func(ctx context.Context) {
		tape := derive(`cassette 1
run
  argv "other"
  exit 0
run
  argv "talk"
  stdin interactive
  in "a\nb\n"
  out "AB"
  exit 0
  tape 0i2 0o1 0i2 0o1 0c 0x
`, cassette.FaultKill(1))
		Expect(string(tape.Runs()[1].Text())).To(HaveSuffix("  in \"a\\n\"\n  out \"A\"\n  signal SIGKILL\n  tape 0i2 0o1 0x\n"))
	})

	It("is of a run that is there", func() {
		tape, err := cassette.Parse(sealed(recording))
		Expect(err).NotTo(HaveOccurred())
		for _, n := range []int{0, 3} {
			_, err = tape.Derive(n)
			Expect(err).To(HaveOccurred())
		}
	})
})

var _ = Describe("Chunks", func() {
	pieces := func(ctx context.Context, opts ...cassette.Option) []string {
		GinkgoHelper()
		player := playText(recording, opts...)
		cmd := runner.Command("tool")
		var mu sync.Mutex
		var list []string
		cmd.Output.Stdout.Tee = writer(func(p []byte) {
			mu.Lock()
			defer mu.Unlock()
			list = append(list, string(p))
		})
		res, err := runner.Run(ctx, player, cmd)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveStdout("one\ntwo\nthree\n"), "whatever the pieces, the output is the same")
		Expect(res).To(HaveStderr("warning\n"))
		Expect(res).To(HaveSucceeded())
		return list
	}

	It("are one at an instant, and the recorded ones at a pace", func(ctx context.Context) {
		Expect(pieces(ctx)).To(HaveLen(1))
		Expect(pieces(ctx, cassette.WithPace(cassette.Scaled(1e6)))).To(Equal([]string{"one\n", "two\nthree\n"}))
	})

	It("are bytes, lines, or what chance would have", func(ctx context.Context) {
		Expect(pieces(ctx, cassette.WithChunking(cassette.ChunksOf(1)))).To(HaveLen(14))
		Expect(pieces(ctx, cassette.WithChunking(cassette.ChunksOf(5)))).To(Equal([]string{"one\n", "two\nt", "hree\n"}), "no piece joins what came apart")
		Expect(pieces(ctx, cassette.WithChunking(cassette.ChunksByLine()))).To(Equal([]string{"one\n", "two\n", "three\n"}))
		one := pieces(ctx, cassette.WithChunking(cassette.RandomChunks(1)))
		Expect(pieces(ctx, cassette.WithChunking(cassette.RandomChunks(1)))).To(Equal(one))
		Expect(strings.Join(one, "")).To(Equal("one\ntwo\nthree\n"))
	})

	It("have a byte at least", func() {
		Expect(func() { cassette.ChunksOf(0) }).To(Panic())
	})
})

var _ = Describe("A stepped pace", func() {
	start := func(ctx context.Context, text string, clock *cassette.Stepper) (*runner.Process, func() string) {
		GinkgoHelper()
		player := playText(text, cassette.WithStepper(clock))
		cmd := runner.Command("tool")
		var mu sync.Mutex
		heard := ""
		cmd.Output.Stdout.Tee = writer(func(p []byte) {
			mu.Lock()
			defer mu.Unlock()
			heard += string(p)
		})
		p, err := player.Start(ctx, cmd)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { _ = p.Close() })
		return p, func() string {
			mu.Lock()
			defer mu.Unlock()
			return heard
		}
	}

	It("plays what is due, and nothing else", func(ctx context.Context) {
		clock := cassette.NewStepper()
		p, heard := start(ctx, recording, clock)
		clock.Advance(999 * time.Millisecond)
		Consistently(heard).WithTimeout(50 * time.Millisecond).Should(BeEmpty())
		clock.Advance(time.Millisecond)
		Eventually(ctx, heard).Should(Equal("one\n"))
		clock.Advance(1999 * time.Millisecond)
		Consistently(heard).WithTimeout(50 * time.Millisecond).Should(Equal("one\n"))
		clock.Advance(3 * time.Second)
		Eventually(ctx, heard).Should(Equal("one\ntwo\nthree\n"))
		Expect(p.Settled()).NotTo(BeClosed())
		clock.Advance(time.Millisecond)
		Eventually(ctx, p.Settled()).Should(BeClosed())
		Expect(clock.Elapsed()).To(Equal(6 * time.Second))
		res, _ := p.Result()
		Expect(res).To(HaveSucceeded())
	})

	It("goes through everything in one large step, and lets a run begin late", func(ctx context.Context) {
		clock := cassette.NewStepper()
		clock.Advance(time.Hour)
		p, _ := start(ctx, recording, clock)
		clock.Advance(time.Minute)
		Eventually(ctx, p.Settled()).Should(BeClosed())
	})

	It("ends a run in its recorded deadline, and does not wait for one that was killed", func(ctx context.Context) {
		clock := cassette.NewStepper()
		late := "cassette 1\nrun\n  argv \"tool\"\n  timeout 10s then signal SIGKILL\n  tape 10000x\n"
		killed, _ := start(ctx, late, clock)
		Expect(killed.Kill()).To(Succeed())
		Eventually(ctx, killed.Settled()).Should(BeClosed())
		p, _ := start(ctx, late, clock)
		clock.Advance(9 * time.Second)
		Expect(p.Settled()).NotTo(BeClosed())
		clock.Advance(time.Second)
		Eventually(ctx, p.Settled()).Should(BeClosed())
		res, _ := p.Result()
		Expect(res).To(HaveTimedOut())
	})
})
