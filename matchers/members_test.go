package matchers_test

import (
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/contain"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("HaveMembers", func() {
	two := tree{mechanism: contain.Cgroup2, members: []contain.Member{sleeper, zombie}}
	verdicts("HaveMembers", func() []verdict {
		return []verdict{
			{"any", HaveMembers(), two, true},
			{"as many", HaveMembers(2), two, true},
			{"that satisfy", HaveMembers(ContainElement(HaveField("Name", "sleep"))), two.members, true},
			{"none", HaveMembers(0), tree{}, true},
			{"none, and some are wanted", HaveMembers(), tree{}, false},
			{"other number", HaveMembers(3), two, false},
			{"that do not satisfy", HaveMembers(HaveLen(1)), two.Members, false},
		}
	})
})

var _ = Describe("HaveLeakedProcesses", func() {
	two := tree{mechanism: contain.Cgroup2, members: []contain.Member{sleeper, zombie}}
	recycled := sleeper
	recycled.Start++
	verdicts("HaveLeakedProcesses", func() []verdict {
		return []verdict{
			{"running and zombie", HaveLeakedProcesses(), two, true},
			{"beside a snapshot", HaveLeakedProcesses([]contain.Member{sleeper}), two, true},
			{"beside a recycled id", HaveLeakedProcesses(recycled, zombie), two, true},
			{"beside a name", HaveLeakedProcesses("sleep"), two.members, true},
			{"none", HaveLeakedProcesses(), tree{}, false},
			{"all in the snapshot", HaveLeakedProcesses([]contain.Member{sleeper, zombie}), two, false},
			{"all ignored", HaveLeakedProcesses("sleep", 4713), two, false},
			{"all ignored by a matcher", HaveLeakedProcesses(HaveField("Parent", BeNumerically(">", 0))), two.Members, false},
		}
	})
})

var _ = Describe("matchers of members", func() {
	for name, matcher := range map[string]func() types.GomegaMatcher{
		"HaveMembers":         func() types.GomegaMatcher { return HaveMembers() },
		"HaveLeakedProcesses": func() types.GomegaMatcher { return HaveLeakedProcesses() },
	} {
		It("refuse other types, nil, runs and lists that cannot be had: "+name, func() {
			for _, actual := range []any{nil, 7, "x", ended(runner.Exited(0)), live()} {
				for _, m := range []types.GomegaMatcher{matcher(), Not(matcher())} {
					_, err := m.Match(actual)
					Expect(err).To(MatchError(HavePrefix("matchers: "+name)), "%T", actual)
					Expect(err).To(MatchError(ContainSubstring("[]contain.Member")), "%T", actual)
				}
			}
			_, err := matcher().Match((*contain.Group)(nil))
			Expect(err).To(MatchError(ContainSubstring("nil *contain.Group")))
			cause := errors.New("no")
			_, err = matcher().Match(tree{err: cause})
			Expect(err).To(MatchError(cause))
		})
	}

	It("refuse arguments that they cannot use", func() {
		_, err := HaveMembers("x").Match(tree{})
		Expect(err).To(MatchError("matchers: HaveMembers takes one int or a matcher, not string"))
		_, err = HaveMembers(1, 2).Match(tree{})
		Expect(err).To(MatchError("matchers: HaveMembers takes one value at most, not 2"))
		_, err = HaveLeakedProcesses(1.5).Match(tree{})
		Expect(err).To(MatchError(ContainSubstring("not a float64")))
	})
})
