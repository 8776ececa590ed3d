package runner

import (
	"os"
	"slices"
	"strings"

	"github.com/boombox-go/boombox/contain"
)

// Env says what environment a child gets. It is a value: each method returns a changed copy. The zero value inherits
// ours, as it is at each start. Values are sealed: no printer shows them, only names. On Windows names are compared
// without regard to case, and SYSTEMROOT, without which hardly a program starts, is always there unless it is removed
// by name.
type Env struct {
	open func() *envSpec
}

// envSpec is what an Env holds. It is never changed once an Env holds it.
type envSpec struct {
	kind  envKind
	allow []string
	// edits are the calls of Set and Remove, at most one a name, the last.
	edits []envEdit
}

type envKind int

const (
	envInherit envKind = iota
	envClean
	envAllow
)

type envEdit struct {
	key, value string
	remove     bool
}

func (s *envSpec) seal() Env { return Env{open: func() *envSpec { return s }} }

func (e Env) spec() *envSpec {
	if e.open == nil {
		return &envSpec{}
	}
	return e.open()
}

// InheritEnv is the zero Env: everything that this process has when the command starts.
func InheritEnv() Env { return Env{} }

// CleanEnv is an empty environment. It has no PATH either: name the program by its path, or set one.
func CleanEnv() Env { return (&envSpec{kind: envClean}).seal() }

// AllowEnv inherits the named variables alone, read anew at each start. A name that is unset then is absent, not empty.
func AllowEnv(names ...string) Env {
	return (&envSpec{kind: envAllow, allow: slices.Clone(names)}).seal()
}

// Set adds or replaces one variable. An empty key, a key with "=" or NUL, or a value with NUL, refuses the start with
// an [*InvalidError].
func (e Env) Set(key, value string) Env { return e.edit(envEdit{key: key, value: value}) }

// Remove drops one variable.
func (e Env) Remove(key string) Env { return e.edit(envEdit{key: key, remove: true}) }

func (e Env) edit(edit envEdit) Env {
	old := e.spec()
	edits := make([]envEdit, 0, len(old.edits)+1)
	for _, o := range old.edits {
		if envFold(o.key) != envFold(edit.key) {
			edits = append(edits, o)
		}
	}
	return (&envSpec{kind: old.kind, allow: old.allow, edits: append(edits, edit)}).seal()
}

// Names lists, sorted, the names of the variables that Set and Remove override: what a cassette keeps.
func (e Env) Names() []string {
	names := []string{}
	for _, edit := range e.spec().edits {
		names = append(names, edit.key)
	}
	slices.Sort(names)
	return names
}

// Reveal is the whole environment of a start made now, KEY=VALUE, sorted by key. It is the one way to see values.
func (e Env) Reveal() []string { return e.resolve().entries() }

// Lookup is the value of one variable in the environment of a start made now.
func (e Env) Lookup(key string) (string, bool) { return e.resolve().find(key) }

// envList is the environment of one start: each name once, sorted.
type envList []envEdit

func (l envList) entries() []string {
	list := make([]string, 0, len(l))
	for _, v := range l {
		list = append(list, v.key+"="+v.value)
	}
	return list
}

func (l envList) seal() contain.Sealed { return contain.Seal(l.entries()...) }

func (l envList) find(key string) (string, bool) {
	for _, v := range l {
		if envFold(v.key) == envFold(key) {
			return v.value, true
		}
	}
	return "", false
}

// lookup is the value of key, "" when it is not set.
func (l envList) lookup(key string) string {
	value, _ := l.find(key)
	return value
}

// resolve is the environment now.
func (e Env) resolve() envList {
	spec := e.spec()
	vars := make(map[string]envEdit)
	for _, entry := range os.Environ() {
		// Windows keeps the working directory of each drive in entries such as "=C:=C:\dir".
		key, value, ok := strings.Cut(entry[min(1, len(entry)):], "=")
		if !ok {
			continue
		}
		key = entry[:1] + key
		if spec.inherits(key) {
			vars[envFold(key)] = envEdit{key: key, value: value}
		}
	}
	for _, edit := range spec.edits {
		if edit.remove {
			delete(vars, envFold(edit.key))
		} else {
			vars[envFold(edit.key)] = edit
		}
	}
	list := make(envList, 0, len(vars))
	for _, v := range vars {
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b envEdit) int { return strings.Compare(a.key, b.key) })
	return list
}

func (s *envSpec) inherits(key string) bool {
	switch s.kind {
	case envClean:
		return envAlways(key)
	case envAllow:
		return envAlways(key) || slices.ContainsFunc(s.allow, func(name string) bool { return envFold(name) == envFold(key) })
	default:
		return true
	}
}

// invalid says why no child can get this environment, "" when one can. It shows no key: a key with "=" in it may well
// hold the value.
func (e Env) invalid() string {
	spec := e.spec()
	for _, name := range spec.allow {
		if badEnvKey(name) {
			return `an allowed name is empty or holds "=" or NUL`
		}
	}
	for _, edit := range spec.edits {
		if badEnvKey(edit.key) {
			return `a name is empty or holds "=" or NUL`
		}
		if strings.Contains(edit.value, "\x00") {
			return "a value holds NUL"
		}
	}
	return ""
}

func badEnvKey(key string) bool { return key == "" || strings.ContainsAny(key, "=\x00") }

// describe is what the printers show.
func (e Env) describe() string {
	kind := [...]string{envInherit: "inherited environment", envClean: "clean environment", envAllow: "allow-listed environment"}[e.spec().kind]
	var b strings.Builder
	b.WriteString(kind)
	for i, name := range e.Names() {
		if i == 0 {
			b.WriteString(" with ")
		} else {
			b.WriteString(", ")
		}
		if badEnvKey(name) {
			name = "(invalid name)"
		}
		b.WriteString(plain(name))
	}
	return b.String()
}
