package matchers

import (
	"fmt"
)

// NotSettledError says that a question about the end of a run came too early: the run is still going. It is an error
// and not a "no", so that a negated expectation cannot pass by asking too soon. Eventually polls on.
type NotSettledError struct {
	// Program is the base name of the program, "" when unknown.
	Program string
	// PID is the process id, 0 when there is none.
	PID int
}

func notSettled(run Run) *NotSettledError {
	e := &NotSettledError{}
	if p, ok := run.(interface{ Program() string }); ok {
		e.Program = p.Program()
	}
	if p, ok := run.(interface{ PID() (int, bool) }); ok {
		e.PID, _ = p.PID()
	}
	return e
}

func (e *NotSettledError) subject() string {
	s := "the run"
	if e.Program != "" {
		s = "run of " + ticked(e.Program)
	}
	if e.PID != 0 {
		s += fmt.Sprintf(" (pid %d)", e.PID)
	}
	return s
}

// Error says which run is still going, and how to wait for it.
func (e *NotSettledError) Error() string {
	return fmt.Sprintf("matchers: %s is not over yet; Wait for it, or use Eventually", e.subject())
}

// FormattedGomegaError is what Eventually shows when its time is up.
func (e *NotSettledError) FormattedGomegaError() string {
	return fmt.Sprintf("Expected %s to be over, and it is still going\n    %-11s %s", e.subject(),
		"hint:", "give Eventually more time, or the command a Timeout; the run is over when its whole tree is gone")
}
