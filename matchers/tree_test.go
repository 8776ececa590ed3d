package matchers_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("BeContainedBy", func() {
	verdicts("BeContainedBy", func() []verdict {
		weak := result(fake.Script{Teardown: runner.Teardown{Mechanism: contain.ProcessGroup, Verified: true}})
		return []verdict{
			{"run by that", BeContainedBy(contain.Cgroup2), ended(runner.Exited(0)), true},
			{"run by one of those", BeContainedBy(contain.Cgroup2, contain.JobObject), ended(runner.Exited(0)), true},
			{"run by anything", BeContainedBy(), weak, true},
			{"group by that", BeContainedBy(contain.Cgroup2), tree{mechanism: contain.Cgroup2}, true},
			{"run that stepped down", BeContainedBy(contain.Cgroup2), weak, false},
			{"group that stepped down", BeContainedBy(contain.Cgroup2), tree{mechanism: contain.ProcessGroup}, false},
			{"no process", BeContainedBy(), result(fake.Script{}), false},
		}
	})
})

var _ = Describe("HaveReapedTree", func() {
	verdicts("HaveReapedTree", func() []verdict {
		return []verdict{
			{"verified", HaveReapedTree(), ended(runner.TimedOut), true},
			{"not verified", HaveReapedTree(), result(fake.Script{Teardown: runner.Teardown{Mechanism: contain.ProcessGroup}}), false},
			{"survivors", HaveReapedTree(), result(fake.Script{Teardown: runner.Teardown{
				Mechanism: contain.ProcessGroup, Survivors: []contain.Member{sleeper, sleeper},
			}}), false},
			{"teardown failed", HaveReapedTree(), result(fake.Script{Teardown: runner.Teardown{
				Mechanism: contain.Cgroup2, Verified: true, Err: errors.New("cannot remove the leaf"),
			}}), false},
		}
	})

	It("has no verdict, in either direction, where nothing was held", func() {
		for _, m := range []any{HaveReapedTree(), HaveSurvivors()} {
			_, err := m.(interface{ Match(any) (bool, error) }).Match(result(fake.Script{}))
			Expect(err).To(MatchError(ContainSubstring("no process ran")))
		}
	})
})

var _ = Describe("HaveSurvivors", func() {
	many := make([]contain.Member, 20)
	for i := range many {
		many[i] = contain.Member{PID: 100 + i, Parent: 1, Name: "hydra\x1b[2J", State: 'R'}
	}
	verdicts("HaveSurvivors", func() []verdict {
		return []verdict{
			{"run with survivors", HaveSurvivors(), result(fake.Script{Teardown: runner.Teardown{
				Mechanism: contain.ProcessGroup, Survivors: []contain.Member{sleeper},
			}}), true},
			{"run without", HaveSurvivors(), ended(runner.Exited(0)), false},
			{"group with members", HaveSurvivors(), tree{mechanism: contain.Cgroup2, members: []contain.Member{sleeper, zombie}}, true},
			{"group with zombies alone", HaveSurvivors(), tree{mechanism: contain.Cgroup2, members: []contain.Member{zombie}}, false},
			{"list", HaveSurvivors(), []contain.Member{sleeper}, true},
			{"empty list", HaveSurvivors(), []contain.Member(nil), false},
			{"function", HaveSurvivors(), func() ([]contain.Member, error) { return many, nil }, true},
			{"function with a context", HaveSurvivors(), func(context.Context) ([]contain.Member, error) { return nil, nil }, false},
		}
	})

	It("passes on that the members cannot be listed", func() {
		cause := errors.New("no")
		for _, actual := range []any{tree{err: cause}, func() ([]contain.Member, error) { return nil, cause }} {
			_, err := HaveSurvivors().Match(actual)
			Expect(err).To(MatchError(cause))
			Expect(err).To(MatchError("matchers: HaveSurvivors cannot list the members: no"))
		}
	})

	It("polls the members of a group until they are gone", func() {
		members := []contain.Member{sleeper, zombie}
		poll := func() ([]contain.Member, error) {
			defer func() { members = members[:max(len(members)-1, 0)] }()
			return members, nil
		}
		Eventually(poll).ShouldNot(HaveSurvivors())
	})
})
