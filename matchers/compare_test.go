package matchers_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("ReplayAs", func() {
	verdicts("ReplayAs", func() []verdict {
		return []verdict{
			{"same", ReplayAs(wrote("a\n", "b\n")), result(fake.Script{Replayed: true, Duration: time.Hour, Chunks: []fake.Chunk{
				{Data: []byte("a\n")}, {Stream: runner.Stderr, Data: []byte("b\n")},
			}}), true},
			{"other outcome", ReplayAs(ended(runner.Exited(0))), ended(runner.Exited(3)), false},
			{"other output", ReplayAs(wrote("secret\nline\n", "same")), wrote("secret\nlime\n", "same"), false},
			{"other status", ReplayAs(result(fake.Script{Outcome: runner.TimedOut, Status: &contain.ExitStatus{}})), result(fake.Script{
				Outcome: runner.TimedOut, Status: &contain.ExitStatus{Signal: 9}, PipesHeld: true,
			}), false},
			{"cut", ReplayAs(wrote("12345", "")), wrote("12345", "", func(cmd *runner.Cmd) {
				cmd.Output.Stdout = runner.Stream{Policy: runner.Head, MaxBytes: 3}
			}), false},
		}
	})

	It("does not compare a status that one of them does not know", func() {
		Expect(result(fake.Script{Outcome: runner.TimedOut})).To(ReplayAs(result(fake.Script{Outcome: runner.TimedOut, Status: &contain.ExitStatus{}})))
	})

	It("refuses to compare with nil", func() {
		_, err := ReplayAs(nil).Match(ended(runner.Exited(0)))
		Expect(err).To(MatchError(ContainSubstring("nil *runner.Result to compare with")))
	})
})

var _ = Describe("MatchResult", func() {
	failed := func() *runner.Result {
		return result(fake.Script{Outcome: runner.Exited(3), Teardown: held, Chunks: []fake.Chunk{{Stream: runner.Stderr, Data: []byte("secret\n")}}})
	}
	verdicts("MatchResult", func() []verdict {
		return []verdict{
			{"nothing asked", MatchResult(ResultFields{}), failed(), true},
			{"everything", MatchResult(ResultFields{
				Outcome: runner.Exited(3), Exit: BeNumerically(">", 0), Stdout: "", Stderr: ContainSubstring("secret"),
				Duration: BeNumerically("<", time.Second), Mechanism: contain.Cgroup2, Reaped: true, Replayed: false,
			}), failed(), true},
			{"signal", MatchResult(ResultFields{Signal: BeNumerically("==", 9), Outcome: Not(Equal(runner.Exited(0)))}), ended(runner.Signalled(9)), true},
			{"one of three", MatchResult(ResultFields{Exit: 3, Stderr: "secret\n", Reaped: false}), failed(), false},
			{"all wrong", MatchResult(ResultFields{
				Outcome: runner.TimedOut, Exit: 0, Stdout: "x", Stderr: "secrex\n", Duration: time.Second,
				Mechanism: contain.JobObject, Reaped: false, Replayed: true,
			}), failed(), false},
			{"signal where there is none", MatchResult(ResultFields{Signal: BeNumerically(">", 0)}), failed(), false},
		}
	})

	It("lists its failures for other matchers, in the order of the fields", func() {
		m := MatchResult(ResultFields{Exit: 0, Stdout: "x"})
		Expect(m.Failures(failed())).To(HaveExactElements(
			MatchError("matchers: Exit: wanted to have exited with code 0; it exited with code 3"),
			MatchError(HavePrefix("matchers: Stdout: wanted to equal the 1 byte in 1 line given; got 0 bytes in 0 lines; differs at byte 0")),
		))
		Expect(m.Failures(wrote("x", ""))).To(BeEmpty())
		Expect(m.Failures(7)).To(ConsistOf(MatchError(ContainSubstring("cannot judge a int"))))
	})

	It("refuses a field that it cannot use", func() {
		for _, fields := range []ResultFields{
			{Outcome: 3}, {Exit: "3"}, {Signal: 9}, {Stdout: 3}, {Stderr: 3}, {Duration: 3}, {Mechanism: "cgroup2"}, {Reaped: 1}, {Replayed: "no"},
		} {
			_, err := MatchResult(fields).Match(failed())
			Expect(err).To(MatchError(HavePrefix("matchers: MatchResult, field ")))
		}
		_, err := MatchResult(ResultFields{Reaped: true}).Match(result(fake.Script{}))
		Expect(err).To(MatchError(ContainSubstring("nothing to judge")), "a question without an answer stays one")
	})
})
