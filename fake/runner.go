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
	mu     sync.Mutex
	rules  []*Rule
	calls  []*runner.Cmd
	misses []error
}

// New makes a Runner without rules: every call is an [*UnscriptedError] until [Runner.On] says otherwise.
func New() *Runner { return &Runner{} }

// Rule answers the calls whose program and first arguments are its prefix. Its methods change it, and return it.
type Rule struct {
	owner   *Runner
	prefix  contain.Sealed
	when    func(*runner.Cmd) bool
	replies []func(*runner.Cmd) []Reply
	served  int
}

// On adds a rule for the calls that begin with prefix: the program, compared by base name, then arguments, each
// compared whole. An empty prefix is for every call. Rules are tried in the order of On, and the first that matches
// answers. By default a rule exits with code 0 and writes nothing.
func (r *Runner) On(prefix ...string) *Rule {
	if len(prefix) > 0 {
		prefix = slices.Clone(prefix)
		prefix[0] = filepath.Base(prefix[0])
	}
	rule := &Rule{owner: r, prefix: contain.Seal(prefix...)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rules = append(r.rules, rule)
	return rule
}

// When narrows the rule to the calls that cond accepts too. By default there is no condition. cond runs in the
// goroutine of the start, under no lock, perhaps in several at once; it must not change the command.
func (rule *Rule) When(cond func(*runner.Cmd) bool) *Rule {
	rule.owner.mu.Lock()
	defer rule.owner.mu.Unlock()
	rule.when = cond
	return rule
}

// Reply says what the rule answers. Each further Reply is for the next call; the last one serves all calls after it.
func (rule *Rule) Reply(parts ...Reply) *Rule {
	parts = slices.Clone(parts)
	return rule.ReplyFunc(func(*runner.Cmd) []Reply { return parts })
}

// ReplyFunc is [Rule.Reply] with an answer made for the call. answer runs in the goroutine of the start, under no lock,
// perhaps in several at once; it must not change the command.
func (rule *Rule) ReplyFunc(answer func(*runner.Cmd) []Reply) *Rule {
	rule.owner.mu.Lock()
	defer rule.owner.mu.Unlock()
	rule.replies = append(rule.replies, answer)
	return rule
}

// String says where the rule stands and what it is for; of its prefix it shows the program and a count.
func (rule *Rule) String() string {
	rule.owner.mu.Lock()
	defer rule.owner.mu.Unlock()
	return rule.describe(slices.Index(rule.owner.rules, rule))
}

func (rule *Rule) describe(index int) string {
	prefix := rule.prefix.Reveal()
	if len(prefix) == 0 {
		return fmt.Sprintf("rule %d: any program", index+1)
	}
	return fmt.Sprintf("rule %d: %q with %d arguments", index+1, prefix[0], len(prefix)-1)
}

// Start plays the answer of the first rule that matches cmd; see [Play]. Without one it fails with an
// [*UnscriptedError].
func (r *Runner) Start(ctx context.Context, cmd *runner.Cmd) (*runner.Process, error) {
	call := cmd.Clone()
	rules := r.record(call)
	if err := refusal(ctx, cmd); err != nil {
		return nil, err
	}
	argv := call.Argv()
	argv[0] = call.Program()
	for _, rule := range rules {
		if rule.matches(argv, call) {
			s := script(rule.serve()(call))
			s.StartErr = named(s.StartErr, call.Program())
			return Play(ctx, cmd, s)
		}
	}
	miss := unscripted(rules, argv)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.misses = append(r.misses, miss)
	return nil, miss
}

// record keeps the call and returns the rules as they are now.
func (r *Runner) record(call *runner.Cmd) []*Rule {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call)
	return slices.Clone(r.rules)
}

func (rule *Rule) matches(argv []string, call *runner.Cmd) bool {
	if _, whole := rule.common(argv); !whole {
		return false
	}
	rule.owner.mu.Lock()
	when := rule.when
	rule.owner.mu.Unlock()
	return when == nil || when(call)
}

// common counts the leading elements that the prefix and argv share, and tells whether that is the whole prefix.
func (rule *Rule) common(argv []string) (n int, whole bool) {
	prefix := rule.prefix.Reveal()
	for n < len(prefix) && n < len(argv) && prefix[n] == argv[n] {
		n++
	}
	return n, n == len(prefix)
}

// serve counts the call and picks its answer.
func (rule *Rule) serve() func(*runner.Cmd) []Reply {
	rule.owner.mu.Lock()
	defer rule.owner.mu.Unlock()
	rule.served++
	if len(rule.replies) == 0 {
		return func(*runner.Cmd) []Reply { return nil }
	}
	return rule.replies[min(rule.served, len(rule.replies))-1]
}

// unscripted describes the miss of argv, whose first element is the program's base name.
func unscripted(rules []*Rule, argv []string) *UnscriptedError {
	miss := &UnscriptedError{Program: argv[0], Args: len(argv) - 1, Rules: len(rules)}
	best := 0
	for i, rule := range rules {
		n, whole := rule.common(argv)
		if whole {
			n = len(argv) + 1 // its condition said no: nothing is nearer
		}
		if n <= best {
			continue
		}
		best = n
		miss.Nearest = i + 1
		miss.Argument, miss.Missing = n, n == len(argv)
		if whole {
			miss.Argument, miss.Missing = 0, false
		}
	}
	return miss
}

// Calls are the commands of all starts so far, in order, refused ones included: copies that can be changed freely.
func (r *Runner) Calls() []*runner.Cmd {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := make([]*runner.Cmd, len(r.calls))
	for i, call := range r.calls {
		calls[i] = call.Clone()
	}
	return calls
}

// Misses are the [*UnscriptedError] of all calls that no rule answered, in order, whether or not the code under test
// passed them on.
func (r *Runner) Misses() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.misses)
}

// Unplayed describes the rules that have replies left which no call has asked for.
func (r *Runner) Unplayed() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var left []string
	for i, rule := range r.rules {
		if want := max(len(rule.replies), 1); rule.served < want {
			left = append(left, fmt.Sprintf("%s, %d of %d replies played", rule.describe(i), rule.served, want))
		}
	}
	return left
}

// String counts rules, calls and misses.
func (r *Runner) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("fake.Runner with %d rules, %d calls, %d unscripted", len(r.rules), len(r.calls), len(r.misses))
}

// GoString is [Runner.String], for %#v.
func (r *Runner) GoString() string { return r.String() }

// GomegaString is [Runner.String], for gomega's formatter.
func (r *Runner) GomegaString() string { return r.String() }
