package cassette

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/boombox-go/boombox/runner"
)

// Call is what a command is matched by, in the words of the file: tokens and placeholders stand for values.
type Call struct {
	// Argv is the base name of the program, and the arguments.
	Argv []string
	// Program is the program as it was named, which no comparison sees unless a matcher puts it into Argv.
	Program string
	// Dir is the working directory, "" when none was set.
	Dir string
	// Stdin is the input; Inherit says that it was the caller's own, which is not recorded. Interactive says that it is a conversation: Stdin is
	// then one line of it, or empty where the command as such is compared.
	Stdin                []byte
	Inherit, Interactive bool
	// PTY is the size of its terminal at the start, zero for none. Of a terminal that is given another size, the call is
	// compared as if it had begun with that.
	PTY runner.PTY
}

// Matcher says what does not matter about the calls of a program: it turns each call into the one that is compared, the
// recorded as well as the live one. What then still differs is what a miss tells. Nothing is guessed: calls that are
// not equal do not match.
type Matcher struct {
	// Name is what a miss calls it.
	Name string
	// Adapt returns the call that is compared. It must not change what it is given, and must give equal results for
	// equal calls. It is called by several goroutines.
	Adapt func(Call) Call
}

// WithMatchers applies matchers to the calls of one program, by its base name; "" means every program. By default everything
// that a key has matters. Give them to recorder and player: a recorder keeps the text of a run that still matches.
func WithMatchers(program string, matchers ...Matcher) Option {
	return func(o *options) error {
		for _, m := range matchers {
			o.matchers = append(o.matchers, programMatcher{program, m})
		}
		return nil
	}
}

type programMatcher struct {
	program string
	Matcher
}

// adapt applies the matchers of a call's program.
func adapt(matchers []programMatcher, c call) call {
	if len(matchers) == 0 {
		return c
	}
	program := programOf(c.argv)
	public := Call{
		Argv: append([]string{program}, c.argv[1:]...), Program: c.argv[0], Dir: c.dir, Stdin: c.stdin, Inherit: c.inherit, Interactive: c.interactive,
		PTY: c.pty,
	}
	for _, m := range matchers {
		if m.program == "" || m.program == program {
			public = m.Adapt(public)
		}
	}
	if len(public.Argv) == 0 {
		public.Argv = []string{program}
	}
	return call{public.Argv, public.Dir, public.Stdin, public.Inherit, public.Interactive, public.PTY}
}

// namesFor are the matchers in force for a program.
func namesFor(matchers []programMatcher, program string) (names []string) {
	for _, m := range matchers {
		if m.program == "" || m.program == program {
			names = append(names, m.Name)
		}
	}
	return names
}

// IgnoreFlag drops flags that take no value of their own: --color, and --color=always as well.
func IgnoreFlag(flags ...string) Matcher { return ignoreFlags("IgnoreFlag", flags, false) }

// IgnoreFlagValue drops flags with their values: -o FILE, --output FILE and --output=FILE.
func IgnoreFlagValue(flags ...string) Matcher { return ignoreFlags("IgnoreFlagValue", flags, true) }

func ignoreFlags(name string, flags []string, valued bool) Matcher {
	return Matcher{Name: name + "(" + strings.Join(flags, ", ") + ")", Adapt: func(c Call) Call {
		kept := []string{c.Argv[0]}
		for i := 1; i < len(c.Argv); i++ {
			flag, _, assigned := strings.Cut(c.Argv[i], "=")
			if !slices.Contains(flags, flag) {
				kept = append(kept, c.Argv[i])
			} else if valued && !assigned {
				i++
			}
		}
		c.Argv = kept
		return c
	}}
}

// ProgramPath wants the program to be named by the same path, for tests that use two versions of one tool: by default its base name
// alone matters. A miss counts the path as argument 1.
func ProgramPath() Matcher {
	return Matcher{Name: "ProgramPath", Adapt: func(c Call) Call {
		c.Argv = append([]string{c.Argv[0], c.Program}, c.Argv[1:]...)
		return c
	}}
}

// IgnoreOrder lets the arguments come in any order. An option and its value count as two.
func IgnoreOrder() Matcher {
	return Matcher{Name: "IgnoreOrder", Adapt: func(c Call) Call {
		args := slices.Sorted(slices.Values(c.Argv[1:]))
		c.Argv = append([]string{c.Argv[0]}, args...)
		return c
	}}
}

// IgnoreStdin lets the input be anything. Of a conversation, as many lines are wanted as were recorded, whatever they say.
func IgnoreStdin() Matcher {
	return Matcher{Name: "IgnoreStdin", Adapt: func(c Call) Call {
		c.Stdin, c.Inherit = nil, false
		return c
	}}
}

// IgnoreDir lets the working directory be anything.
func IgnoreDir() Matcher {
	return Matcher{Name: "IgnoreDir", Adapt: func(c Call) Call {
		c.Dir = ""
		return c
	}}
}

// JSONStdin compares the input as JSON, a conversation line by line: spaces and the order of keys do not matter. Input that is
// none is compared as it is.
func JSONStdin() Matcher {
	return Matcher{Name: "JSONStdin", Adapt: func(c Call) Call {
		decoder := json.NewDecoder(bytes.NewReader(c.Stdin))
		decoder.UseNumber() // not to take two large numbers for one
		var v any
		if decoder.Decode(&v) == nil && !decoder.More() {
			if data, err := json.Marshal(v); err == nil {
				c.Stdin = data
			}
		}
		return c
	}}
}

// AnyText lets the parts of arguments that pattern matches be anything: what it matches is compared as its source text.
func AnyText(pattern *regexp.Regexp) Matcher {
	return Matcher{Name: "AnyText(" + pattern.String() + ")", Adapt: func(c Call) Call {
		c.Argv = slices.Clone(c.Argv)
		for i := 1; i < len(c.Argv); i++ {
			c.Argv[i] = pattern.ReplaceAllLiteralString(c.Argv[i], pattern.String())
		}
		return c
	}}
}
