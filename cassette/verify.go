package cassette

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// ErrDrift: what commands do now differs from what is recorded. The error is a [*DriftError].
var ErrDrift = errors.New("cassette: the commands no longer do what is recorded")

// DriftError says what differs between a cassette and what was run live in mode verify.
type DriftError struct {
	// Path is the file.
	Path string
	// Changes are the runs that differ. Old counts in the file, New the live calls.
	Changes []Change
}

// Error implements error.
func (e *DriftError) Error() string {
	const most = 5
	var list []string
	for i, c := range e.Changes {
		if i == most {
			list = append(list, fmt.Sprintf("and %d more", len(e.Changes)-most))
			break
		}
		list = append(list, c.String())
	}
	return fmt.Sprintf("%v in %q: %s", ErrDrift, e.Path, strings.Join(list, "; "))
}

// Is makes the error match [ErrDrift].
func (e *DriftError) Is(target error) bool { return target == ErrDrift }

// verifier records without a file, and compares.
type verifier struct {
	state     func() *recording
	tape      func() *parsed
	matchers  []programMatcher
	tolerated []Class
}

func newVerifier(p *parsed, o options) (*verifier, error) {
	s, err := newRecording(o.inner, o)
	if err != nil {
		return nil, err
	}
	for _, t := range p.tokens {
		if !slices.Contains(s.tokens, t) {
			return nil, fmt.Errorf("%w: nothing was registered for <%s>, which the cassette uses", ErrToken, t.bare())
		}
	}
	path, err := filepath.Abs(p.path)
	if err != nil {
		return nil, fmt.Errorf("cassette: %w", err)
	}
	s.verify, s.file = true, &target{path: path}
	v := &verifier{func() *recording { return s }, func() *parsed { return p }, o.matchers, o.tolerated}
	if v.tolerated == nil {
		v.tolerated = []Class{ClassSame, ClassTiming}
	}
	return v, nil
}

// changes compares the file with what was run until now.
func (v *verifier) changes() ([]Change, error) {
	s := v.state()
	s.mu.Lock()
	defer s.mu.Unlock()
	live, err := s.assemble()
	if err != nil {
		return nil, err
	}
	return compare(v.tape(), live, v.matchers), nil
}

func (v *verifier) check() error {
	changes, err := v.changes()
	if err != nil {
		return err
	}
	changes = slices.DeleteFunc(changes, func(c Change) bool { return slices.Contains(v.tolerated, c.Class) })
	if len(changes) == 0 {
		return nil
	}
	return &DriftError{Path: v.tape().path, Changes: changes}
}

// Changes are, in mode verify, what differs between the file and what was run until now, runs that are the same included. In
// every other mode there are none.
func (d *Deck) Changes() ([]Change, error) {
	if d.verifier == nil {
		return nil, nil
	}
	return d.verifier.changes()
}
