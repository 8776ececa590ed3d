package cassette

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/boombox-go/boombox/internal/plaintext"
	"github.com/boombox-go/boombox/runner"
)

// Recorder is a [runner.Runner] that runs commands with another one and notes what they do. It is safe for concurrent
// use. Callers see the real processes and their real results; nothing is written before [Recorder.Save].
//
// Recorded are the arguments, the working directory if one is set, the names of the environment variables that were set
// or removed, the input, both output streams to the last byte, and the outcome. Environment values never are, and what looks
// like a secret is redacted when it is saved. Runs stand in the file in the order in which they were started.
//
// The input of a command is read to its end before the command is started, since a replay finds the run by all of it: more than
// [MaxRun] refuses the start with [ErrTooLarge]. So a stage of a pipeline whose writer never ends, as in "yes | head", cannot be
// recorded. Of interactive input (runner.StdinPipe) is recorded what was written, and between which output. Inherited input is not recorded.
type Recorder struct {
	printer
	// A closure, since printers walk fields and would show what was recorded.
	state func() *recording
}

type recording struct {
	file   *target
	inner  runner.Runner
	words  translator
	tokens []token
	// guard keeps secrets out of the file, nil when nothing is kept out.
	guard    *guard
	matchers []programMatcher
	// cancelled keeps cancelled runs, extend the runs that the file has.
	cancelled, extend bool
	limits            limits
	effects           []string
	// verify says that nothing is written.
	verify bool

	mu     sync.Mutex
	takes  []*take
	closed bool
}

// take is one run while it is recorded.
type take struct {
	argv    []string
	dir     string
	env     []string
	stdin   []byte
	inherit bool
	// interactive says that stdin grows while the run goes on; mu guards it then.
	interactive bool
	// pty is the size of its terminal at the start, zero for none.
	pty     runner.PTY
	started time.Time

	// process and failure are set when the start is over: neither of them means that it is not.
	process *runner.Process
	failure *startFailure

	// files is what became of those of its directory.
	files *witness

	mu      sync.Mutex
	streams [2]observed
	clock   clock
}

// NewRecorder records to the file at path what inner runs; nil means runner.Contained. It is [Open] in mode record, without a look at the
// environment. [WithToken], [WithExtend] and [WithCancelled] apply.
//
// The directory is made if it is missing (0700). Until Close nobody else can record to path ([*LockedError]). What is
// there already must be a cassette in a regular file: anything else is not recorded over ([ErrCorrupt],
// [ErrNotRegular]).
func NewRecorder(path string, inner runner.Runner, opts ...Option) (*Recorder, error) {
	o, err := gather(opts)
	if err != nil {
		return nil, err
	}
	return newRecorder(path, inner, o)
}

func newRecorder(path string, inner runner.Runner, o options) (*Recorder, error) {
	s, err := newRecording(inner, o)
	if err != nil {
		return nil, err
	}
	if s.file, err = lockTarget(path); err != nil {
		return nil, err
	}
	if _, err := s.existing(); err != nil {
		return nil, errors.Join(err, s.file.unlock())
	}
	return s.recorder(), nil
}

func newRecording(inner runner.Runner, o options) (_ *recording, err error) {
	if inner == nil {
		inner = runner.Contained{}
	}
	s := &recording{inner: inner, cancelled: o.cancelled, extend: o.extend, guard: newGuard(o.redaction), matchers: o.matchers, limits: o.limits, effects: o.effects}
	for _, r := range o.values {
		s.tokens = append(s.tokens, r.token)
	}
	s.words, err = bind(s.tokens, o.values)
	return s, err
}

func (s *recording) recorder() *Recorder {
	return &Recorder{printer{s.describe}, func() *recording { return s }}
}

