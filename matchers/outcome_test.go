package matchers_test

import (
	"errors"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("HaveSucceeded", func() {
	verdicts("HaveSucceeded", func() []verdict {
		return []verdict{
			{"success", HaveSucceeded(), ended(runner.Exited(0)), true},
			{"success with standard error", HaveSucceeded(), wrote("", "warning"), true},
			{"quiet success", HaveSucceeded().Quietly(), wrote("out", ""), true},
			{"success, and not quiet", HaveSucceeded().Quietly(), wrote("out", "warning"), false},
			{"other code", HaveSucceeded(), ended(runner.Exited(3)), false},
			{"other code, not quiet", HaveSucceeded().Quietly(), ended(runner.Exited(3)), false},
			{"signal", HaveSucceeded(), ended(runner.Signalled(syscall.SIGTERM)), false},
			{"timeout", HaveSucceeded(), ended(runner.TimedOut, timeout(2*time.Second)), false},
			{"exit 0 after a timeout", HaveSucceeded(), result(fake.Script{
				Outcome: runner.TimedOut, Status: &contain.ExitStatus{}, Teardown: held,
			}, timeout(2*time.Second)), false},
			{"cancelled", HaveSucceeded(), ended(runner.Cancelled), false},
			{"replayed", HaveSucceeded(), result(fake.Script{Outcome: runner.Exited(1), Teardown: held, Replayed: true}), false},
			{"survivors, pipes held and a teardown that failed", HaveSucceeded(), result(fake.Script{
				Outcome: runner.Exited(1), PipesHeld: true,
				Chunks: []fake.Chunk{{Stream: runner.Stderr, Data: []byte("secret output")}},
				Teardown: runner.Teardown{
					Mechanism: contain.ProcessGroup, Survivors: []contain.Member{sleeper},
					Err: errors.New("contain: pid 4711 outlived the kill"),
				},
			}), false},
		}
	})
})

var _ = Describe("HaveOutcome", func() {
	verdicts("HaveOutcome", func() []verdict {
		return []verdict{
			{"same ending", HaveOutcome(runner.Exited(3)), ended(runner.Exited(3)), true},
			{"idle", HaveOutcome(runner.IdleTimedOut), ended(runner.IdleTimedOut), true},
			{"one of two", HaveOutcome(Or(Equal(runner.TimedOut), Equal(runner.IdleTimedOut))), ended(runner.TimedOut), true},
			{"other code", HaveOutcome(runner.Exited(0)), ended(runner.Exited(3)), false},
			{"other ending", HaveOutcome(runner.IdleTimedOut), ended(runner.TimedOut, timeout(2*time.Second)), false},
			{"none of two", HaveOutcome(Or(Equal(runner.TimedOut), Equal(runner.IdleTimedOut))), ended(runner.Cancelled), false},
			{"replayed", HaveOutcome(runner.Overflowed), result(fake.Script{Outcome: runner.Exited(1), Teardown: held, Replayed: true}), false},
		}
	})

	It("refuses what is no outcome", func() {
		_, err := HaveOutcome("exited").Match(ended(runner.Exited(0)))
		Expect(err).To(MatchError("matchers: HaveOutcome takes one runner.Outcome or a matcher, not string"))
	})
})

var _ = Describe("HaveExited", func() {
	verdicts("HaveExited", func() []verdict {
		return []verdict{
			{"any code", HaveExited(), ended(runner.Exited(3)), true},
			{"same code", HaveExited(3), ended(runner.Exited(3)), true},
			{"code that satisfies", HaveExited(BeNumerically(">", 2)), ended(runner.Exited(3)), true},
			{"other code", HaveExited(0), ended(runner.Exited(3)), false},
			{"other code, with standard error", HaveExited(0), result(fake.Script{
				Outcome: runner.Exited(3), Chunks: []fake.Chunk{{Stream: runner.Stderr, Data: []byte("secret output")}},
			}), false},
			{"code that does not satisfy", HaveExited(BeNumerically(">", 3)), ended(runner.Exited(3)), false},
			{"code that satisfies none of two", HaveExited(Or(Equal(1), Equal(2))), ended(runner.Exited(3)), false},
			{"signal", HaveExited(137), ended(runner.Signalled(syscall.SIGKILL)), false},
			{"signal, any code", HaveExited(), ended(runner.Signalled(syscall.SIGKILL)), false},
			{"timeout", HaveExited(), ended(runner.TimedOut, timeout(time.Second)), false},
			{"exit 0 after a timeout", HaveExited(0), result(fake.Script{
				Outcome: runner.TimedOut, Status: &contain.ExitStatus{}, Teardown: held,
			}, timeout(time.Second)), false},
			{"idle", HaveExited(), ended(runner.IdleTimedOut, func(c *runner.Cmd) { c.IdleTimeout = time.Minute }), false},
			{"cancelled", HaveExited(), ended(runner.Cancelled), false},
			{"overflowed", HaveExited(), ended(runner.Overflowed), false},
		}
	})

	It("refuses an argument that it cannot compare", func() {
		_, err := HaveExited("3").Match(ended(runner.Exited(3)))
		Expect(err).To(MatchError("matchers: HaveExited takes one int or a matcher, not string"))
		_, err = HaveExited(1, 2).Match(ended(runner.Exited(3)))
		Expect(err).To(MatchError("matchers: HaveExited takes one value at most, not 2"))
		_, err = HaveExited(HavePrefix("x")).Match(ended(runner.Exited(3)))
		Expect(err).To(HaveOccurred())
	})
})

var _ = Describe("BeSignaled", func() {
	verdicts("BeSignaled", func() []verdict {
		return []verdict{
			{"any signal", BeSignaled(), ended(runner.Signalled(syscall.SIGSEGV)), true},
			{"same signal", BeSignaled(syscall.SIGKILL), ended(runner.Signalled(syscall.SIGKILL)), true},
			{"signal that satisfies", BeSignaled(Not(Equal(syscall.SIGTERM))), ended(runner.Signalled(syscall.SIGKILL)), true},
			{"other signal", BeSignaled(syscall.SIGTERM), ended(runner.Signalled(syscall.SIGKILL)), false},
			{"signal that does not satisfy", BeSignaled(Equal(syscall.SIGTERM)), ended(runner.Signalled(syscall.SIGKILL)), false},
			{"exit of a shell", BeSignaled(), ended(runner.Exited(143)), false},
			{"exit", BeSignaled(syscall.SIGTERM), ended(runner.Exited(1)), false},
			{"timeout that killed", BeSignaled(), result(fake.Script{
				Outcome: runner.TimedOut, Status: &contain.ExitStatus{Signal: syscall.SIGKILL}, Teardown: held,
			}, timeout(time.Second)), false},
		}
	})

	It("refuses an argument that it cannot compare", func() {
		_, err := BeSignaled(9).Match(ended(runner.Signalled(syscall.SIGKILL)))
		Expect(err).To(MatchError("matchers: BeSignaled takes one syscall.Signal or a matcher, not int"))
	})
})

var _ = Describe("HaveTimedOut", func() {
	verdicts("HaveTimedOut", func() []verdict {
		late := func(after time.Duration) *runner.Result {
			return result(fake.Script{Outcome: runner.TimedOut, Teardown: held, Duration: after}, timeout(2*time.Second))
		}
		return []verdict{
			{"timeout", HaveTimedOut(), ended(runner.TimedOut, timeout(2*time.Second)), true},
			{"timeout without a deadline", HaveTimedOut(), ended(runner.TimedOut), true},
			{"at", HaveTimedOut().At(2 * time.Second), late(2 * time.Second), true},
			{"at another deadline", HaveTimedOut().At(time.Second), late(2 * time.Second), false},
			{"within", HaveTimedOut().At(2 * time.Second).Within(time.Second), late(2900 * time.Millisecond), true},
			{"too late", HaveTimedOut().Within(time.Second), late(3100 * time.Millisecond), false},
			{"too early", HaveTimedOut().Within(time.Second), late(1900 * time.Millisecond), false},
			{"within, without a deadline", HaveTimedOut().Within(time.Second), ended(runner.TimedOut), false},
			{"exit without a deadline", HaveTimedOut(), ended(runner.Exited(0)), false},
			{"exit before its deadline", HaveTimedOut(), ended(runner.Exited(0), timeout(time.Second)), false},
			{"idle", HaveTimedOut(), ended(runner.IdleTimedOut, func(c *runner.Cmd) { c.IdleTimeout = time.Second }), false},
			{"cancelled", HaveTimedOut(), ended(runner.Cancelled, timeout(time.Second)), false},
		}
	})
})

var _ = Describe("HaveOverflowed", func() {
	verdicts("HaveOverflowed", func() []verdict {
		capped := func(policy runner.Policy) func(*runner.Cmd) {
			return func(cmd *runner.Cmd) { cmd.Output = runner.Both(runner.Stream{Policy: policy, MaxBytes: 4}) }
		}
		return []verdict{
			{"any stream", HaveOverflowed(), wrote("12345", "", capped(runner.Fail)), true},
			{"that stream", HaveOverflowed(runner.Stdout), wrote("12345", "", capped(runner.Fail)), true},
			{"both streams", HaveOverflowed(runner.Stdout, runner.Stderr), wrote("12345", "54321", capped(runner.Fail)), true},
			{"the other stream", HaveOverflowed(runner.Stderr), wrote("12345", "", capped(runner.Fail)), false},
			{"only one of two streams", HaveOverflowed(runner.Stdout, runner.Stderr), wrote("12345", "", capped(runner.Fail)), false},
			{"at the cap", HaveOverflowed(), wrote("1234", "", capped(runner.Fail)), false},
			{"cut by a policy", HaveOverflowed(), wrote("12345", "", capped(runner.Head)), false},
		}
	})
})
