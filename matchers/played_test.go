package matchers_test

import (
	"context"
	"errors"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

type playbook struct {
	unplayed []string
	misses   []error
}

func (p playbook) Unplayed() []string { return p.unplayed }
func (p playbook) Misses() []error    { return p.misses }

var _ = Describe("BeFullyPlayed", func() {
	scripted := func(rules [][]string, calls ...[]string) *fake.Runner {
		r := fake.New()
		for _, rule := range rules {
			r.On(rule...)
		}
		for _, call := range calls {
			_, _ = runner.Run(context.Background(), r, runner.Command(call[0], call[1:]...))
		}
		return r
	}
	many := make([]string, 30)
	for i := range many {
		many[i] = fmt.Sprintf("run %d of `git`", i+1)
	}
	verdicts("BeFullyPlayed", func() []verdict {
		return []verdict{
			{"all of it", BeFullyPlayed(), scripted([][]string{{"git"}}, []string{"git", "status"}), true},
			{"empty", BeFullyPlayed(), playbook{}, true},
			{"a rule is left", BeFullyPlayed(), scripted([][]string{{"git", "status"}, {"ls"}}, []string{"ls"}), false},
			{"a call was missed", BeFullyPlayed(), scripted([][]string{{"ls"}}, []string{"ls"}, []string{"git", "secret"}), false},
			{"both", BeFullyPlayed(), scripted([][]string{{"ls"}}, []string{"git", "secret"}), false},
			{"many", BeFullyPlayed(), playbook{unplayed: many}, false},
			{"a long miss", BeFullyPlayed(), playbook{misses: []error{errors.New("miss\n\tone\n\ttwo\x1b[2J\n3\n4\n5\n6\n7")}}, false},
		}
	})

	It("refuses other types and nil", func() {
		for _, actual := range []any{nil, 7, (*fake.Runner)(nil)} {
			_, err := BeFullyPlayed().Match(actual)
			Expect(err).To(HaveOccurred())
		}
	})
})
