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
