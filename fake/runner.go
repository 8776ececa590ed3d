package fake

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/runner"
)

// Runner is a [runner.Runner] that answers by rules and starts no process. Make it with [New]. It is safe for
// concurrent use, and rules may be added while it is used. Its printers show counts alone.
type Runner struct {
	// open hides the rules and the calls from printers that walk the fields of whoever holds a Runner.
	open func() *book
}

// book is the account that a Runner keeps.
type book struct {
	mu     sync.Mutex
	rules  []*Rule
	calls  []*call
	misses []error
}

// New makes a Runner without rules: every call is an [*UnscriptedError] until [Runner.On] says otherwise.
func New() *Runner {
	b := &book{}
	return &Runner{open: func() *book { return b }}
}

// locked opens the book to read or to change it.
func (r *Runner) locked() (b *book, unlock func()) {
	b = r.open()
	b.mu.Lock()
	return b, b.mu.Unlock
}

// On adds a rule for the calls that begin with prefix: the program, compared by base name, then arguments, each
// compared whole. An empty prefix is for every call. Rules are tried in the order of On, and the first that matches
// answers. By default a rule exits with code 0 and writes nothing.
func (r *Runner) On(prefix ...string) *Rule {
	if len(prefix) > 0 {
		prefix = slices.Clone(prefix)
		prefix[0] = filepath.Base(prefix[0])
	}
	b, unlock := r.locked()
	defer unlock()
	rule := &Rule{owner: r, number: len(b.rules) + 1, prefix: contain.Seal(prefix...)}
	b.rules = append(b.rules, rule)
	return rule
}

// Start plays the answer of the first rule that matches cmd, as [Play] does. Without one it fails with an
// [*UnscriptedError]. What a command reads through [runner.StdinStream] is read to its end in the background, whatever
// the script does, so that whoever writes it is not held up.
func (r *Runner) Start(ctx context.Context, cmd *runner.Cmd) (*runner.Process, error) {
	c := newCall(cmd)
	rules := r.record(c)
	if err := refusal(ctx, cmd); err != nil {
		return nil, err
	}
	argv := c.argv()
	i := slices.IndexFunc(rules, func(rule *Rule) bool { return rule.matches(argv, c.cmd) })
	if i < 0 {
		return nil, r.miss(unscripted(rules, cmd.Program(), argv))
	}
	s := script(rules[i].serve()(c.cmd.Clone()))
	if s.StartErr != nil {
		return nil, named(s.StartErr, cmd.Program())
	}
	if err := c.start(); err != nil {
		return nil, err
	}
	played := cmd.Clone()
	played.Stdin = runner.Stdin{}
	return Play(ctx, played, s)
}

// record keeps the call and returns the rules as they are now.
func (r *Runner) record(c *call) []*Rule {
	b, unlock := r.locked()
	defer unlock()
	b.calls = append(b.calls, c)
	return slices.Clone(b.rules)
}

func (r *Runner) miss(err *UnscriptedError) error {
	b, unlock := r.locked()
	defer unlock()
	b.misses = append(b.misses, err)
	return err
}

// Calls are the commands of all starts so far, in order, refused ones included: copies that can be changed freely.
// Where a command had a reader as its input, the copy has what was read of it so far.
func (r *Runner) Calls() []*runner.Cmd {
	b, unlock := r.locked()
	calls := slices.Clone(b.calls)
	unlock()
	cmds := make([]*runner.Cmd, len(calls))
	for i, c := range calls {
		cmds[i] = c.command()
	}
	return cmds
}

// Misses are the [*UnscriptedError] of all calls that no rule answered, in order, whether or not the code under test
// passed them on.
func (r *Runner) Misses() []error {
	b, unlock := r.locked()
	defer unlock()
	return slices.Clone(b.misses)
}

// Unplayed describes the rules with replies that no call has asked for.
func (r *Runner) Unplayed() []string {
	b, unlock := r.locked()
	defer unlock()
	var left []string
	for _, rule := range b.rules {
		if want := max(len(rule.replies), 1); rule.served < want {
			left = append(left, fmt.Sprintf("%s: %d of its %d replies played", rule, rule.served, want))
		}
	}
	return left
}

// String counts rules, calls and misses.
func (r *Runner) String() string {
	b, unlock := r.locked()
	defer unlock()
	return fmt.Sprintf("fake.Runner with %d rules, %d calls, %d unscripted", len(b.rules), len(b.calls), len(b.misses))
}

// GoString is [Runner.String], for %#v.
func (r *Runner) GoString() string { return r.String() }

// GomegaString is [Runner.String], for gomega's formatter.
func (r *Runner) GomegaString() string { return r.String() }
