package fake

import (
	"context"
	"strings"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/runner"
)

// Spy is a Runner without rules that passes every call on to next and keeps account of it: [Runner.Calls] are the
// commands, which print without their arguments. A rule added to a Spy answers in place of next.
func Spy(next runner.Runner) *Runner { return New().Fallback(next) }

// DryRun is a Runner that starts nothing and lets every command succeed at once without output. tell, if not nil, is
// called with a copy of each command, in the goroutine of the start, perhaps in several at once. A rule added to it
// answers as the rule says.
func DryRun(tell func(*runner.Cmd)) *Runner { return New().Fallback(dry{tell}) }

// dry is what a dry run passes calls on to.
type dry struct{ tell func(*runner.Cmd) }

func (d dry) Start(ctx context.Context, cmd *runner.Cmd) (*runner.Process, error) {
	if err := refusal(ctx, cmd); err != nil {
		return nil, err
	}
	c := newCall(cmd)
	if d.tell != nil {
		d.tell(c.cmd.Clone())
	}
	if err := c.start(); err != nil {
		return nil, err
	}
	return c.play(ctx, Script{})
}

// Deny is a Runner for code that must start nothing: every call is a [*DeniedError], kept in [Runner.Misses]. With the
// test that it is for, the test fails in the end if there was one, whoever swallowed the error.
//
//	report := build(fake.Deny(t), options) // from what is cached
//
// It speaks for the code that is given it: a program that uses another Runner is not held back.
func Deny(tb ...contain.TB) *Runner { return newRunner(&book{deny: true}, tb) }

// finish is the end of the test that r is for.
func (r *Runner) finish(tb contain.TB) {
	tb.Helper()
	for _, text := range r.Shadowed() {
		tb.Logf("fake: warning: %s: it can never answer", text)
	}
	misses, unplayed := r.Misses(), r.Unplayed()
	if tb.Failed() {
		for _, miss := range misses {
			tb.Logf("%v", miss)
		}
		return
	}
	var lines []string
	for _, miss := range misses {
		lines = append(lines, miss.Error())
	}
	for _, text := range unplayed {
		lines = append(lines, "fake: unused: "+text)
	}
	if len(lines) > 0 {
		tb.Fatalf("%s", strings.Join(lines, "\n"))
	}
}
