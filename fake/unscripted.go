package fake

import (
	"errors"
	"fmt"

	"github.com/boombox-go/boombox/internal/plaintext"
)

// ErrUnscripted: no rule answers the call. The error is an [*UnscriptedError]. It is never an [exec.ErrNotFound], nor a
// [runner.ErrNotFound]: a gap in the test is not a missing program.
var ErrUnscripted = errors.New("fake: unscripted call")

// UnscriptedError reports a call that no rule of a [Runner] answers. It shows no argument: only which one differs.
type UnscriptedError struct {
	// Program is the base name of the program that was called, Args how many arguments it got.
	Program string
	Args    int
	// Rules is how many rules the runner has.
	Rules int
	// Nearest is the rule that comes nearest, counted from 1 in the order of On; 0 when there is none for this program.
	Nearest int
	// Argument is the argument that differs from Nearest's, counted from 1; 0 when its prefix matches and its condition
	// said no.
	Argument int
	// Missing says that the call has no such argument at all: it is shorter than the prefix.
	Missing bool
	// Spent says that Nearest is for this call, and has given all of its replies; see [Runner.OnSequence].
	Spent bool
}

// Error implements error.
func (e *UnscriptedError) Error() string {
	s := fmt.Sprintf("fake: unscripted call of %q with %s: ", e.Program, plaintext.Count(e.Args, "argument"))
	switch {
	case e.Rules == 0:
		s += "the runner has no rules"
	case e.Spent:
		s += fmt.Sprintf("rule %d of %d is for it, and has no reply left", e.Nearest, e.Rules)
	case e.Nearest == 0:
		s += fmt.Sprintf("none of %s is for this program", plaintext.Count(e.Rules, "rule"))
	case e.Argument == 0:
		s += fmt.Sprintf("rule %d of %d has the same prefix, and its condition said no", e.Nearest, e.Rules)
	case e.Missing:
		s += fmt.Sprintf("rule %d of %d is nearest, and wants an argument %d", e.Nearest, e.Rules, e.Argument)
	default:
		s += fmt.Sprintf("rule %d of %d is nearest, and differs in argument %d", e.Nearest, e.Rules, e.Argument)
	}
	return s
}

// Is makes the error match [ErrUnscripted].
func (e *UnscriptedError) Is(target error) bool { return target == ErrUnscripted }

// unscripted describes the call that none of the rules matches. argv begins with the program's base name.
func unscripted(rules []*Rule, program string, argv []string) *UnscriptedError {
	miss := &UnscriptedError{Program: program, Args: len(argv) - 1, Rules: len(rules)}
	best := 0
	for _, rule := range rules {
		n, whole := rule.common(argv)
		switch {
		case whole && best <= len(argv):
			// Only its condition said no: nothing is nearer.
			best, miss.Nearest, miss.Argument, miss.Missing = len(argv)+1, rule.number, 0, false
		case n > best:
			best, miss.Nearest, miss.Argument, miss.Missing = n, rule.number, n, n == len(argv)
		}
	}
	return miss
}

// spent describes the call for which the rule called number has no reply left.
func spent(rules []*Rule, number int, program string, argv []string) *UnscriptedError {
	return &UnscriptedError{Program: program, Args: len(argv) - 1, Rules: len(rules), Nearest: number, Spent: true}
}

// ErrDenied: nothing was to be started. The error is a [*DeniedError]. Like [ErrUnscripted] it is never an
// [exec.ErrNotFound].
var ErrDenied = errors.New("fake: start denied")

// DeniedError reports a call of a Runner made by [Deny]. It shows no argument.
type DeniedError struct {
	// Program is the base name of the program that was called, Args how many arguments it got.
	Program string
	Args    int
}

// Error implements error.
func (e *DeniedError) Error() string {
	return fmt.Sprintf("fake: start of %q with %s denied: this test is to start nothing", e.Program, plaintext.Count(e.Args, "argument"))
}

// Is makes the error match [ErrDenied].
func (e *DeniedError) Is(target error) bool { return target == ErrDenied }
