package fake

import (
	"fmt"
	"slices"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/plaintext"
	"github.com/boombox-go/boombox/runner"
)

// Rule answers the calls whose program and first arguments are its prefix. It is made by [Runner.On] or
// [Runner.OnSequence]; its methods change it, and return it.
type Rule struct {
	owner  *Runner
	number int
	prefix contain.Sealed

	// The owner's lock guards what follows.
	when    func(*runner.Cmd) bool
	replies []func(*runner.Cmd) []Reply
	served  int
	// once gives each reply to one call, the last one too.
	once bool
}

// When narrows the rule to the calls that cond accepts too. By default there is no condition. cond gets a copy of the
// command, and runs in the goroutine of the start, under no lock, perhaps in several at once.
func (rule *Rule) When(cond func(*runner.Cmd) bool) *Rule {
	_, unlock := rule.owner.locked()
	defer unlock()
	rule.when = cond
	return rule
}

// Reply says what the rule answers. Each further Reply is for the next call; the last one serves all calls after it,
// unless the rule is made by [Runner.OnSequence].
func (rule *Rule) Reply(parts ...Reply) *Rule {
	parts = slices.Clone(parts)
	return rule.ReplyFunc(func(*runner.Cmd) []Reply { return parts })
}

// ReplyFunc is [Rule.Reply] with an answer that is made for the call. answer gets a copy of the command, and runs in
// the goroutine of the start, under no lock, perhaps in several at once. It may read the command's input, through
// [runner.Stdin.Open]; the start waits for that.
func (rule *Rule) ReplyFunc(answer func(*runner.Cmd) []Reply) *Rule {
	_, unlock := rule.owner.locked()
	defer unlock()
	rule.replies = append(rule.replies, answer)
	return rule
}

// String says where the rule stands and what it is for: of its prefix it shows the program and a count.
func (rule *Rule) String() string {
	prefix := rule.prefix.Reveal()
	if len(prefix) == 0 {
		return fmt.Sprintf("rule %d: any program", rule.number)
	}
	return fmt.Sprintf("rule %d: %q with %s", rule.number, prefix[0], plaintext.Count(len(prefix)-1, "argument"))
}

// matches reports whether the rule is for the call of cmd, whose argv begins with the program's base name.
func (rule *Rule) matches(argv []string, cmd *runner.Cmd) bool {
	if _, whole := rule.common(argv); !whole {
		return false
	}
	_, unlock := rule.owner.locked()
	when := rule.when
	unlock()
	return when == nil || when(cmd.Clone())
}

// common counts the leading elements that the prefix and argv share, and tells whether that is the whole prefix.
func (rule *Rule) common(argv []string) (n int, whole bool) {
	prefix := rule.prefix.Reveal()
	for n < len(prefix) && n < len(argv) && prefix[n] == argv[n] {
		n++
	}
	return n, n == len(prefix)
}

// serve counts the call and picks its answer, false when there is none left.
func (rule *Rule) serve() (answer func(*runner.Cmd) []Reply, ok bool) {
	_, unlock := rule.owner.locked()
	defer unlock()
	if rule.once && rule.served == max(len(rule.replies), 1) {
		return nil, false
	}
	rule.served++
	if len(rule.replies) == 0 {
		return func(*runner.Cmd) []Reply { return nil }, true
	}
	return rule.replies[min(rule.served, len(rule.replies))-1], true
}

// shadow is the first of the earlier rules that matches whatever rule does, nil when there is none. The owner's lock is
// held.
func (rule *Rule) shadow(earlier []*Rule) *Rule {
	prefix := rule.prefix.Reveal()
	for _, other := range earlier {
		if _, whole := other.common(prefix); whole && other.when == nil {
			return other
		}
	}
	return nil
}
