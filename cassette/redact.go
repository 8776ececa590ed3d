package cassette

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/boombox-go/boombox/runner"
)

// Hooks change what is recorded before the rules look at it. A nil hook changes nothing. The caller of a recorded
// command sees none of it: its result holds the real output. Arg, Dir and Stdin are used at replay too, so that the call
// is the one that was recorded: give the same hooks to both, and let equal values give equal results.
//
// A hook must not keep or change the bytes that it is given. One that panics refuses the save, or the call.
type Hooks struct {
	// Arg changes argument i, from 1. The program is left alone.
	Arg func(i int, arg string) string
	// Dir changes the working directory. It is not called when none is set.
	Dir func(dir string) string
	// Stdin changes the whole input. Of a conversation it gets the whole input when it is recorded, and each line, or
	// the rest at the end, when it is replayed.
	Stdin func(data []byte) []byte
	// Output changes one whole output stream.
	Output func(stream runner.StreamID, data []byte) []byte
}

// WithSecret registers a value that must not reach a file. A file then has <redacted:name:1> in its place, wherever it
// stands: in arguments, directory, input and output; as it is and in base64, hexadecimal, and escaped for URLs, JSON, HTML, Go and
// shells. It conflicts with a value of fewer than 4 bytes ([ErrSecret]). Give it to the replay as well when the command
// line or the input holds it; any value of the same name does there.
//
// The values of environment variables whose names say that they are secret are registered without being told.
func WithSecret(name, value string) Option {
	return func(o *options) (err error) {
		o.redaction.secrets, err = registerSecret(o.redaction.secrets, name, value)
		return err
	}
}

// WithHooks adds hooks. By default there are none. Several are applied in their order.
func WithHooks(h Hooks) Option {
	return func(o *options) error { o.redaction.hooks = append(o.redaction.hooks, h); return nil }
}

// WithLengthsKept makes placeholders as long as what they replace, for protocols that count bytes. By default they are
// as long as their text. Give it to the replay as well. It shows the length of a secret in the file.
func WithLengthsKept() Option {
	return func(o *options) error { o.redaction.keepLength = true; return nil }
}

// WithoutRule turns one built-in rule off, by the name that its placeholders and findings show, for recording, scanning
// and replay. By default all are on. A name that is no rule is an error.
func WithoutRule(name string) Option {
	return func(o *options) error {
		if !slices.ContainsFunc(builtin, func(r *rule) bool { return r.name == name }) && name != envRule && name != flagRule {
			return fmt.Errorf("cassette: there is no rule %s", showName(name))
		}
		o.redaction.off = append(o.redaction.off, name)
		return nil
	}
}

// WithoutRedaction records everything as it is and scans nothing. By default secrets are looked for. Hooks and
// registered secrets do not apply either.
func WithoutRedaction() Option {
	return func(o *options) error { o.redaction.none = true; return nil }
}

// redaction is what the options say.
type redaction struct {
	none, keepLength bool
	secrets          []literal
	hooks            []Hooks
	off              []string
}

// guard knows the rules and the secrets of one recorder or player. Its detector grows with the secrets that it hears
// of. It is safe for concurrent use.
type guard struct {
	redaction

	mu       sync.Mutex
	known    map[literal]bool
	secrets  []literal
	detector *detector
}

// newGuard is nil when nothing is to be redacted.
func newGuard(r redaction) *guard {
	if r.none {
		return nil
	}
	g := &guard{redaction: r, known: map[literal]bool{}}
	g.learn(r.secrets)
	g.learnEnv(os.Environ())
	return g
}

func (g *guard) learnEnv(environ []string) {
	if !slices.Contains(g.off, envRule) {
		g.learn(envSecrets(environ))
	}
}

func (g *guard) learn(list []literal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range list {
		if !g.known[l] {
			g.known[l] = true
			g.secrets = append(g.secrets, l)
			g.detector = nil
		}
	}
}

// rules is the detector for all that is known by now, and the literal secrets among it.
func (g *guard) rules() (*detector, []literal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.detector == nil {
		rules := literalRules(g.secrets)
		for _, r := range builtin {
			if !slices.Contains(g.off, r.name) {
				rules = append(rules, r)
			}
		}
		g.detector = newDetector(rules)
	}
	return g.detector, slices.Clone(g.secrets)
}

