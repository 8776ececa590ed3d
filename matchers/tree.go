package matchers

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/plaintext"
	"github.com/boombox-go/boombox/runner"
)

// errNothingHeld refuses to say anything of a tree that never was: neither "it is gone" nor "it is not".
var errNothingHeld = errors.New("matchers: no process ran, and the script says nothing of a tree (fake.Script.Teardown): nothing to judge")

// BeContainedBy matches a run or a group that is held by one of the mechanisms given; without any, by whatever there
// is. It catches a silent step down, from a cgroup to a process group say. On a replayed run it judges what the
// recording says.
//
//	Expect(result).To(BeContainedBy(contain.Cgroup2))
func BeContainedBy(mech ...contain.Mechanism) types.GomegaMatcher {
	mech = slices.Clone(mech)
	want := "to be contained"
	if len(mech) > 0 {
		names := make([]string, len(mech))
		for i, m := range mech {
			names[i] = string(m)
		}
		want += " by " + strings.Join(names, " or ")
	}
	return &matcher{final: settled, judge: func(actual any) (*judgement, error) {
		o, err := observeTree("BeContainedBy", actual, acceptsRun+", or "+acceptsTree)
		if err != nil {
			return nil, err
		}
		if o.result == nil && o.tree == nil {
			return nil, wrongType("BeContainedBy", acceptsRun+", or "+acceptsTree, actual)
		}
		j := &judgement{subject: "the group"}
		var got contain.Mechanism
		if o.result != nil {
			about := aboutRun(o.result)
			j, got = &about, o.result.Teardown().Mechanism
		} else {
			got = o.tree.Mechanism()
			j.got = containedBy(got)
		}
		j.want, j.found = want, "it is, by "+string(got)
		j.ok = got != "" && (len(mech) == 0 || slices.Contains(mech, got))
		if !j.ok && got == contain.ProcessGroup {
			j.hint = "the host refused what is stronger: `boombox doctor` and contain.Host say why; Cmd.Require makes that an error"
		}
		return j, nil
	}}
}

// HaveReapedTree matches a run whose teardown was verified: the tree was seen empty and no member survived. On a
// replayed run it judges what the recording says. A fake without a teardown is an error in both directions. A process
// group knows nothing of who has left it: ask for [BeContainedBy] as well, or for [HaveEscapees].
//
//	Expect(result).To(HaveReapedTree())
func HaveReapedTree() types.GomegaMatcher {
	return ofRun("HaveReapedTree", func(r *runner.Result, j *judgement) error {
		t := r.Teardown()
		if unheld(t) {
			return errNothingHeld
		}
		j.ok = t.Verified && len(t.Survivors) == 0 && t.Err == nil
		j.want, j.found = "to have reaped its whole tree", "it did"
		j.evidence = append([]fact{{"run", "it " + ending(r)}}, j.evidence...)
		switch n := len(t.Survivors); {
		case n > 0:
			j.got = plaintext.Count(n, "member") + " outlived the kill"
		case !t.Verified:
			j.got = "its tree was not seen empty"
		case t.Err != nil:
			j.got = "its teardown failed"
		}
		j.details = listed(t.Survivors, memberLine)
		j.hint = survivorHint(t.Mechanism, len(t.Survivors))
		return nil
	})
}

// HaveSurvivors matches where processes are alive: members that outlived the teardown of a run, or members of a group,
// now. A zombie is dead. Use it negated; with Eventually for a group that is still ending:
//
//	Expect(result).NotTo(HaveSurvivors())
//	Eventually(group.Members).ShouldNot(HaveSurvivors())
func HaveSurvivors() types.GomegaMatcher {
	const accepts = acceptsRun + ", " + acceptsTree + ", " + acceptsList
	return &matcher{final: settled, judge: func(actual any) (*judgement, error) {
		o, err := observeTree("HaveSurvivors", actual, accepts)
		if err != nil {
			return nil, err
		}
		j := &judgement{subject: "the list"}
		var alive []contain.Member
		if o.result != nil {
			t := o.result.Teardown()
			if unheld(t) {
				return nil, errNothingHeld
			}
			about := aboutRun(o.result)
			j, alive = &about, t.Survivors
		} else {
			members, err := o.members()
			if err != nil {
				return nil, fmt.Errorf("matchers: HaveSurvivors cannot list the members: %w", err)
			}
			alive = slices.DeleteFunc(slices.Clone(members), func(m contain.Member) bool { return !m.Alive() })
			if o.tree != nil {
				j.subject = "the group"
				j.evidence = []fact{{"contained", containedBy(o.tree.Mechanism())}}
			}
		}
		j.ok = len(alive) > 0
		j.want, j.got, j.found = "to have survivors", "none is alive", "it has "+fmt.Sprint(len(alive))
		j.details = listed(alive, memberLine)
		return j, nil
	}}
}

func containedBy(m contain.Mechanism) string {
	if m == "" {
		return "nothing holds it"
	}
	return "held by " + string(m)
}

func survivorHint(mechanism contain.Mechanism, survivors int) string {
	if survivors > 0 && mechanism == contain.ProcessGroup {
		return "a process group does not hold a child that leaves it; require contain.KillTree"
	}
	return ""
}

// observeTree is observe with an error that names what the matcher accepts.
func observeTree(matcher string, actual any, accepts string) (*observation, error) {
	o, err := observe(actual)
	if err == errUnknown {
		return nil, wrongType(matcher, accepts, actual)
	}
	return o, err
}
