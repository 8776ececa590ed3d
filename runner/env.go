package runner

// Env says what environment a child gets. It is a value: each method returns a changed copy. The zero value inherits
// ours, as it is at each start. Values are sealed: no printer shows them, only names.
type Env struct{}

// InheritEnv is the zero Env: everything that this process has when the command starts.
func InheritEnv() Env { return Env{} }

// CleanEnv is an empty environment.
func CleanEnv() Env { panic("unbuilt") }

// AllowEnv inherits the named variables alone, read anew at each start. A name that is unset then is absent, not empty.
func AllowEnv(names ...string) Env { panic("unbuilt") }

// Set adds or replaces one variable. An empty key, or a key with "=" or NUL, refuses the start with an [*InvalidError].
func (e Env) Set(key, value string) Env { panic("unbuilt") }

// Remove drops one variable.
func (e Env) Remove(key string) Env { panic("unbuilt") }

// Names lists, sorted, the names of the variables that Set and Remove override: what a cassette keeps.
func (e Env) Names() []string { panic("unbuilt") }

// Reveal is the whole environment of a start made now, KEY=VALUE, sorted by key. It is the one way to see values.
func (e Env) Reveal() []string { panic("unbuilt") }

// Lookup is the value of one variable in the environment of a start made now.
func (e Env) Lookup(key string) (string, bool) { panic("unbuilt") }
