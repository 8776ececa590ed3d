package cassette

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/internal/plaintext"
	"github.com/boombox-go/boombox/runner"
)

// Player is a [runner.Runner] that answers from a cassette. It holds no other runner: it cannot start a process. It is
// safe for concurrent use.
//
// A call is answered by the first unplayed run with the same key: the base name of the program without ".exe", the
// arguments, the input and the working directory if one is set. Timeouts and output policies take no part. What a process
// would be born with has no meaning where there is none: Env, Require, Limits, NewSession, NoNewPrivileges, NoCoreDumps, Credential,
// Umask, Rlimits, Nice, IOPriority, CPUAffinity and OOMScoreAdj. Files and Arg0 are refused, here and by a [Recorder].
//
// What a run wrote is decoded when somebody asks for it, unless the command does something with every byte: a Result keeps the cassette
// in memory for as long as it is kept itself.
//
// A run is played once, or as often as a line "repeat" in it says; a call without a run left is a miss, a [*MissError], which the player also keeps.
// Concurrent calls of one key are answered in the order in which they come.
//
// The input of a command is read to its end before the run is played. Interactive input (runner.StdinPipe) is a conversation: what came
// after an input is withheld until the same input is written, however it is cut into writes. Other input ends the run: its CancelError wraps
// a [*MissError] of class [MissInput], which the player keeps. Conversations of one call are played in their order. A run that was recorded as cancelled is played
// until it is killed, cancelled or timed out.
type Player struct {
	printer
	// A closure, since printers walk fields and would show the cassette.
	state func() *playing
}

type playing struct {
	tape   *parsed
	words  translator
	pace   Pace
	from   setting
	hint   string
	guard  *guard
	order  Order
	limits limits
	// chunking and stepper are how runs are cut and paced, where something else than pace is to do so.
	chunking Chunking
	stepper  *Stepper
	// effects are the patterns of the files that may be restored.
	effects []string
	// name is the path without its variant, "" for a cassette that was not opened by it.
	name, variant string
	// check is the rest of the check of a file that was skimmed, nil where there is none.
	check *inspection

	mu     sync.Mutex
	index  *index
	calls  int
	misses []error
	closed bool
}

// NewPlayer plays tape. It is [Open] in mode replay for a cassette that is in memory: neither the environment nor a file
// is looked at. [WithPace], [WithToken] and [WithHint] apply. A token of the cassette without a value is [ErrToken].
func NewPlayer(tape *Tape, opts ...Option) (*Player, error) {
	o, err := gather(opts)
	if err != nil {
		return nil, err
	}
	return newPlayer(tape.state(), o, setting{Replay, FromPlayer}, nil)
}

func newPlayer(p *parsed, o options, from setting, check *inspection) (*Player, error) {
	words, err := bind(p.tokens, o.values)
	if err != nil {
		return nil, err
	}
	s := &playing{
		tape: p, words: words, pace: o.pace, from: from, hint: o.hint, guard: newGuard(o.redaction), order: o.order, limits: o.limits, check: check,
		chunking: o.chunking, stepper: o.stepper, effects: o.effects, variant: o.variant,
		index: newIndex(p.runs, o.matchers),
	}
	return &Player{printer{s.describe}, func() *playing { return s }}, nil
}

// Start answers cmd with a recorded run.
func (p *Player) Start(ctx context.Context, cmd *runner.Cmd) (*runner.Process, error) {
	if ctx.Err() != nil {
		return nil, runner.NotStarted(ctx, cmd)
	}
	if err := cmd.Validate(); err != nil {
		return nil, err
	}
	return p.state().start(ctx, cmd)
}

func (s *playing) start(ctx context.Context, cmd *runner.Cmd) (*runner.Process, error) {
	stdin, err := readStdin(ctx, cmd)
	if err != nil {
		return nil, err
	}
	c, err := s.call(cmd, stdin)
	if err != nil {
		return nil, err
	}
	r, err := s.claim(cmd, c)
	switch {
	case err != nil:
		return nil, err
	case r.end.failure != nil:
		return nil, r.end.failure.err(cmd.Program(), s.words)
	}
	if err := s.restore(cmd, r); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.misses = append(s.misses, err)
		return nil, err
	}
	switch {
	case r.gated():
		return s.converse(ctx, cmd, c, r)
	case s.stepper != nil:
		cmd = cmd.Clone()
		cmd.Stdin = runner.Stdin{}
		script := r.script(s.words, RealTime)
		script.Pending = r.end.outcome == runner.Cancelled
		script.Mismatch = func(wrong *fake.InputError) error { return s.diverged(c, r, wrong, &hearing{}) }
		return fake.Play(context.WithoutCancel(ctx), cmd, s.stepper.stepped(s.cut(script)))
	case s.pace == Instant && s.chunking.none() && r.end.outcome != runner.Cancelled:
		return runner.Settle(cmd, r.finished(s.words)), nil
	}
	script := r.script(s.words, s.pace)
	script.Mismatch = func(wrong *fake.InputError) error { return s.diverged(c, r, wrong, &hearing{}) }
	script.Pending = script.Pending && (s.pace != Instant || r.end.outcome == runner.Cancelled)
	return fake.Play(context.WithoutCancel(ctx), s.timed(cmd, r), s.cut(script))
}