// redactor redacts one file. It numbers the values, so that equal ones stay equal. A nil redactor changes nothing.
type redactor struct {
	*guard
	detector *detector
	numbers  map[literal]int
	next     map[string]int
	// registered are the literal secrets.
	registered []literal
	// used says that something was replaced.
	used bool
}

func (g *guard) redactor() *redactor {
	if g == nil {
		return nil
	}
	detector, registered := g.rules()
	return &redactor{guard: g, detector: detector, registered: registered, numbers: map[literal]int{}, next: map[string]int{}}
}

// reserve counts on behind the placeholders of a text that is kept.
func (r *redactor) reserve(text []byte) {
	for at := bytes.Index(text, []byte(placeholderStart)); at >= 0; {
		if name, n, _ := readPlaceholder(text[at:]); n > 0 {
			r.next[name] = max(r.next[name], n)
		}
		next := bytes.Index(text[at+1:], []byte(placeholderStart))
		if next < 0 {
			return
		}
		at += 1 + next
	}
}

// placeholder appends what stands for a value.
func (r *redactor) placeholder(dst []byte, name string, value []byte, keepLength bool) []byte {
	r.used = true
	key := literal{name, string(value)}
	n, ok := r.numbers[key]
	if !ok {
		r.next[name]++
		n = r.next[name]
		r.numbers[key] = n
	}
	size := 0
	if keepLength {
		size = len(value)
	}
	return appendPlaceholder(dst, name, n, size)
}

// text redacts one text by the rules. marks are ascending places in it, and move along.
func (r *redactor) text(data []byte, marks []int, keepLength bool, allowed []string) []byte {
	// A replacement may bring two texts together that are one more secret: twice is enough for all but contrived ones,
	// and those are for the final scan.
	for range 3 {
		spans := r.detector.find(data, false)
		spans = slices.DeleteFunc(spans, func(s span) bool { return slices.Contains(allowed, s.rule.name) })
		if len(spans) == 0 {
			return data
		}
		var with []byte
		data = rewrite(data, marks, func(int) (int, int, []byte) {
			if len(spans) == 0 {
				return len(data), len(data), nil
			}
			s := spans[0]
			spans = spans[1:]
			with = r.placeholder(with[:0], s.rule.name, data[s.from:s.to], keepLength)
			return s.from, s.to, with
		})
	}
	return data
}

// flagRule is what the placeholders of values are called that follow a flag on the command line.
const flagRule = "flag"

// argv redacts a command line. Behind a flag that is named like a secret everything is one.
func (r *redactor) argv(argv []string) []string {
	out := slices.Clone(argv)
	whole := func(i, from int) {
		if value := out[i][from:]; value != "" && !maskedValue([]byte(value)) && !slices.Contains(r.off, flagRule) {
			out[i] = out[i][:from] + string(r.placeholder(nil, flagRule, []byte(value), r.keepLength))
		}
	}
	for i := 1; i < len(argv); i++ {
		name, value, assigned := strings.Cut(argv[i], "=")
		flag := strings.HasPrefix(name, "-")
		switch {
		case !assigned && flag && secretName(name, false) && i+1 < len(argv) && !strings.HasPrefix(argv[i+1], "-"):
			whole(i+1, 0)
		case assigned && secretName(name, !flag) && (flag || bareName([]byte(name)) && !noSecret(value)):
			whole(i, len(name)+1)
		case programOf(argv) == "curl" && (argv[i] == "-u" || argv[i] == "--user") && i+1 < len(argv):
			if user, _, found := strings.Cut(argv[i+1], ":"); found {
				whole(i+1, len(user)+1)
			}
		}
	}
	for i := range out {
		out[i] = string(r.text([]byte(out[i]), nil, r.keepLength, nil))
	}
	return out
}

// noSecret are values of an assignment on a command line that are none.
func noSecret(value string) bool {
	return len(value) < leastSecret || commonplace(value) || value[0] == '$'
}

