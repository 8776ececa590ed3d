package runner_test

import (
	"context"
	"runtime"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// heldNow is how much of this program's heap is in use, garbage not counted.
func heldNow() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// peakOf is how much more heap is in use at most while f runs.
func peakOf(f func()) (most int64) {
	before := heldNow()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		most = max(most, heldNow()-before)
	}
	return most
}

var _ = Describe("a flood without a newline", Serial, func() {
	const (
		flood = 1 << 30
		most  = 8 << 20
		spare = 4 << 20
	)

	DescribeTable("is held within its cap and 4 MiB of our memory, however much comes",
		func(ctx SpecContext, stream runner.Stream, outcome runner.Outcome, kept int) {
			var res *runner.Result
			held := peakOf(func() {
				defer GinkgoRecover()
				cmd := fixture("flood")
				cmd.Output.Stdout = stream
				var err error
				res, err = runner.Run(ctx, runner.Contained{}, cmd)
				Expect(err).NotTo(HaveOccurred())
			})
			Expect(res).NotTo(BeNil())
			Expect(held).To(BeNumerically("<", most+spare))
			Expect(res).To(HaveOutcome(outcome))
			Expect(res.Stdout()).To(HaveLen(kept))
			if outcome == runner.Exited(0) {
				Expect(res.StdoutTotal()).To(BeEquivalentTo(flood), "without a timeout it runs on to its end")
			}
			runtime.KeepAlive(res)
		},
		Entry("that fails", runner.Stream{Policy: runner.Fail, MaxBytes: most}, runner.Overflowed, most),
		Entry("that keeps the head", runner.Stream{Policy: runner.Head, MaxBytes: most}, runner.Exited(0), most),
		Entry("that keeps nothing", runner.Stream{Policy: runner.Discard}, runner.Exited(0), 0),
		Entry("that keeps the tail", runner.Stream{Policy: runner.Tail, MaxBytes: most}, runner.Exited(0), most),
	)

	It("is more than that if the cap lets it: the control", func(ctx SpecContext) {
		var res *runner.Result
		Expect(peakOf(func() {
			defer GinkgoRecover()
			cmd := fixture("flood", "33554432")
			cmd.Output.Stdout.MaxBytes = 64 << 20
			var err error
			res, err = runner.Run(ctx, runner.Contained{}, cmd)
			Expect(err).NotTo(HaveOccurred())
		})).To(BeNumerically(">", most+spare))
		runtime.KeepAlive(res)
	})

	// slow is a flood of which a pipe is full for as long as anybody looks.
	slow := func() *runner.Cmd {
		cmd := fixture("flood")
		cmd.Output.Stdout = runner.Stream{Policy: runner.Head, MaxBytes: 1 << 20, Tee: teeFunc(func([]byte) { time.Sleep(5 * time.Millisecond) })}
		return cmd
	}

	It("ends with its timeout", func(ctx SpecContext) {
		cmd := slow()
		cmd.Timeout = 500 * time.Millisecond
		began := time.Now()
		res, err := runner.Run(ctx, runner.Contained{}, cmd)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveTimedOut())
		Expect(time.Since(began)).To(BeNumerically("<", 10*time.Second))
		Expect(res.StdoutTotal()).To(And(BeNumerically(">", 0), BeNumerically("<", flood)))
	})

	It("runs on without one", func(ctx SpecContext) {
		p, err := runner.Contained{}.Start(context.Background(), slow())
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(p.Close)
		Consistently(p.Settled()).WithTimeout(1500 * time.Millisecond).ShouldNot(BeClosed())
	})
})
