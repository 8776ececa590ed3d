package cassette

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/boombox-go/boombox/runner"
)

// ErrSecretFound: what was to be written holds a secret. The error is a [*SecretError].
var ErrSecretFound = errors.New("cassette: a secret would reach the file")

// Finding is a secret in a cassette: which rule knows it, and where. It never holds the value.
type Finding struct {
	// Rule is the name of the rule, or that of a registered secret.
	Rule string
	// Run is the number of the run, from 1; 0 is the head of the file. Line is where the run begins in the file, from 1, or the
	// line itself when the place is "line".
	Run, Line int
	// Program is the base name of the run's program.
	Program string
	// Place is argument, directory, variable, input, stdout, stderr, error, file or line.
	Place string
	// Number counts within the place, from 1: the argument, or the line of a stream; 0 where there is but one.
	Number int
}

// String names the place and the rule.
func (f Finding) String() string {
	place := f.Place
	switch {
	case f.Place == "line":
		place = fmt.Sprintf("line %d of the file", f.Line)
	case f.Number > 0 && f.Place != "argument":
		place += fmt.Sprintf(" line %d", f.Number)
	case f.Number > 0:
		place += fmt.Sprintf(" %d", f.Number)
	}
	if f.Run == 0 {
		return fmt.Sprintf("%s (rule %s)", place, f.Rule)
	}
	return fmt.Sprintf("run %d of %s, %s (rule %s)", f.Run, showName(f.Program), place, f.Rule)
}

// SecretError refuses to write a cassette that holds secrets. Nothing was written.
type SecretError struct {
	// Findings say where. They hold no value.
	Findings []Finding
}

// Error implements error.
func (e *SecretError) Error() string {
	const most = 3
	var places []string
	for i, f := range e.Findings {
		if i == most {
			places = append(places, fmt.Sprintf("and %d more", len(e.Findings)-most))
			break
		}
		places = append(places, f.String())
	}
	return fmt.Sprintf("%v: %s; register or scrub it, or allow it with a line x-allow in the run", ErrSecretFound, strings.Join(places, "; "))
}

// Is makes the error match [ErrSecretFound].
func (e *SecretError) Is(target error) bool { return target == ErrSecretFound }

// Scan looks for secrets in what the cassette holds, and in the file as it stands: by the built-in rules, by the values
// of environment variables whose names say that they are secret, and by those of [WithSecret]. What base64 holds is
// looked into. A line "x-allow RULE PLACE" in a run allows what one rule finds in one place of that run; [WithoutRule] turns a
// rule off.
func (t *Tape) Scan(opts ...Option) ([]Finding, error) {
	o, err := gather(opts)
	if err != nil {
		return nil, err
	}
	g := newGuard(o.redaction)
	if g == nil {
		return nil, nil
	}
	p := t.state()
	return g.scan(p, p.marshal()), nil
}

// scan looks through p, and through file, which holds the same as text.
func (g *guard) scan(p *parsed, file []byte) []Finding {
	if g == nil {
		return nil
	}
	r := g.redactor()
	s := scanner{detector: r.detector, redactor: r}
	for i := range p.runs {
		s.run(&p.runs[i], i+1)
	}
	s.file(p, file)
	return s.found
}

type scanner struct {
	detector *detector
	redactor *redactor
	found    []Finding
	run1     Finding     // what the findings of the run at hand begin with
	allowed  []allowance // what the run at hand allows
}

// allowance is one x-allow line.
type allowance struct{ rule, place string }

// places are what x-allow lines and findings call the parts of a run.
var places = []string{"argument", "directory", "variable", "input", "stdout", "stderr", "error", "file"}

// allowances are the x-allow lines of a run. One that does not read allows nothing.
func (r *runText) allowances() (list []allowance) {
	if !bytes.Contains(r.text, []byte("\n  x-allow ")) {
		return nil
	}
	for line := range bytes.Lines(r.text) {
		if rest, ok := bytes.CutPrefix(line, []byte("  x-allow ")); ok {
			rule, place, _ := strings.Cut(strings.TrimSuffix(string(rest), "\n"), " ")
			if slices.Contains(places, place) {
				list = append(list, allowance{rule, place})
			}
		}
	}
	return list
}

// allowedOutput are the rules that do not hold for each output stream.
func (r *runText) allowedOutput() (rules [2][]string) {
	for _, a := range r.allowances() {
		switch a.place {
		case "stdout":
			rules[runner.Stdout] = append(rules[runner.Stdout], a.rule)
		case "stderr":
			rules[runner.Stderr] = append(rules[runner.Stderr], a.rule)
		}
	}
	return rules
}

// allowLines are the x-allow lines as they are written.
func (r *runText) allowLines() (lines []byte) {
	for _, a := range r.allowances() {
		lines = fmt.Appendf(lines, "  x-allow %s %s\n", a.rule, a.place)
	}
	return lines
}

func (s *scanner) run(r *runText, number int) {
	argv := r.argv()
	s.run1 = Finding{Run: number, Line: r.line, Program: programOf(argv)}
	s.allowed = r.allowances()
	redacted := s.redactor.argv(argv)
	for i, arg := range argv {
		if redacted[i] == arg {
			continue
		}
		spans := s.detector.find([]byte(arg), false)
		for _, span := range spans {
			s.add(span.rule.name, "argument", i)
		}
		if len(spans) == 0 {
			s.add(flagRule, "argument", i)
		}
	}
	s.text([]byte(r.dir()), "directory", false)
	for _, name := range r.env() {
		s.text([]byte(name), "variable", false)
	}
	s.text(r.stream(secIn), "input", true)
	s.text(r.output(runner.Stdout), "stdout", true)
	s.text(r.output(runner.Stderr), "stderr", true)
	for _, e := range r.effects() {
		s.text([]byte(e.path), "file", false)
		s.text(e.data, "file", true)
	}
	if f := r.end.failure; f != nil {
		s.text([]byte(f.text), "error", false)
	}
}

func (s *scanner) text(data []byte, place string, lines bool) {
	for _, span := range s.detector.find(data, false) {
		number := 0
		if lines {
			number = 1 + bytes.Count(data[:span.from], []byte{'\n'})
		}
		s.add(span.rule.name, place, number)
	}
}

func (s *scanner) add(rule, place string, number int) {
	if slices.Contains(s.allowed, allowance{rule, place}) {
		return
	}
	f := s.run1
	f.Rule, f.Place, f.Number = rule, place, number
	s.found = append(s.found, f)
}

// file looks at the bytes of the file by the rules that hold in escaped text. It finds what is in no field: extension
// lines, the head, and whatever a fault of ours would put there.
func (s *scanner) file(p *parsed, file []byte) {
	for _, span := range s.detector.find(file, true) {
		line := 1 + bytes.Count(file[:span.from], []byte{'\n'})
		f := Finding{Rule: span.rule.name, Line: line, Place: "line"}
		i, found := slices.BinarySearchFunc(p.runs, line, func(r runText, line int) int { return r.line - line })
		if !found {
			i--
		}
		if i >= 0 {
			r := &p.runs[i]
			if slices.ContainsFunc(r.allowances(), func(a allowance) bool { return a.rule == f.Rule }) {
				continue
			}
			f.Run, f.Program = i+1, programOf(r.argv())
		}
		if !slices.ContainsFunc(s.found, func(have Finding) bool { return have.Run == f.Run && have.Rule == f.Rule }) {
			s.found = append(s.found, f) // not what was found in the run already
		}
	}
}
