package runner_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// played is what a stream came to.
type played struct {
	Outcome   runner.Outcome
	Kept      string
	Total     int64
	Truncated bool
	Teed      string
}

// playLive writes data in pieces to a live run that exits 0, and lets the pump read at most as much at once.
func playLive(data []byte, s runner.Stream, pieces *rand.Rand) played {
	var tee bytes.Buffer
	s.Tee = &tee
	cmd := runner.Command("x")
	cmd.Output.Stdout = s
	b := newStub()
	b.out.most = 1 + len(data)/64 + pieces.IntN(2*len(data)+1)
	p := runner.Attach(cmd, b, time.Now())
	for rest := data; len(rest) > 0; {
		n := 1 + pieces.IntN(len(rest))
		b.out.write(rest[:n])
		rest = rest[n:]
	}
	b.finish(contain.ExitStatus{})
	<-p.Settled()
	return told(p, &tee)
}

func playSettled(data []byte, s runner.Stream) played {
	var tee bytes.Buffer
	s.Tee = &tee
	cmd := runner.Command("x")
	cmd.Output.Stdout = s
	return told(runner.Settle(cmd, runner.Finished{Outcome: runner.Exited(0), Stdout: data}), &tee)
}

func told(p *runner.Process, tee *bytes.Buffer) played {
	res, _ := p.Result()
	return played{res.Outcome(), string(res.Stdout()), res.StdoutTotal(), res.StdoutTruncated(), tee.String()}
}

// model is what the policies mean, said as plainly as possible.
func model(data []byte, s runner.Stream) played {
	most := int(s.MaxBytes)
	want := played{Outcome: runner.Exited(0), Kept: string(data), Total: int64(len(data)), Teed: string(data)}
	switch {
	case s.Policy == runner.Discard:
		want.Kept = ""
	case len(data) <= most:
	case s.Policy == runner.Tail:
		want.Kept = string(data[len(data)-most:])
	default:
		want.Kept = string(data[:most])
		if s.Policy == runner.Fail {
			want.Outcome = runner.Overflowed
		}
	}
	want.Truncated = len(want.Kept) < len(data)
	return want
}

// lateText is a stream that counts how often it is read.
type lateText struct {
	text  string
	reads int
}

func (t *lateText) Len() int { return len(t.text) }

func (t *lateText) Read() []byte {
	t.reads++
	return []byte(t.text)
}

var _ = Describe("capture", func() {
	for policy, name := range map[runner.Policy]string{
		runner.Fail: "Fail", runner.Head: "Head", runner.Tail: "Tail", runner.Discard: "Discard",
	} {
		It("depends on the bytes and not on how they were cut: "+name, func() {
			seed := uint64(GinkgoRandomSeed())
			r := rand.New(rand.NewPCG(seed, uint64(policy)))
			for round := range 60 {
				// Sizes on either side of a chunk's, and caps on either side of those.
				most := []int{8, 600, 5000, 3 << 20}[round%4] / (1 + round%3)
				if policy == runner.Fail {
					// What is left when the run is ended must be dealt with in time, on a busy machine too.
					most = min(most, 100_000)
				}
				data := make([]byte, 1+r.IntN(most))
				for i := range data {
					data[i] = byte(r.Uint32())
				}
				s := runner.Stream{Policy: policy, MaxBytes: int64(1 + r.IntN(len(data)+2))}
				want := model(data, s)
				about := fmt.Sprintf("seed %d, round %d: %d bytes, cap %d", seed, round, len(data), s.MaxBytes)
				// Comparing with == keeps 3 MiB of noise out of a failure.
				Expect(playSettled(data, s) == want).To(BeTrue(), "settled, "+about)
				got := playLive(data, s, r)
				if want.Outcome == runner.Overflowed {
					// The kill came as soon as the cap was passed: how much was said until then is up to the child.
					Expect(got.Total).To(BeNumerically(">", s.MaxBytes), about)
					want.Total, want.Teed = got.Total, want.Teed[:got.Total]
				}
				Expect(got == want).To(BeTrue(), "live, "+about)
			}
		})
	}

	It("keeps the end of a stream of many chunks", func() {
		cmd := runner.Command("x")
		cmd.Output.Stdout = runner.Stream{Policy: runner.Tail, MaxBytes: 1000}
		b := newStub()
		p := runner.Attach(cmd, b, time.Now())
		block := bytes.Repeat([]byte("0123456789"), 10_000)
		for range 100 {
			b.out.write(block)
		}
		b.finish(contain.ExitStatus{})
		<-p.Settled()
		res, _ := p.Result()
		Expect(res.StdoutTotal()).To(BeEquivalentTo(100 * len(block)))
		Expect(res).To(HaveStdout(string(block[:1000])))
	})

	It("caps a stream at 64 MiB when nothing else is said", func() {
		data := make([]byte, runner.DefaultMaxBytes+1)
		whole := runner.Settle(runner.Command("x"), runner.Finished{Outcome: runner.Exited(0), Stdout: data[1:]})
		res, _ := whole.Result()
		Expect(res).To(HaveSucceeded())
		more := runner.Settle(runner.Command("x"), runner.Finished{Outcome: runner.Exited(0), Stdout: data})
		res, _ = more.Result()
		Expect(res).To(HaveOverflowed())
	})
})

