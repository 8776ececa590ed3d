package matchers

import (
	"fmt"
	"strings"

	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/internal/plaintext"
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
			details:  listed(unplayed, func(s string) string { return plaintext.Bounded(s, 300) }),
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

// HaveMisses matches a [Playbook] that had no answer to some calls: to any number of them, to as many as an int says, or
// as a matcher of a []error says.
//
//	Expect(player).NotTo(HaveMisses())
//	Expect(player).To(HaveMisses(ConsistOf(MatchError(cassette.ErrMiss))))
func HaveMisses(v ...any) types.GomegaMatcher {
	wanted := wantList[error]("HaveMisses", v, "miss", "misses")
	return &matcher{judge: func(actual any) (*judgement, error) {
		if err := rejectNil(actual); err != nil {
			return nil, err
		}
		book, ok := actual.(Playbook)
		if !ok {
			return nil, wrongType("HaveMisses", "a cassette player, a *fake.Runner or another Playbook", actual)
		}
		misses := book.Misses()
		return wanted.judge("the playbook", misses, func(err error) string { return indented(err.Error()) })
	}}
}

// HaveInteractions matches a cassette that holds runs: any number of them, as many as an int says, or as a matcher of a
// []*cassette.Run says. It takes a [*cassette.Tape], the path of a cassette, or its content as a []byte. Its messages
// show number, program, outcome and amounts of each run.
//
//	Expect("testdata/session.cassette").To(HaveInteractions(3))
func HaveInteractions(v ...any) types.GomegaMatcher {
	wanted := wantList[*cassette.Run]("HaveInteractions", v, "run", "runs")
	return &matcher{judge: func(actual any) (*judgement, error) {
		tape, err := tapeOf("HaveInteractions", actual)
		if err != nil {
			return nil, err
		}
		return wanted.judge("the cassette", tape.Runs(), func(r *cassette.Run) string { return plaintext.Bounded(r.String(), 300) })
	}}
}

const acceptsTape = "a *cassette.Tape, the path of a cassette, or its content as a []byte"

// tapeOf reads the cassette that actual is.
func tapeOf(matcher string, actual any) (*cassette.Tape, error) {
	if err := rejectNil(actual); err != nil {
		return nil, err
	}
	switch a := actual.(type) {
	case *cassette.Tape:
		return a, nil
	case string:
		return cassette.Load(a)
	case []byte:
		return cassette.Parse(a)
	}
	return nil, wrongType(matcher, acceptsTape, actual)
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
		lines[i] = plaintext.Bounded(strings.ReplaceAll(line, "\t", "  "), 300)
	}
	if cut {
		lines = append(lines, "...")
	}
	return strings.Join(lines, "\n        ")
}
