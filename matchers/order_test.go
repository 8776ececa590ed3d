package matchers_test

import (
	"regexp"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("HaveOutputInOrder", func() {
	const text = "loading\nwarning: slow\nready\n"
	verdicts("HaveOutputInOrder", func() []verdict {
		return []verdict{
			{"in order", HaveOutputInOrder("load", regexp.MustCompile("warn.*slow"), []byte("ready\n")), wrote(text, ""), true},
			{"of standard error alone is nothing here", HaveOutputInOrder(), wrote("", "x"), true},
			{"out of order", HaveOutputInOrder("ready", "warning"), wrote(text, ""), false},
			{"twice, and there once", HaveOutputInOrder("slow", "slow"), wrote(text, ""), false},
			{"missing", HaveOutputInOrder("loading", regexp.MustCompile("fail(ed)?")), wrote(text, ""), false},
			{"missing, redacted", HaveOutputInOrder("loading", "canary").Redacted(), wrote(text, ""), false},
			{"of no output", HaveOutputInOrder("x"), wrote("", ""), false},
		}
	})

	It("has no verdict, in either direction, where two streams have no order", func() {
		for _, m := range []types.GomegaMatcher{HaveOutputInOrder("a"), Not(HaveOutputInOrder("a"))} {
			_, err := m.Match(wrote("a", "b"))
			Expect(err).To(MatchError(ContainSubstring("see Cmd.Output.Merge")))
		}
	})

	It("refuses what is no piece", func() {
		for _, v := range []any{7, nil, (*regexp.Regexp)(nil)} {
			_, err := HaveOutputInOrder("a", v).Match(wrote("a", ""))
			Expect(err).To(MatchError(ContainSubstring("takes strings, []byte and *regexp.Regexp")))
		}
	})
})

func ExampleHaveOutputInOrder() {
	g, r := example()
	r.On("tool").Reply(fake.Lines("loading"), fake.Stderr("warning: slow\n"), fake.Lines("ready"))
	cmd := runner.Command("tool")
	cmd.Output.Merge = true

	g.Expect(runner.Run(ctx, r, cmd)).To(HaveOutputInOrder("loading", "warning", "ready"))
	// Output:
}
