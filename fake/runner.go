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
	// deny is set when the Runner is made: whatever no rule answers is a [*DeniedError].
	deny bool

	mu       sync.Mutex
	rules    []*Rule
	calls    []*call
	misses   []error
	fallback runner.Runner
}

// New makes a Runner without rules: every call is an [*UnscriptedError] until [Runner.On] says otherwise.
//
// With the test that it is for, the test fails, when it and its later clean-ups are over, if a call found no answer,
// even one whose error the code under test swallowed, or if a reply was never asked for. A test that has failed already
// logs the calls without an answer. Rules that can never answer are logged either way.
//
//	r := fake.New(t)
//
// By default, without a test, [Runner.Misses] and [Runner.Unplayed] tell it to whoever asks.
func New(tb ...contain.TB) *Runner { return newRunner(&book{}, tb) }

func newRunner(b *book, tb []contain.TB) *Runner {
	r := &Runner{open: func() *book { return b }}
	for _, t := range tb {
		t.Cleanup(func() {
			t.Helper()
			r.finish(t)
		})
	}
	return r
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

// OnSequence is [Runner.On] for a rule that gives each of its replies once. The call after the last one is an
// [*UnscriptedError], as it would be with a cassette; no later rule and no fallback answers it.
func (r *Runner) OnSequence(prefix ...string) *Rule {
	rule := r.On(prefix...)
	_, unlock := r.locked()
	defer unlock()
	rule.once = true
	return rule
}

// Fallback passes the calls that no rule matches on to next: to a cassette that has the rest, say, or to the real
// runner. By default they are misses. It returns r.
//
//	r := fake.New(t).Fallback(cassette.ForTest(t))
//	r.On("git", "push").Reply(fake.Exit(1)) // what no recording shows
func (r *Runner) Fallback(next runner.Runner) *Runner {
	b, unlock := r.locked()
	defer unlock()
	b.fallback = next
	return r
}

// Start plays the answer of the first rule that matches cmd, as [Play] does. Without one it asks the fallback, and
// without a fallback it fails with an [*UnscriptedError]. What a command reads through [runner.StdinStream] is read to its end in the background, whatever
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
		return r.passOn(ctx, c, rules)
	}
	answer, ok := rules[i].serve()
	if !ok {
		return nil, r.miss(spent(rules, rules[i].number, cmd.Program(), argv))
	}
	s := script(answer(c.cmd.Clone()))
	if s.StartErr != nil {
		return nil, named(s.StartErr, cmd.Program())
	}
	if err := c.start(); err != nil {
		return nil, err
	}
	if !s.takesAnything() || !s.takesAnySize() {
		s.Mismatch = r.mismatch(s.Mismatch)
	}
	return c.play(ctx, s)
}

// record keeps the call and returns the rules as they are now.
func (r *Runner) record(c *call) []*Rule {
	b, unlock := r.locked()
	defer unlock()
	b.calls = append(b.calls, c)
	return slices.Clone(b.rules)
}

// passOn deals with a call that no rule matches.
func (r *Runner) passOn(ctx context.Context, c *call, rules []*Rule) (*runner.Process, error) {
	b, unlock := r.locked()
	next := b.fallback
	unlock()
	switch {
	case next != nil:
		if err := c.claim(); err != nil {
			return nil, err
		}
		return next.Start(ctx, c.passed())
	case b.deny:
		return nil, r.miss(&DeniedError{Program: c.cmd.Program(), Args: len(c.argv()) - 1})
	default:
		return nil, r.miss(unscripted(rules, c.cmd.Program(), c.argv()))
	}
}

func (r *Runner) miss(err error) error {
	b, unlock := r.locked()
	defer unlock()
	b.misses = append(b.misses, err)
	return err
}

// mismatch keeps account of input that a script does not read.
func (r *Runner) mismatch(tell func(*InputError) error) func(*InputError) error {
	return func(wrong *InputError) error {
		if tell == nil {
			return r.miss(wrong)
		}
		return r.miss(tell(wrong))
	}
}

// Calls are the commands of all starts so far, in order, refused ones included: copies that can be changed freely.
// Where a command had a reader as its input, the copy has what was read of it so far, and where its input is interactive,
// what was written.
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

// Misses are the [*UnscriptedError] or [*DeniedError] of all calls that nothing answered, and the [*InputError] of
// those that were told something else than their script reads, in order, whether or not the code under test passed them on.
func (r *Runner) Misses() []error {
	b, unlock := r.locked()
	defer unlock()
	return slices.Clone(b.misses)
}

// Unplayed describes the rules with replies that no call has asked for, and says of a rule that never can be asked which
// other one answers in its place.
func (r *Runner) Unplayed() []string {
	b, unlock := r.locked()
	defer unlock()
	var left []string
	for i, rule := range b.rules {
		if want := max(len(rule.replies), 1); rule.served < want {
			text := fmt.Sprintf("%s: %d of its %d replies played", rule, rule.served, want)
			if by := rule.shadow(b.rules[:i]); by != nil {
				text += fmt.Sprintf("; rule %d answers all of its calls", by.number)
			}
			left = append(left, text)
		}
	}
	return left
}

// Shadowed describes the rules that can never answer, because an earlier rule without a condition answers every call
// that they are for.
func (r *Runner) Shadowed() []string {
	b, unlock := r.locked()
	defer unlock()
	var list []string
	for i, rule := range b.rules {
		if by := rule.shadow(b.rules[:i]); by != nil {
			list = append(list, fmt.Sprintf("%s is shadowed by %s", rule, by))
		}
	}
	return list
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
