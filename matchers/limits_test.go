package matchers_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// gauge is a group as these matchers see one.
type gauge struct {
	evidence contain.Evidence
	stats    contain.Stats
}

func (g gauge) Evidence() contain.Evidence { return g.evidence }
func (g gauge) Stats() contain.Stats       { return g.stats }

// capped is the Result of a run with a cap on memory.
func capped(t contain.Tripped, events, outside, peak *int64) *runner.Result {
	teardown := held
	teardown.Evidence = contain.Evidence{
		Limits:       []contain.LimitEvidence{{Kind: contain.LimitMemory, Max: 16 << 20, Effective: 16 << 20, Tripped: t, Events: events}},
		OutsideKills: outside,
	}
	teardown.Stats = contain.Stats{PeakMemory: peak}
	return result(fake.Script{Outcome: runner.Signalled(9), Teardown: teardown})
}

var _ = Describe("HaveHitLimit", func() {
	verdicts("HaveHitLimit", func() []verdict {
		hit := HaveHitLimit(contain.LimitMemory)
		return []verdict{
			{"hit", hit, capped(contain.HasTripped, ptr(3), ptr(0), nil), true},
			{"not hit", HaveHitLimit(contain.LimitMemory), capped(contain.NotTripped, ptr(0), ptr(0), nil), false},
			{"killed by the host", HaveHitLimit(contain.LimitMemory), capped(contain.NotTripped, ptr(0), ptr(1), nil), false},
			{"hit as often", HaveHitLimit(contain.LimitMemory, 3), capped(contain.HasTripped, ptr(3), ptr(0), nil), true},
			{"hit less often", HaveHitLimit(contain.LimitMemory, BeNumerically(">", 3)), capped(contain.HasTripped, ptr(3), ptr(0), nil), false},
			{"hit once, twice is wanted", HaveHitLimit(contain.LimitMemory, 2), capped(contain.HasTripped, ptr(1), ptr(0), nil), false},
			{"not hit, as often as wanted", HaveHitLimit(contain.LimitMemory, 0), capped(contain.NotTripped, ptr(0), ptr(0), nil), false},
			{"a group", HaveHitLimit(contain.LimitProcesses), gauge{evidence: held.Evidence}, false},
		}
	})

	DescribeTable("has no answer, in either direction",
		func(actual any, text string) {
			for _, m := range []types.GomegaMatcher{HaveHitLimit(contain.LimitMemory), Not(HaveHitLimit(contain.LimitMemory))} {
				_, err := m.Match(actual)
				Expect(err).To(MatchError(ContainSubstring(text)))
			}
		},
		Entry("without such a cap", ended(runner.Signalled(9)), "no cap on memory was in force"),
		Entry("when nobody counted", capped(contain.TripUnknown, nil, nil, nil), "nobody counted"),
		Entry("when no process ran", result(fake.Script{}), "no process ran"),
		Entry("about a nil group", (*contain.Group)(nil), "nil"),
	)

	It("has no answer, in either direction, to how often when nobody counted, and refuses what is no number", func() {
		for _, m := range []types.GomegaMatcher{HaveHitLimit(contain.LimitMemory, 1), Not(HaveHitLimit(contain.LimitMemory, 1))} {
			_, err := m.Match(capped(contain.HasTripped, nil, nil, nil))
			Expect(err).To(MatchError("matchers: HaveHitLimit cannot tell: nobody counted how often the cap on memory was hit"))
		}
		_, err := HaveHitLimit(contain.LimitMemory, "often").Match(capped(contain.HasTripped, ptr(1), nil, nil))
		Expect(err).To(MatchError("matchers: HaveHitLimit takes one int64 or a matcher, not string"))
	})
})

var _ = Describe("EnforceLimit", func() {
	verdicts("EnforceLimit", func() []verdict {
		return []verdict{
			{"in force", EnforceLimit(contain.LimitMemory), capped(contain.NotTripped, ptr(0), nil, nil), true},
			{"not in force", EnforceLimit(contain.LimitCPU), capped(contain.NotTripped, ptr(0), nil, nil), false},
			{"a group without", EnforceLimit(contain.LimitCPU), gauge{}, false},
		}
	})
})

var _ = Describe("HavePeak", func() {
	verdicts("HavePeak", func() []verdict {
		return []verdict{
			{"as wanted", HavePeak(contain.LimitMemory, BeNumerically("<", 16<<20)), capped(contain.NotTripped, ptr(0), nil, ptr(4096)), true},
			{"more", HavePeak(contain.LimitMemory, BeNumerically("<", 4096)), capped(contain.NotTripped, ptr(0), nil, ptr(4096)), false},
			{"a number", HavePeak(contain.LimitProcesses, 6), gauge{stats: held.Stats}, false},
		}
	})

	It("has no answer, in either direction, about what was not measured", func() {
		for _, kind := range []contain.LimitKind{contain.LimitMemory, contain.LimitCPU} {
			for _, m := range []types.GomegaMatcher{HavePeak(kind, 0), Not(HavePeak(kind, 0))} {
				_, err := m.Match(ended(runner.Exited(0)))
				Expect(err).To(MatchError(ContainSubstring("was not measured")))
			}
		}
	})
})

// cappedRun is a run of which the kernel said that it was refused two forks, scripted.
var cappedRun = fake.Scripted(fake.Script{Teardown: runner.Teardown{
	Mechanism: contain.Cgroup2, Verified: true,
	Evidence: contain.Evidence{Limits: []contain.LimitEvidence{
		{Kind: contain.LimitProcesses, Max: 20, Effective: 20, Tripped: contain.HasTripped, Events: ptr(2)},
	}},
	Stats: contain.Stats{PeakProcesses: ptr(20)},
}})

func ExampleHaveHitLimit() {
	g, r := example()
	r.On("tool").Reply(cappedRun)

	g.Expect(run(r)).To(HaveHitLimit(contain.LimitProcesses))
	g.Expect(run(r)).To(HaveHitLimit(contain.LimitProcesses, BeNumerically(">=", 2)))
	// Output:
}

func ExampleEnforceLimit() {
	g, r := example()
	r.On("tool").Reply(cappedRun)

	g.Expect(run(r)).To(EnforceLimit(contain.LimitProcesses))
	g.Expect(run(r)).NotTo(EnforceLimit(contain.LimitMemory))
	// Output:
}

func ExampleHavePeak() {
	g, r := example()
	r.On("tool").Reply(cappedRun)

	g.Expect(run(r)).To(HavePeak(contain.LimitProcesses, 20))
	g.Expect(run(r)).To(HavePeak(contain.LimitProcesses, BeNumerically("<=", 32)))
	// Output:
}
