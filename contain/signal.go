package contain

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/boombox-go/boombox/internal/signame"
)

// SignalError is a signal that some members could not be sent.
type SignalError struct {
	Signal syscall.Signal
	// Sent is how many members were sent it all the same, -1 when unknown.
	Sent int
	// Refused are the others.
	Refused []Refusal
}

// Refusal is one member that could not be sent a signal: one that has become another user, say.
type Refusal struct {
	// Member has no more than an id, or not even that, when it is not to be seen from our pid namespace.
	Member Member
	// Err is the system's reason, a [syscall.Errno] where there is one.
	Err error
}

// Error implements error.
func (e *SignalError) Error() string {
	names := make([]string, 0, len(e.Refused))
	for _, r := range e.Refused {
		names = append(names, fmt.Sprintf("%s: %v", r.Member, r.Err))
	}
	sent := "some"
	if e.Sent >= 0 {
		sent = strconv.Itoa(e.Sent)
	}
	return fmt.Sprintf("contain: %s could not be sent to %d members (%s were): %s", signame.Of(e.Signal), len(e.Refused),
		sent, strings.Join(names, ", "))
}

// Unwrap gives the reasons.
func (e *SignalError) Unwrap() []error {
	errs := make([]error, 0, len(e.Refused))
	for _, r := range e.Refused {
		errs = append(errs, r.Err)
	}
	return errs
}

// Signal sends sig to every member of every tree. A member that is born meanwhile may be missed; a kill misses none. It
// returns [os.ErrProcessDone] when there was nobody to send it to, and a [*SignalError] when somebody could not be sent
// it. In a frozen group a signal waits for the thaw, all but SIGKILL.
func (g *Group) Signal(sig syscall.Signal) error {
	var sum tally
	var errs []error
	for _, c := range g.snapshot() {
		t, err := c.tree.signal(sig)
		sum.add(t)
		errs = append(errs, err)
	}
	return sum.verdict(sig, errors.Join(errs...))
}

// tally is what became of a signal to many.
type tally struct {
	sent    int // -1 when unknown
	refused []Refusal
}

func (t *tally) add(more tally) {
	if t.sent < 0 || more.sent < 0 {
		t.sent = -1
	} else {
		t.sent += more.sent
	}
	t.refused = append(t.refused, more.refused...)
}

// count takes in what became of the signal to one member. One that has ended does not count.
func (t *tally) count(m Member, err error) {
	switch {
	case err == nil:
		t.sent++
	case !errors.Is(err, os.ErrProcessDone):
		t.refused = append(t.refused, Refusal{Member: m, Err: bare(err)})
	}
}

// verdict is the error of a signal. err kept the members from being looked up.
func (t tally) verdict(sig syscall.Signal, err error) error {
	switch {
	case len(t.refused) > 0:
		return also(&SignalError{Signal: sig, Sent: t.sent, Refused: t.refused}, err)
	case err != nil:
		return bare(err)
	case t.sent == 0:
		return os.ErrProcessDone
	}
	return nil
}