// draft redacts a run. allowed are the rules that do not hold for each output stream.
func (r *redactor) draft(d *draft, allowed [2][]string) (*draft, error) {
	if r == nil {
		return d, nil
	}
	c := *d
	var err error
	stdin := d.stdin
	if d.interactive {
		stdin = nil
	}
	if c.argv, c.dir, c.stdin, err = r.call(d.argv, d.dir, stdin); err != nil {
		return nil, err
	}
	if d.interactive {
		if err := r.conversation(&c, d.stdin); err != nil {
			return nil, err
		}
	}
	for id := range c.stream {
		s := c.stream[id]
		keep := r.keepLength || s.dropped > 0 // what a cut stream holds must not become too short for its command
		err := guarded("output hook", func() {
			s.data, c.tape = translateStream(s, runner.StreamID(id), c.tape, func(data []byte, marks []int) []byte {
				for _, h := range r.hooks {
					if h.Output != nil {
						data = moveMarks(data, h.Output(runner.StreamID(id), slices.Clip(data)), marks)
					}
				}
				if s.dropped > 0 {
					data = r.torn(data, s.tail)
				}
				return r.text(data, marks, keep, allowed[id])
			})
		})
		if err != nil {
			return nil, err
		}
		c.stream[id] = s
	}
	c.effects = slices.Clone(d.effects)
	for i := range c.effects {
		e := &c.effects[i]
		e.path, e.data = string(r.text([]byte(e.path), nil, false, nil)), r.text(e.data, nil, r.keepLength, nil)
	}
	if f := d.end.failure; f != nil && f.text != "" {
		told := *f
		told.text = string(r.text([]byte(f.text), nil, false, nil))
		c.end.failure = &told
	}
	return &c, nil
}

// conversation redacts the input of a conversation, and moves its turns along.
func (r *redactor) conversation(c *draft, stdin []byte) error {
	return guarded("hook", func() {
		c.stdin, c.tape = translateStream(capture{data: stdin}, inStream, c.tape, func(data []byte, marks []int) []byte {
			for _, h := range r.hooks {
				if h.Stdin != nil {
					data = moveMarks(data, h.Stdin(slices.Clip(data)), marks)
				}
			}
			return r.text(data, marks, r.keepLength, nil)
		})
	})
}

// call redacts what is matched.
func (r *redactor) call(argv []string, dir string, stdin []byte) ([]string, string, []byte, error) {
	argv = slices.Clone(argv)
	err := guarded("hook", func() {
		for _, h := range r.hooks {
			for i := 1; h.Arg != nil && i < len(argv); i++ {
				argv[i] = h.Arg(i, argv[i])
			}
			if h.Dir != nil && dir != "" {
				dir = h.Dir(dir)
			}
			if h.Stdin != nil {
				stdin = h.Stdin(slices.Clip(stdin))
			}
		}
	})
	if err != nil {
		return nil, "", nil, err
	}
	dir = string(r.text([]byte(dir), nil, r.keepLength, nil))
	return r.argv(argv), dir, r.text(stdin, nil, r.keepLength, nil), nil
}

// torn masks the part of a registered secret that a cut left at the edge of a stream.
func (r *redactor) torn(data []byte, tail bool) []byte {
	longest := 0
	for _, l := range r.registered {
		v := l.value
		for n := min(len(v)-1, len(data)); n > longest && n >= leastSecret; n-- {
			if !tail && string(data[len(data)-n:]) == v[:n] || tail && string(data[:n]) == v[len(v)-n:] {
				longest = n
			}
		}
	}
	if longest == 0 {
		return data
	}
	r.used = true
	stars := bytes.Repeat([]byte{'*'}, longest)
	if tail {
		return append(stars, data[longest:]...)
	}
	return append(slices.Clone(data[:len(data)-longest]), stars...)
}

// moveMarks moves places in old to where they are in data, which a hook made of it: what lies inside the changed part
// moves to its end.
func moveMarks(old, data []byte, marks []int) []byte {
	head := common(old, data)
	tail := 0
	for tail < min(len(old), len(data))-head && old[len(old)-1-tail] == data[len(data)-1-tail] {
		tail++
	}
	for i, m := range marks {
		switch {
		case m <= head:
		case m >= len(old)-tail:
			marks[i] = m + len(data) - len(old)
		default:
			marks[i] = len(data) - tail
		}
	}
	return data
}

// errHook reports a hook that panicked. What it panicked with may hold what it was given, and is not shown.
var errHook = errors.New("cassette: a hook panicked")

func guarded(what string, f func()) (err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("%w (%s)", errHook, what)
		}
	}()
	f()
	return nil
}
