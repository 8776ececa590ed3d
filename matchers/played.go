package matchers

import (
	"fmt"
	"strings"

	"github.com/onsi/gomega/types"
)

// Playbook is what answers from a list and keeps account of it: a cassette player, or a [fake.Runner].
type Playbook interface {
	// Unplayed describes what is left of the list, an entry a string, without arguments or output.
	Unplayed() []string
	// Misses are the calls that nothing answered.
	Misses() []error
}

// BeFullyPlayed matches a [Playbook] of which everything was asked for, and which had an answer to every call.
//
//	Expect(player).To(BeFullyPlayed())
func BeFullyPlayed() types.GomegaMatcher {
	return &matcher{judge: func(actual any) (*judgement, error) {
		if err := rejectNil(actual); err != nil {
			return nil, err
		}
		book, ok := actual.(Playbook)
		if !ok {
			return nil, wrongType("BeFullyPlayed", "a cassette player, a *fake.Runner or another Playbook", actual)
		}
		unplayed, misses := book.Unplayed(), book.Misses()
		j := &judgement{
			ok:      len(unplayed) == 0 && len(misses) == 0,
			subject: "the playbook", want: "to be fully played", found: "it is: nothing is left, and no call was missed",
			evidence: []fact{{"unplayed", fmt.Sprint(len(unplayed))}},
			details:  listed(unplayed, func(s string) string { return plain(s, 300) }),
		}
		j.details = append(j.details, fmt.Sprintf("%-11s %d", "misses:", len(misses)))
		j.details = append(j.details, listed(misses, func(err error) string { return indented(err.Error()) })...)
		switch {
		case len(misses) > 0:
			j.hint = "the code under test made calls that nothing answers, whether or not it passed the errors on"
		case len(unplayed) > 0:
			j.hint = "the code under test no longer makes these calls: remove them, or find out why"
		}
		return j, nil
	}}
}

// indented makes the few first lines of a message safe to show, below each other.
func indented(message string) string {
	lines := strings.Split(message, "\n")
	const most = 6
	cut := len(lines) > most
	if cut {
		lines = lines[:most]
	}
	for i, line := range lines {
		lines[i] = plain(strings.ReplaceAll(line, "\t", "  "), 300)
	}
	if cut {
		lines = append(lines, "...")
	}
	return strings.Join(lines, "\n        ")
}
