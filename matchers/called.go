package matchers

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/boombox-go/boombox/internal/plaintext"
	"github.com/boombox-go/boombox/internal/sealed"
	"github.com/boombox-go/boombox/runner"
)

// Caller is what keeps account of the commands that it was asked to start: a [*fake.Runner], such as a fake.Spy.
type Caller interface {
	Calls() []*runner.Cmd
}

// CalledMatcher is what [HaveCalled] returns.
type CalledMatcher struct {
	*matcher
	often wanted[int64]
}

// HaveCalled matches a fake or a spy, or another [Caller], that was asked at least once for a command that begins with
// prefix: the program, compared by base name, then arguments, each compared whole. Without a prefix it is any command.
// Refused calls count. Its messages list the calls by program and number of arguments, and name the first argument that
// differs; they show none.
//
//	Expect(spy).To(HaveCalled("git", "push").Times(1))
//	Expect(spy).NotTo(HaveCalled("rm"))
func HaveCalled(prefix ...string) *CalledMatcher {
	prefix = slices.Clone(prefix)
	subject := "any command"
	if len(prefix) > 0 {
		prefix[0] = filepath.Base(prefix[0])
		subject = ticked(prefix[0])
	}
	switch n := len(prefix) - 1; {
	case n == 1:
		subject += " with the first argument given"
	case n > 1:
		subject += fmt.Sprintf(" with the %d first arguments given", n)
	}
	sealed := sealed.Of(prefix...)
	m := &CalledMatcher{}
	m.matcher = &matcher{judge: func(actual any) (*judgement, error) {
		if err := rejectNil(actual); err != nil {
			return nil, err
		}
		caller, ok := actual.(Caller)
		if !ok {
			return nil, wrongType("HaveCalled", "a *fake.Runner or another Caller", actual)
		}
		if m.often.err != nil {
			return nil, m.often.err
		}
		hits := int64(0)
		calls := caller.Calls()
		lines := make([]string, len(calls))
		for i, call := range calls {
			argv := call.Argv()
			argv[0] = filepath.Base(argv[0])
			lines[i] = fmt.Sprintf("call %d: %s with %s", i+1, ticked(argv[0]), plaintext.Count(len(argv)-1, "argument"))
			if n, hit := begins(argv, sealed.Reveal()); hit {
				hits++
				lines[i] += ", which is it"
			} else if n > 0 {
				lines[i] += fmt.Sprintf(", differs in argument %d", n)
			}
		}
		j := &judgement{
			ok: hits > 0, subject: "the runner", want: "to have been asked for " + subject,
			got: "it was, " + plaintext.Count(hits, "time"), details: listed(lines, func(s string) string { return s }),
		}
		if m.often.match != nil {
			ok, err := m.often.match(hits)
			if err != nil {
				return nil, err
			}
			j.ok, j.want = ok, j.want+" "+m.often.text
		}
		j.found = j.got
		if hits == 0 {
			j.got = "it was not, in " + plaintext.Count(len(calls), "call")
		}
		return j, nil
	}}
	return m
}

// Times asks that it was called so often: an int, or a matcher of an int64.
func (m *CalledMatcher) Times(n any) *CalledMatcher {
	m.often = wantTimes("HaveCalled", []any{n})
	return m
}

// begins reports whether argv begins with prefix, and else in which element it differs.
func begins(argv, prefix []string) (at int, ok bool) {
	for i, want := range prefix {
		if i == len(argv) || argv[i] != want {
			return i, false
		}
	}
	return 0, true
}
