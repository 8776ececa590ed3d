package fake_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// play starts a script and closes what is left of it.
func play(cmd *runner.Cmd, s fake.Script) *runner.Process {
	GinkgoHelper()
	p, err := fake.Play(context.Background(), cmd, s)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { _ = p.Close() })
	return p
}

func wait(ctx SpecContext, p *runner.Process) *runner.Result {
	GinkgoHelper()
	res, err := p.Wait(ctx)
	Expect(err).NotTo(HaveOccurred())
	return res
}

func tool() *runner.Cmd { return runner.Command("/opt/bin/tool", "argument") }

// timed makes a script take time, and so go through the pumps.
func timed(s fake.Script) fake.Script {
	s.Chunks = append([]fake.Chunk{{After: time.Millisecond}}, s.Chunks...)
	return s
}

var _ = Describe("Play", func() {
	out := func(data string) fake.Chunk { return fake.Chunk{Stream: runner.Stdout, Data: []byte(data)} }
	errs := func(data string) fake.Chunk { return fake.Chunk{Stream: runner.Stderr, Data: []byte(data)} }

	Describe("an instant script", func() {
		It("is settled when Play returns", func() {
			p := play(tool(), fake.Script{
				Chunks:  []fake.Chunk{out("a"), errs("x"), out("b\n")},
				Outcome: runner.Exited(3), Duration: 5 * time.Second, PipesHeld: true, Replayed: true,
				Teardown: runner.Teardown{Mechanism: contain.Cgroup2, Verified: true},
			})
			Expect(p.Settled()).To(BeClosed())
			res, ok := p.Result()
			Expect(ok).To(BeTrue())
			Expect(res).To(HaveOutcome(runner.Exited(3)))
			Expect(res).To(HaveStdout("ab\n"))
			Expect(res).To(HaveStderr("x"))
			Expect(res).To(HaveDuration(5 * time.Second))
			Expect(res.PipesHeld()).To(BeTrue())
			Expect(res).To(HaveBeenReplayed())
			Expect(res).To(BeContainedBy(contain.Cgroup2))
			_, hasPID := p.PID()
			Expect(hasPID).To(BeFalse())
		})

		It("exits with code 0 and no output when it says nothing", func(ctx SpecContext) {
			res := wait(ctx, play(tool(), fake.Script{}))
			Expect(res).To(HaveOutcome(runner.Exited(0)))
			Expect(res).To(HaveStdout(""))
			Expect(res.Program()).To(Equal("tool"))
		})

		It("goes through the command's policies and tees", func(ctx SpecContext) {
			var tee bytes.Buffer
			cmd := tool()
			cmd.Output.Stdout = runner.Stream{Policy: runner.Tail, MaxBytes: 3, Tee: &tee}
			cmd.Output.Stderr = runner.Stream{MaxBytes: 2}
			res := wait(ctx, play(cmd, fake.Script{Chunks: []fake.Chunk{out("12345"), errs("too much")}}))
			Expect(res).To(HaveStdout("345"))
			Expect(tee.String()).To(Equal("12345"))
			Expect(res).To(HaveOutcome(runner.Overflowed))
			Expect(res.StderrTotal()).To(BeEquivalentTo(8))
		})
	})

	// Told at once, and told after some time.
	DescribeTable("delivers every outcome",
		func(ctx SpecContext, want runner.Outcome, status *contain.ExitStatus) {
			for _, s := range []fake.Script{{Outcome: want, Status: status}, timed(fake.Script{Outcome: want, Status: status})} {
				s.Chunks = append(s.Chunks, out("kept"))
				s.Replayed = true
				res, err := play(tool(), s).Wait(ctx)
				if want == runner.Cancelled {
					Expect(err).To(MatchError(runner.ErrCancelled))
				} else {
					Expect(err).NotTo(HaveOccurred())
				}
				Expect(res).To(HaveOutcome(want))
				Expect(res).To(HaveStdout("kept"))
				Expect(res).To(HaveBeenReplayed())
				if status != nil {
					got, known := res.Status()
					Expect(known).To(BeTrue())
					Expect(got).To(Equal(*status))
				}
			}
		},
		Entry("exited", runner.Exited(7), nil),
		Entry("exited, with what else is known", runner.Exited(7), &contain.ExitStatus{Code: 7, CPU: time.Second}),
		Entry("signalled", runner.Signalled(syscall.SIGTERM), nil),
		Entry("timed out", runner.TimedOut, nil),
		Entry("timed out, exited within the grace", runner.TimedOut, &contain.ExitStatus{Code: 0}),
		Entry("timed out idle", runner.IdleTimedOut, &contain.ExitStatus{Signal: syscall.SIGKILL}),
		Entry("overflowed", runner.Overflowed, &contain.ExitStatus{Signal: syscall.SIGKILL}),
		Entry("cancelled", runner.Cancelled, nil),
	)

	Describe("a script that takes time", func() {
		It("gives its output when it is due, and ends after it", func(ctx SpecContext) {
			var seen []string
			cmd := tool().Tapped(func(id runner.StreamID, chunk []byte) { seen = append(seen, id.String()+" "+string(chunk)) })
			p := play(cmd, fake.Script{Chunks: []fake.Chunk{
				out("one"),
				{After: 20 * time.Millisecond, Stream: runner.Stderr, Data: []byte("two")},
				{After: 20 * time.Millisecond, Data: []byte("three")},
				{After: 20 * time.Millisecond},
			}})
			Expect(p.Settled()).NotTo(BeClosed())
			res := wait(ctx, p)
			Expect(res).To(HaveOutcome(runner.Exited(0)))
			Expect(seen).To(Equal([]string{"stdout one", "stderr two", "stdout three"}))
			Expect(res).To(HaveDuration(BeNumerically(">=", 60*time.Millisecond)))
		})

		It("takes the cap from the script's own bytes", func(ctx SpecContext) {
			cmd := tool()
			cmd.Output.Stdout.MaxBytes = 4
			res := wait(ctx, play(cmd, fake.Script{Chunks: []fake.Chunk{out("12345")}, Pending: true}))
			Expect(res).To(HaveOutcome(runner.Overflowed))
			Expect(res).To(HaveStdout("1234"))
		})

		It("holds the pipes beyond its end, until the tree is killed", func(ctx SpecContext) {
			res := wait(ctx, play(tool(), timed(fake.Script{Chunks: []fake.Chunk{out("x")}, PipesHeld: true})))
			Expect(res).To(HaveOutcome(runner.Exited(0)))
			Expect(res.PipesHeld()).To(BeTrue())
			Expect(res).To(HaveStdout("x"))
		})

		It("tells the teardown of the script", func(ctx SpecContext) {
			survivor := contain.Member{PID: 4711, Name: "stuck", State: 'D'}
			res := wait(ctx, play(tool(), timed(fake.Script{Teardown: runner.Teardown{Survivors: []contain.Member{survivor}}})))
			Expect(res.Teardown().Survivors).To(Equal([]contain.Member{survivor}))
		})
	})

	Describe("a pending script", func() {
		pending := fake.Script{Chunks: []fake.Chunk{out("before")}, Pending: true}

		It("does not end by itself", func() {
			Consistently(play(tool(), pending).Settled()).ShouldNot(BeClosed())
		})

		It("obeys Timeout", func(ctx SpecContext) {
			cmd := tool()
			cmd.Timeout = 30 * time.Millisecond
			res := wait(ctx, play(cmd, pending))
			Expect(res).To(HaveOutcome(runner.TimedOut))
			Expect(res).To(HaveStdout("before"))
			Expect(res).To(HaveDuration(BeNumerically(">=", cmd.Timeout)))
			status, known := res.Status()
			Expect(known).To(BeTrue())
			Expect(status.Signal).To(Equal(syscall.SIGKILL))
		})

		It("ends by SIGTERM in the grace, and has timed out all the same", func(ctx SpecContext) {
			cmd := tool()
			cmd.Timeout, cmd.Grace = 10*time.Millisecond, time.Minute
			res := wait(ctx, play(cmd, pending))
			Expect(res).To(HaveOutcome(runner.TimedOut))
			status, _ := res.Status()
			Expect(status.Signal).To(Equal(syscall.SIGTERM))
		})

		It("obeys IdleTimeout", func(ctx SpecContext) {
			cmd := tool()
			cmd.IdleTimeout = 30 * time.Millisecond
			Expect(wait(ctx, play(cmd, pending))).To(HaveOutcome(runner.IdleTimedOut))
		})

		It("is ended by Kill", func(ctx SpecContext) {
			p := play(tool(), pending)
			Expect(p.Kill()).To(Succeed())
			res := wait(ctx, p)
			Expect(res).To(HaveOutcome(runner.Signalled(syscall.SIGKILL)))
			Expect(p.Signal(syscall.SIGTERM)).To(MatchError(os.ErrProcessDone))
		})

		It("is ended by Cancel", func(ctx SpecContext) {
			p := play(tool(), pending)
			cause := errors.New("changed my mind")
			p.Cancel(cause)
			_, err := p.Wait(ctx)
			Expect(err).To(MatchError(cause))
			Expect(err).To(MatchError(runner.ErrCancelled))
		})

		It("is ended by Close", func() {
			p := play(tool(), pending)
			Expect(p.Close()).To(Succeed())
			Expect(p.Settled()).To(BeClosed())
			res, _ := p.Result()
			Expect(res).To(HaveOutcome(runner.Cancelled))
		})

		It("is ended by the context of Run", func() {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			defer cancel()
			r := fake.New()
			r.On("tool").Reply(fake.Pending())
			res, err := runner.Run(ctx, r, tool())
			Expect(err).To(MatchError(runner.ErrCancelled))
			Expect(err).To(MatchError(context.DeadlineExceeded))
			Expect(res).To(HaveOutcome(runner.Cancelled))
		})
	})

	Describe("what does not start", func() {
		It("is cancelled when the context is over already", func() {
			ctx, cancel := context.WithCancelCause(context.Background())
			cause := errors.New("too late")
			cancel(cause)
			p, err := fake.Play(ctx, tool(), fake.Script{StartErr: errors.New("not reached")})
			Expect(p).To(BeNil())
			Expect(err).To(MatchError(runner.ErrCancelled))
			Expect(err).To(MatchError(cause))
		})

		It("is refused with the script's own error, as it is", func() {
			refusal := &runner.StartError{Program: "tool", Kind: runner.StartNotFound}
			p, err := fake.Play(context.Background(), tool(), fake.Script{StartErr: refusal})
			Expect(p).To(BeNil())
			Expect(err).To(BeIdenticalTo(refusal))
		})

		It("is refused when the command makes no sense", func() {
			cmd := tool()
			cmd.Timeout = -1
			_, err := fake.Play(context.Background(), cmd, fake.Script{})
			Expect(err).To(MatchError(runner.ErrInvalid))
		})
	})
})
