package cassette

import "github.com/boombox-go/boombox/runner"

// Option says how [Open], [NewPlayer] and [NewRecorder] make what they make. An option that has no bearing on what is
// made, such as [WithPace] on a recorder, changes nothing.
type Option func(*options) error

type options struct {
	mode       Mode
	replayOnly bool
	inner      runner.Runner
	pace       Pace
	values     []registered
	hint       string
	cancelled  bool
	extend     bool
	redaction  redaction
	order      Order
	matchers   []programMatcher
	// paths says that the usual paths become tokens, tempDir how the test's own is had.
	paths bool
	// passthrough are the programs that are never recorded or replayed.
	passthrough []string
	// tolerated are the classes that Verify lets pass.
	tolerated []Class
	tempDir   func() string
	limits    limits
	chunking  Chunking
	effects   []string
	stepper   *Stepper
	// variant is which of the cassette's files it is, "" for the plain one.
	variant string
}

func gather(opts []Option) (options, error) {
	o := options{hint: DefaultHint, limits: defaultLimits}
	for _, opt := range opts {
		if err := opt(&o); err != nil {
			return o, err
		}
	}
	if o.paths {
		o.values = append(o.values, usualPaths(o)...)
	}
	return o, nil
}

// WithMode sets the mode of [Open]. By default it is [Replay]. The environment variable [EnvMode] beats it.
func WithMode(mode Mode) Option {
	return func(o *options) error { o.mode = mode; return nil }
}

// WithReplayOnly forbids every mode that could record, whatever [EnvMode] says: Open then refuses with a [*ModeError].
func WithReplayOnly() Option {
	return func(o *options) error { o.replayOnly = true; return nil }
}

// WithRunner sets the runner that commands are run with while [Open] records. By default it is runner.Contained. In
// replay it is dropped: a player has no way to start a process.
func WithRunner(r runner.Runner) Option {
	return func(o *options) error { o.inner = r; return nil }
}

// WithPace sets how fast runs are played. By default it is [Instant].
func WithPace(p Pace) Option {
	return func(o *options) error { o.pace = p; return nil }
}

// WithToken registers a value that is different each time, such as the test's temporary directory, under a name. A
// file then has <name:1> wherever the value occurs in an argument, the directory, input or output; a second value of
// the same name is <name:2>. At replay the token turns into the value that is registered then. The longest value is
// looked for first. Where it is escaped for JSON or a URL, or its slashes are turned, a file has <name:1:json> and so on. It conflicts with a value of fewer than 4 bytes and with the same value given twice ([ErrToken]).
//
// A cassette says which tokens it uses, and is played only where all of them have a value.
func WithToken(name, value string) Option {
	return func(o *options) (err error) { o.values, err = register(o.values, name, value); return err }
}

// Order says in which order the runs of a cassette may be called for.
type Order int

// The orders.
const (
	// PerKey answers the calls of one key in the order of the file, and lets different keys come in any order. It is the
	// default.
	PerKey Order = iota
	// Strict answers calls in the order of the file alone: one that comes too early is a miss of class [MissOutOfOrder].
	Strict
)

// WithOrder sets the order of a player. By default it is [PerKey].
func WithOrder(order Order) Option {
	return func(o *options) error { o.order = order; return nil }
}

// WithPassthrough lets a [Deck] run these programs, by their base names, for real in every mode, unrecorded. By default there is
// none, and a deck in replay cannot start a process. It conflicts with [WithReplayOnly].
func WithPassthrough(programs ...string) Option {
	return func(o *options) error { o.passthrough = append(o.passthrough, programs...); return nil }
}

// WithTolerated sets what mode [Verify] lets pass. By default that is [ClassSame] and [ClassTiming].
func WithTolerated(classes ...Class) Option {
	return func(o *options) error { o.tolerated = append(o.tolerated, classes...); return nil }
}

// DefaultHint is what a miss advises, unless [WithHint] knows better.
const DefaultHint = EnvMode + "=record go test -count=1 (with -run for this one test)"

// WithHint sets the command that a miss gives for recording anew. By default it is [DefaultHint].
func WithHint(command string) Option {
	return func(o *options) error { o.hint = command; return nil }
}

// WithCancelled makes a recorder keep runs that were cancelled, for a test in which that is the point. By default it
// drops them, and their replay is a miss: that a caller gave up is a fact about the caller, and mostly a race.
func WithCancelled() Option {
	return func(o *options) error { o.cancelled = true; return nil }
}

// WithExtend makes a recorder add its runs to those that the file has, instead of replacing them. By default a
// recording is one episode. It conflicts with tokens that the file does not use already.
func WithExtend() Option {
	return func(o *options) error { o.extend = true; return nil }
}
