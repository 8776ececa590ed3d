package matchers

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/procfs"
)

// HaveMembers matches a group, or a list of members, that holds processes, zombies included: any number, as many as an
// int says, or as a matcher of a []contain.Member says.
//
//	Eventually(ctx, group).Should(HaveMembers(3))
func HaveMembers(v ...any) types.GomegaMatcher {
	wanted := wantList[contain.Member]("HaveMembers", v, "member", "members")
	return &matcher{judge: func(actual any) (*judgement, error) {
		subject, members, err := observeMembers("HaveMembers", actual)
		if err != nil {
			return nil, err
		}
		return wanted.judge(subject, members, memberLine)
	}}
}

// HaveLeakedProcesses matches a group, or a list of members, that holds processes besides those to be ignored. A zombie
// counts: nobody has reaped it. Ignored is what an argument names: a [contain.Member] or a list of them (a snapshot, by
// process id and start time), a program's name, a process id, or a matcher of a contain.Member. Use it negated:
//
//	Eventually(ctx, group).ShouldNot(HaveLeakedProcesses())
//	Expect(group).NotTo(HaveLeakedProcesses(before, "gpg-agent"))
func HaveLeakedProcesses(ignore ...any) types.GomegaMatcher {
	ignored, wrong := newFilter("HaveLeakedProcesses", ignore)
	return &matcher{judge: func(actual any) (*judgement, error) {
		if wrong != nil {
			return nil, wrong
		}
		subject, members, err := observeMembers("HaveLeakedProcesses", actual)
		if err != nil {
			return nil, err
		}
		var leaked []contain.Member
		for _, m := range members {
			skip, err := ignored.match(m)
			if err != nil {
				return nil, err
			}
			if !skip {
				leaked = append(leaked, m)
			}
		}
		return &judgement{
			ok: len(leaked) > 0, subject: subject, want: "to have leaked processes",
			got: "it has none", found: fmt.Sprintf("it has %d", len(leaked)),
			evidence: []fact{{"ignored", ignoredCount(len(members) - len(leaked))}},
			details:  listed(leaked, memberLine),
		}, nil
	}}
}

func ignoredCount(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// observeMembers lists the members that actual holds now.
func observeMembers(matcher string, actual any) (subject string, members []contain.Member, err error) {
	const accepts = acceptsTree + ", or " + acceptsList
	o, err := observe(actual)
	if err == errUnknown || err == nil && o.members == nil || errors.As(err, new(*NotSettledError)) {
		return "", nil, wrongType(matcher, accepts, actual)
	}
	if err != nil {
		return "", nil, err
	}
	subject = "the list"
	if o.tree != nil {
		subject = "the group"
	}
	members, err = o.members()
	if err != nil {
		return "", nil, fmt.Errorf("matchers: %s cannot list the members: %w", matcher, err)
	}
	return subject, members, nil
}

// filter says which members do not count.
type filter []func(contain.Member) (bool, error)

func newFilter(name string, ignore []any) (filter, error) {
	var f filter
	is := func(test func(contain.Member) bool) {
		f = append(f, func(m contain.Member) (bool, error) { return test(m), nil })
	}
	for _, v := range ignore {
		switch v := v.(type) {
		case contain.Member:
			is(func(m contain.Member) bool { return same(m, v) })
		case []contain.Member:
			v = slices.Clone(v)
			is(func(m contain.Member) bool {
				return slices.ContainsFunc(v, func(other contain.Member) bool { return same(m, other) })
			})
		case string:
			is(func(m contain.Member) bool { return m.Name == v })
		case int:
			is(func(m contain.Member) bool { return m.PID == v })
		case types.GomegaMatcher:
			f = append(f, func(m contain.Member) (bool, error) { return v.Match(m) })
		default:
			return nil, fmt.Errorf("matchers: %s ignores contain.Members, names, process ids and what a matcher matches, not a %T", name, v)
		}
	}
	return f, nil
}

func same(a, b contain.Member) bool { return a.PID == b.PID && a.Start == b.Start }

func (f filter) match(m contain.Member) (bool, error) {
	for _, test := range f {
		if ok, err := test(m); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// BeRunning matches a process that is there and is no zombie: a [contain.Member], whose start time tells it from a later
// process with its id, or a bare process id, of which the matcher keeps the first process that it sees. It is one of
// three states that exclude each other; see [BeZombie] and [BeGone]. A process is looked up in /proc: on a system
// without it, every answer is [errors.ErrUnsupported].
func BeRunning() types.GomegaMatcher {
	return beInState("to be running", func(s processState) bool { return s == running })
}

// BeZombie matches a process that is dead and was not reaped. It takes what [BeRunning] takes.
func BeZombie() types.GomegaMatcher {
	return beInState("to be a zombie", func(s processState) bool { return s == zombie })
}

// BeGone matches a process that is not there any more. It takes what [BeRunning] takes. Once gone, a process does not
// come back, and Eventually ends at once where the answer is wrong.
//
//	members, err := group.Members()
//	...
//	Eventually(members[0]).Should(BeGone())
func BeGone() types.GomegaMatcher {
	return beInState("to be gone", func(s processState) bool { return s == gone })
}

type processState string

const (
	running processState = "running"
	zombie  processState = "a zombie: dead, and not reaped by its parent"
	gone    processState = "gone"
)

// beInState makes a matcher of one process.
func beInState(want string, is func(processState) bool) types.GomegaMatcher {
	var pinned atomic.Pointer[contain.Member]
	see := func(actual any) (contain.Member, processState, error) {
		id, ok := actual.(contain.Member)
		if !ok {
			pid, ok := actual.(int)
			if !ok {
				return id, "", wrongType("a matcher of a process", "a contain.Member or an int, the process id", actual)
			}
			if p := pinned.Load(); p != nil && p.PID == pid {
				id = *p
			} else {
				id = contain.Member{PID: pid}
			}
		}
		now, err := procfs.Look(id.PID)
		switch {
		case errors.Is(err, os.ErrProcessDone):
			return id, gone, nil
		case err != nil:
			return id, "", fmt.Errorf("matchers: cannot look process %d up: %w", id.PID, err)
		case id.Start != 0 && id.Start != now.Start:
			return id, gone, nil
		}
		pinned.CompareAndSwap(nil, &now)
		if !now.Alive() {
			return now, zombie, nil
		}
		return now, running, nil
	}
	return &matcher{
		final: func(actual any) bool { _, s, err := see(actual); return err == nil && s == gone },
		judge: func(actual any) (*judgement, error) {
			m, s, err := see(actual)
			if err != nil {
				return nil, err
			}
			j := &judgement{
				ok: is(s), subject: fmt.Sprintf("process %d", m.PID), want: want,
				got: "it is " + string(s), found: "it is",
			}
			if m.Name != "" {
				j.subject += " " + ticked(m.Name)
			}
			if s != gone && m.Parent != 0 {
				j.evidence = []fact{{"process", strings.TrimSpace(memberLine(m))}}
			}
			return j, nil
		},
	}
}