var _ = Describe("Settle", func() {
	It("keeps an outcome that was not natural, whatever the caps", func() {
		cmd := runner.Command("x")
		cmd.Output = runner.Both(runner.Stream{MaxBytes: 1})
		for _, o := range []runner.Outcome{runner.TimedOut, runner.IdleTimedOut, runner.Cancelled} {
			res, _ := runner.Settle(cmd, runner.Finished{Outcome: o, Stdout: []byte("long")}).Result()
			Expect(res).To(HaveOutcome(o))
			Expect(res).To(HaveStdout("l"))
		}
	})

	It("tells all that it is told", func() {
		cmd := runner.Command("x")
		cmd.Timeout, cmd.IdleTimeout = time.Minute, time.Second
		p := runner.Settle(cmd, runner.Finished{
			Outcome: runner.TimedOut, Status: &contain.ExitStatus{Code: 3}, Stdout: []byte("o"), Stderr: []byte("ee"),
			Duration: time.Hour, PipesHeld: true, Replayed: true,
			Teardown: runner.Teardown{Mechanism: contain.Cgroup2, Guarantees: contain.KillTree, Verified: true},
		})
		Expect(p.Settled()).To(BeClosed())
		_, hasPID := p.PID()
		Expect(hasPID).To(BeFalse())
		res, ok := p.Result()
		Expect(ok).To(BeTrue())
		status, known := res.Status()
		Expect(known).To(BeTrue())
		Expect(status.Code).To(Equal(3))
		Expect(res).To(HaveDuration(time.Hour))
		Expect(res.Timeout()).To(Equal(time.Minute))
		Expect(res.IdleTimeout()).To(Equal(time.Second))
		Expect(res.PipesHeld()).To(BeTrue())
		Expect(res).To(HaveBeenReplayed())
		Expect(res).To(BeContainedBy(contain.Cgroup2))
		Expect(p.Close()).To(Succeed())
	})

	DescribeTable("makes of a late stream what it makes of one that is there", func(configure func(*runner.Cmd), atOnce bool) {
		out, errs := "one\ntwo\nthree\n", "first\nsecond\n"
		play := func(run runner.Finished, seen *bytes.Buffer) []any {
			cmd := runner.Command("x")
			configure(cmd)
			if cmd.Output.Stdout.Tee != nil {
				cmd.Output.Stdout.Tee = seen
			}
			if cmd.Output.Stdout.OnLine != nil {
				cmd.Output.Stdout.OnLine = func(l runner.Line) { seen.WriteString(l.Text + l.End) }
			}
			run.Outcome = runner.Exited(0)
			run.Arrival = []runner.Span{{Stream: runner.Stderr, Bytes: 6}, {Stream: runner.Stdout, Bytes: 8}, {Stream: runner.Stderr, Bytes: 7}}
			p := runner.Settle(cmd, run)
			lines := allLines(p)
			res, _ := p.Result()
			return []any{
				res.Outcome(), string(res.Stdout()), string(res.Stderr()), res.StdoutTotal(), res.StderrTotal(), res.StdoutTruncated(), res.StderrTruncated(),
				lines, seen.String(), fmt.Sprint(res),
			}
		}
		var seen, seenLate bytes.Buffer
		there := play(runner.Finished{Stdout: []byte(out), Stderr: []byte(errs)}, &seen)
		streams := [2]*lateText{{text: out}, {text: errs}}
		Expect(play(runner.Finished{Late: [2]runner.Late{streams[0], streams[1]}}, &seenLate)).To(Equal(there))

		late := &lateText{text: out}
		cmd := runner.Command("x")
		configure(cmd)
		runner.Settle(cmd, runner.Finished{Outcome: runner.Exited(0), Late: [2]runner.Late{late}})
		Expect(late.reads > 0).To(Equal(atOnce), "read before somebody asked")
	},
		Entry("by default", func(*runner.Cmd) {}, false),
		Entry("as long as its cap", func(cmd *runner.Cmd) { cmd.Output = runner.Both(runner.Stream{MaxBytes: 14}) }, false),
		Entry("the head", func(cmd *runner.Cmd) { cmd.Output = runner.Both(runner.Stream{Policy: runner.Head}) }, false),
		Entry("the tail", func(cmd *runner.Cmd) { cmd.Output = runner.Both(runner.Stream{Policy: runner.Tail}) }, false),
		Entry("carriage returns", func(cmd *runner.Cmd) { cmd.Output = runner.Both(runner.Stream{Framing: runner.CarriageReturn}) }, false),
		Entry("longer than its cap", func(cmd *runner.Cmd) { cmd.Output = runner.Both(runner.Stream{MaxBytes: 13}) }, true),
		Entry("a short head", func(cmd *runner.Cmd) { cmd.Output = runner.Both(runner.Stream{Policy: runner.Head, MaxBytes: 5}) }, true),
		Entry("a short tail", func(cmd *runner.Cmd) { cmd.Output = runner.Both(runner.Stream{Policy: runner.Tail, MaxBytes: 5}) }, true),
		Entry("a cap on lines", func(cmd *runner.Cmd) { cmd.Output = runner.Both(runner.Stream{MaxLines: 2}) }, true),
		Entry("discarded", func(cmd *runner.Cmd) { cmd.Output = runner.Both(runner.Stream{Policy: runner.Discard}) }, true),
		Entry("a tee", func(cmd *runner.Cmd) { cmd.Output.Stdout.Tee = &bytes.Buffer{} }, true),
		Entry("a handler", func(cmd *runner.Cmd) { cmd.Output.Stdout.OnLine = func(runner.Line) {} }, true),
		Entry("without escapes", func(cmd *runner.Cmd) { cmd.Output.Stdout.StripVT = true }, true),
		Entry("merged", func(cmd *runner.Cmd) { cmd.Output.Merge = true }, true),
	)

	It("costs neither goroutine nor more than a few allocations", func(ctx SpecContext) {
		cmd := runner.Command("git", "status")
		run := runner.Finished{Outcome: runner.Exited(0), Stdout: make([]byte, 1<<10)}
		allocs := testingAllocs(func() {
			_, err := runner.Settle(cmd, run).Wait(ctx)
			Expect(err).NotTo(HaveOccurred())
		})
		Expect(allocs).To(BeNumerically("<=", 10))
	})
})