// cut cuts the output of a script, where it is to be cut in another way.
func (s *playing) cut(script fake.Script) fake.Script {
	if !s.chunking.none() {
		script.Chunks = s.chunking.cut(script.Chunks)
	}
	return script
}

// call is what cmd is matched by.
func (s *playing) call(cmd *runner.Cmd, stdin []byte) (call, error) {
	c, err := s.inFile(cmd, stdin)
	return adapt(s.index.matchers, c), err
}

// inFile is the call in the words of the file. Where something was redacted, or hooks were given, so is the call.
func (s *playing) inFile(cmd *runner.Cmd, stdin []byte) (call, error) {
	c := callOf(cmd, stdin)
	if s.guard == nil || !s.tape.masked && len(s.guard.hooks) == 0 {
		return c.inFile(nil, s.words)
	}
	s.guard.learnEnv(cmd.Env.Reveal())
	c, err := c.inFile(s.guard.redactor(), s.words)
	if s.tape.masked {
		c = c.canonical()
	}
	return c, err
}

// timed is cmd for a run that takes time. Its input is taken out: the player has read it, and a reader can be used
// once. A deadline that ended the run when it was recorded ends it again, at the player's pace.
func (s *playing) timed(cmd *runner.Cmd, r *runText) *runner.Cmd {
	cmd = cmd.Clone()
	if !r.interactive {
		cmd.Stdin = runner.Stdin{}
	}
	deadline := &cmd.Timeout
	switch r.end.outcome {
	case runner.IdleTimedOut:
		deadline = &cmd.IdleTimeout
	case runner.TimedOut:
	default:
		return cmd
	}
	// One that the caller has lowered below the recorded one comes first.
	if again := s.pace.wait(r.end.limit); *deadline == 0 || again < *deadline {
		*deadline = again
	}
	return cmd
}

// claim takes the run that answers c, or keeps a miss.
func (s *playing) claim(cmd *runner.Cmd, c call) (*runText, error) {
	hash := c.hash()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if err := s.check.found(); err != nil {
		return nil, err
	}
	s.calls++
	var broken error
	serves := func(i int) bool {
		if broken = s.index.runs[i].complete(s.limits); broken != nil {
			return true
		}
		return (s.order != Strict || s.index.due(i)) && s.index.runs[i].serves(cmd, s.words)
	}
	i := s.index.claim(&c, hash, serves, s.calls)
	if broken != nil {
		return nil, cmp.Or(s.check.result(), broken) // which knows the line
	}
	if i >= 0 {
		return &s.index.runs[i], nil
	}
	miss := s.miss(c)
	s.misses = append(s.misses, miss)
	return nil, miss
}

// Misses are the calls that found no run, in order, each a [*MissError], and those whose files could not be restored, each an
// [*EffectError]. The player keeps them even if the code under test swallowed the error.
func (p *Player) Misses() []error {
	s := p.state()
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]error(nil), s.misses...)
}

// Unplayed describes the runs that were not played: number, program and counts.
func (p *Player) Unplayed() []string {
	s := p.state()
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for i := range s.index.runs {
		if !s.index.done(i) {
			list = append(list, s.describeRun(i))
		}
	}
	return list
}

func (s *playing) describeRun(i int) string {
	r := &s.index.runs[i]
	return fmt.Sprintf("run %d (line %d): %s", i+1, r.line, describeCall(r.argv()))
}

// Check is nil when every call found its run and every run was played. Otherwise its error says what is missing.
func (p *Player) Check() error {
	errs := p.Misses()
	if err := p.state().check.result(); err != nil {
		errs = append(errs, err)
	}
	if unplayed := p.Unplayed(); len(unplayed) > 0 {
		errs = append(errs, &UnplayedError{Path: p.state().tape.path, Runs: unplayed})
	}
	return errors.Join(errs...)
}

// Close makes every further call fail with [ErrClosed]. Misses and Unplayed stay as they are. It is idempotent. Its error is the
// [*CorruptError] of a large file that was found to be broken only while it was played.
func (p *Player) Close() error {
	s := p.state()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	return s.check.result()
}

func (s *playing) describe() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	left, _ := s.index.left()
	return fmt.Sprintf("player of %s: %d unplayed, %s, %d missed", plaintext.Count(len(s.index.runs), "run"), left, plaintext.Count(s.calls, "call"), len(s.misses))
}
