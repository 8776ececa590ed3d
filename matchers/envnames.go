package matchers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/internal/plaintext"
	"github.com/boombox-go/boombox/runner"
)

// HaveEnvNames matches an environment with these variables, and no other: names, in any order, or a lone matcher of the
// sorted []string of names. It takes a [*runner.Cmd], whose environment is that of a start made now; a [*cassette.Run],
// which knows the names of the variables that its command set or removed; and a run whose standard output is a list of
// names, one a line, as a child that looks around prints it. The child's word is the better proof. Values are never
// looked at, nor shown.
//
//	Expect(cmd).To(HaveEnvNames("PATH", "MODE"))
//	Expect(result).To(HaveEnvNames(Not(ContainElement("AWS_SECRET_ACCESS_KEY"))))
func HaveEnvNames(v ...any) types.GomegaMatcher {
	names, sub, wrong := wantNames(v)
	return &matcher{final: settled, judge: func(actual any) (*judgement, error) {
		if wrong != nil {
			return nil, wrong
		}
		got, subject, err := envNames(actual)
		if err != nil {
			return nil, err
		}
		j := &judgement{
			subject: subject, want: "to have the " + plaintext.Count(len(names), "environment variable") + " given",
			got: "it has " + fmt.Sprint(len(got)), found: "it has them",
		}
		if sub != nil {
			j.want, j.found = "to have environment variables that satisfy "+describe(sub), "it has"
			j.details = listed(got, func(name string) string { return plaintext.Bounded(name, 120) })
			j.ok, err = sub.Match(got)
			return j, err
		}
		missing, extra := lacking(names, got), lacking(got, names)
		j.ok = len(missing)+len(extra) == 0
		j.evidence = []fact{{"missing", joined(missing)}, {"not wanted", joined(extra)}}
		return j, nil
	}}
}

func wantNames(v []any) (names []string, sub types.GomegaMatcher, wrong error) {
	if len(v) == 1 {
		if m, ok := v[0].(types.GomegaMatcher); ok {
			return nil, m, nil
		}
	}
	for _, v := range v {
		name, ok := v.(string)
		if !ok {
			return nil, nil, fmt.Errorf("matchers: HaveEnvNames takes names, or one matcher, not %T", v)
		}
		names = append(names, name)
	}
	return names, nil, nil
}

// envNames are the sorted names that actual has.
func envNames(actual any) (names []string, subject string, err error) {
	const accepts = "*runner.Cmd, *cassette.Run, or a run that prints names: " + acceptsRun
	if err := rejectNil(actual); err != nil {
		return nil, "", err
	}
	switch a := actual.(type) {
	case *runner.Cmd:
		for _, entry := range a.Env.Reveal() {
			// Windows keeps names that begin with an equals sign.
			name, _, _ := strings.Cut(entry[1:], "=")
			names = append(names, entry[:1]+name)
		}
		subject = "command " + ticked(a.Program())
	case *cassette.Run:
		names, subject = a.EnvNames(), "recorded run of "+ticked(a.Program())
	default:
		o, err := observe(actual)
		if err == errUnknown || err == nil && o.result == nil {
			return nil, "", wrongType("HaveEnvNames", accepts, actual)
		}
		if err != nil {
			return nil, "", err
		}
		names, subject = splitLines(o.result.Stdout()), "run of "+ticked(o.result.Program())
	}
	slices.Sort(names)
	return names, subject, nil
}

// lacking are the elements of list that other does not have.
func lacking(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

func joined(names []string) string { return plaintext.Bounded(strings.Join(names, " "), 300) }