// Start runs cmd with the inner runner and records it.
func (r *Recorder) Start(ctx context.Context, cmd *runner.Cmd) (*runner.Process, error) {
	s := r.state()
	if ctx.Err() != nil || cmd.Validate() != nil {
		return s.inner.Start(ctx, cmd) // refuses, and nothing is recorded
	}
	stdin, err := readStdin(ctx, cmd)
	if err != nil {
		return nil, err
	}
	t := &take{
		argv: cmd.Argv(), dir: cmd.Dir, env: cmd.Env.Names(), stdin: stdin, inherit: cmd.Stdin.Kind() == runner.StdinInherit,
		pty:     sized(cmd.PTY),
		streams: [2]observed{observe(cmd.Output.Stdout), observe(cmd.Output.Stderr)}, started: time.Now(),
	}
	if s.guard != nil {
		s.guard.learnEnv(cmd.Env.Reveal())
	}
	tapped := cmd.Tapped(t.note)
	if t.interactive = cmd.Stdin.Kind() == runner.StdinInteractive; t.interactive {
		tapped = tapped.TappedStdin(t.hear)
		t.clock.talk = true
	}
	if t.pty != noPTY {
		tapped = tapped.TappedResize(t.resize)
	}
	if cmd.Stdin.Kind() == runner.StdinReader {
		tapped.Stdin = runner.StdinOf(stdin)
	}
	if err := s.begin(t); err != nil {
		return nil, err
	}
	process, err := s.launch(ctx, t, tapped)
	s.begun(t, process, err)
	return process, err
}

// note is the tap of both streams.
func (t *take) note(id runner.StreamID, chunk []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.streams[id].write(chunk)
	if len(t.clock.marks) <= maxTurns {
		t.clock.note(time.Since(t.started), id, len(chunk))
	}
}

// hear is the tap of interactive input, nil for its end. What goes beyond the caps makes the run one that cannot be saved.
func (t *take) hear(piece []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.clock.marks) > maxTurns || len(t.stdin) > MaxRun {
		return
	}
	if at := time.Since(t.started); piece == nil {
		t.clock.note(at, inClosed, 0)
	} else {
		t.stdin = append(t.stdin, piece...)
		t.clock.note(at, inStream, len(piece))
	}
}

// resize is the tap of the terminal's size. From then on the order is content.
func (t *take) resize(to runner.PTY) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clock.talk = true
	if len(t.clock.marks) <= maxTurns {
		t.clock.marks = append(t.clock.marks, mark{time.Since(t.started), resized, packSize(to)})
	}
}

// begin takes the place of a run in the order of starts.
func (s *recording) begin(t *take) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.takes = append(s.takes, t)
	return nil
}

// begun notes how the start ended. A start that was cancelled or refused says nothing about the command.
func (s *recording) begun(t *take, process *runner.Process, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var start *runner.StartError
	switch {
	case err == nil:
		t.process = process
	case errors.As(err, &start):
		t.failure = failureOf(start)
	default:
		s.takes = slices.DeleteFunc(s.takes, func(other *take) bool { return other == t })
	}
}

// Save writes the file, whole and at once: whoever reads it sees the old one or the new one, and a crash at any
// instant leaves one of them. It is 0600. Runs that are what the file has already keep their text, arrival times
// included, and a file that would not change is not touched. A run that is not over is a [*RecordError] that matches
// [ErrOpenRun], and one that a cassette cannot hold a [*RecordError] that says why; a secret that is found in the finished
// file is a [*SecretError]; nothing is written then.
//
// Save can be called again after further runs.
func (r *Recorder) Save() error {
	s := r.state()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	tape, err := s.assemble()
	if err != nil {
		return err
	}
	if s.guard != nil {
		if found := s.guard.scan(tape, tape.marshal()); len(found) > 0 {
			return &SecretError{Findings: found}
		}
	}
	return s.file.replace(tape)
}

// Tape is what Save would write now.
func (r *Recorder) Tape() (*Tape, error) {
	s := r.state()
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.assemble()
	if err != nil {
		return nil, err
	}
	return newTape(p), nil
}

// Close gives the file up. It does not save: what was not saved is dropped. It is idempotent.
func (r *Recorder) Close() error {
	s := r.state()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.file.unlock()
}

// RecordError reports a run that cannot be saved.
type RecordError struct {
	// Run is its number among the recorded ones, from 1.
	Run int
	// Program is the base name of its program.
	Program string
	// Err says why.
	Err error
}

// Error implements error.
func (e *RecordError) Error() string {
	return fmt.Sprintf("cassette: recorded run %d, of %s, cannot be saved: %v", e.Run, showName(e.Program), e.Err)
}

// Unwrap gives the cause.
func (e *RecordError) Unwrap() error { return e.Err }

func (s *recording) describe() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return "recorder of " + plaintext.Count(len(s.takes), "run")
}
