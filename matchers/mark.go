package matchers

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/plaintext"
	"github.com/boombox-go/boombox/internal/procfs"
	"github.com/boombox-go/boombox/runner"
)

// EnvMark is the environment variable of the marks that [NewMark] makes.
const EnvMark = "BOOMBOX_MARK"

// Mark is an environment entry, NAME=VALUE, that tells what one command started from everything else on the host: every
// descendant inherits it, wherever it went since and whatever holds it. It is a witness of its own, which asks no group.
// It is found in /proc, and does not see a process of another user, nor one whose environment was cleared.
type Mark string

// NewMark makes a mark that nobody else has.
func NewMark() Mark { return Mark(EnvMark + "=" + rand.Text()) }

// Put adds the mark to the environment of cmd, and returns cmd.
func (m Mark) Put(cmd *runner.Cmd) *runner.Cmd {
	name, value, _ := strings.Cut(string(m), "=")
	cmd.Env = cmd.Env.Set(name, value)
	return cmd
}

// Processes lists the living processes that carry the mark, other than our own. On a system without /proc it fails with
// [errors.ErrUnsupported].
func (m Mark) Processes() ([]contain.Member, error) { return procfs.Carrying(string(m)) }

// Kill kills each of processes that still carries the mark: no stranger is hit that got its id since.
func (m Mark) Kill(processes ...contain.Member) error {
	var errs []error
	for _, p := range processes {
		if err := procfs.End(p, string(m)); !errors.Is(err, os.ErrProcessDone) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// HaveEscapees matches where a living process carries the mark and is outside of the group; or, of a run that is over,
// where one is alive at all, since a run ends with its tree. Use it negated, on what was started with the mark:
//
//	mark := NewMark()
//	p, err := runner.Contained{Group: group}.Start(ctx, mark.Put(cmd))
//	...
//	Consistently(ctx, group).WithTimeout(time.Second).ShouldNot(HaveEscapees(mark))
//	Expect(p.Wait(ctx)).NotTo(HaveEscapees(mark))
//
// specs.Mark is the mark of all that a spec starts. A replayed run is an error in both directions, and so is a
// system without /proc.
func HaveEscapees(mark Mark) types.GomegaMatcher {
	const accepts = acceptsTree + ", or a run: " + acceptsRun
	return &matcher{judge: func(actual any) (*judgement, error) {
		if name, value, _ := strings.Cut(string(mark), "="); name == "" || value == "" {
			return nil, errors.New("matchers: HaveEscapees takes a Mark that NewMark or specs.Mark has made")
		}
		o, err := observeTree("HaveEscapees", actual, accepts)
		if err != nil {
			return nil, err
		}
		j := &judgement{subject: "the group"}
		switch {
		case o.result != nil && o.result.Replayed():
			return nil, errors.New("matchers: HaveEscapees cannot judge a replay: no process ran")
		case o.result != nil && unheld(o.result.Teardown()):
			return nil, errNothingHeld
		case o.result != nil:
			about := aboutRun(o.result)
			j = &about
		case o.tree == nil:
			return nil, wrongType("HaveEscapees", accepts, actual)
		default:
			j.evidence = []fact{{"contained", containedBy(o.tree.Mechanism())}}
		}
		// In this order: what is forked in between is in the later list, or in neither.
		escapees, err := mark.Processes()
		if err != nil {
			return nil, fmt.Errorf("matchers: HaveEscapees cannot look for marked processes: %w", err)
		}
		if o.tree != nil {
			members, err := o.members()
			if err != nil {
				return nil, fmt.Errorf("matchers: HaveEscapees cannot list the members: %w", err)
			}
			escapees = slices.DeleteFunc(escapees, func(p contain.Member) bool {
				return slices.ContainsFunc(members, func(m contain.Member) bool { return m.PID == p.PID }) || ended(p)
			})
		}
		j.ok = len(escapees) > 0
		j.want, j.got, j.found = "to have escapees", "none was found", "it has "+plaintext.Count(len(escapees), "escapee")
		j.details = listed(escapees, memberLine)
		return j, nil
	}}
}

// ended reports whether the process that was p is over by now.
func ended(p contain.Member) bool {
	now, err := procfs.Look(p.PID)
	return err != nil || now.Start != p.Start || !now.Alive()
}
