package cassette

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/boombox-go/boombox/runner"
)

// Deck is an open cassette: a [runner.Runner] that records or replays, as its mode says. It is safe for concurrent use.
// In replay it holds no runner, and cannot start a process, unless [WithPassthrough] says otherwise.
type Deck struct {
	printer
	from     setting
	recorder *Recorder
	player   *Player
	verifier *verifier
	// live runs the programs that pass through, nil when there are none.
	live        runner.Runner
	passthrough []string
}

// Open opens the cassette at path. What it does is decided by its mode: [EnvMode] in the environment, else [WithMode],
// else [Replay]; but [WithReplayOnly] forbids every other. Where the environment variable CI is set, nothing is recorded
// unless the mode ends in "!ci".
//
// A missing file is a [*MissError] in replay. A file that cannot be read, or is no sound cassette, is an error in
// every mode; in replay, what is wrong far down in a file of 4 MiB or more may be told later, by a call, [Deck.Check] or [Deck.Close].
func Open(path string, opts ...Option) (*Deck, error) {
	o, err := gather(opts)
	if err != nil {
		return nil, err
	}
	from, err := chooseMode(o.mode, o.replayOnly)
	if err != nil {
		return nil, err
	}
	if o.replayOnly && len(o.passthrough) > 0 {
		return nil, &ModeError{Mode: from.mode, Origin: from.origin, Reason: "WithReplayOnly and WithPassthrough exclude each other"}
	}
	if err := noteUse(path, variantsOf(path)); err != nil {
		return nil, err
	}
	d, err := open(path, o, from)
	var mode *ModeError
	var miss *MissError
	if err != nil && !errors.As(err, &mode) && !errors.As(err, &miss) {
		err = fmt.Errorf("%w (%s)", err, from)
	}
	return d, err
}

func open(name string, o options, from setting) (*Deck, error) {
	mode, _ := from.mode.onCI()
	path := o.fileFor(name, mode)
	var tape *parsed
	var check *inspection
	if mode != Record {
		var err error
		if mode == Verify {
			tape, err = load(path, o.limits)
		} else {
			tape, check, err = loadToPlay(path, o.limits)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	switch {
	case tape != nil && mode == Verify:
		v, err := newVerifier(tape, o)
		if err != nil {
			return nil, err
		}
		return newDeck(Deck{from: from, recorder: v.state().recorder(), verifier: v}, o), nil
	case tape != nil:
		player, err := newPlayer(tape, o, from, check)
		if err != nil {
			return nil, errors.Join(err, check.result())
		}
		player.state().name = name
		return newDeck(Deck{from: from, player: player}, o), nil
	case mode == Replay || mode == Verify:
		return nil, &MissError{Class: MissNoCassette, Path: path, Mode: from.mode, Origin: from.origin, Variant: o.variant, Variants: variantsOf(name), Hint: o.hint}
	}
	if err := from.refuseOnCI(); err != nil {
		return nil, err
	}
	recorder, err := newRecorder(path, o.inner, o)
	if err != nil {
		return nil, err
	}
	return newDeck(Deck{from: from, recorder: recorder}, o), nil
}

func newDeck(d Deck, o options) *Deck {
	if d.passthrough = o.passthrough; len(d.passthrough) > 0 {
		if d.live = o.inner; d.live == nil {
			d.live = runner.Contained{}
		}
	}
	d.printer.describe = d.describe
	return &d
}

// Start records cmd, or answers it from the file.
func (d *Deck) Start(ctx context.Context, cmd *runner.Cmd) (*runner.Process, error) {
	if d.live != nil && slices.Contains(d.passthrough, programOf(cmd.Argv())) {
		return d.live.Start(ctx, cmd)
	}
	if d.recorder != nil {
		return d.recorder.Start(ctx, cmd)
	}
	return d.player.Start(ctx, cmd)
}

// Mode is the mode in force, and where it came from.
func (d *Deck) Mode() (Mode, Origin) { return d.from.mode, d.from.origin }

// Recording reports whether commands are run for real.
func (d *Deck) Recording() bool { return d.recorder != nil }

// Save is [Recorder.Save] while recording. In replay and in mode verify it does nothing.
func (d *Deck) Save() error {
	if d.recorder == nil || d.verifier != nil {
		return nil
	}
	if err := d.recorder.Save(); err != nil {
		return fmt.Errorf("%w (%s)", err, d.from)
	}
	return nil
}

// Misses is [Player.Misses] in replay, and empty while recording.
func (d *Deck) Misses() []error {
	if d.player == nil {
		return nil
	}
	return d.player.Misses()
}

// Unplayed is [Player.Unplayed] in replay, and empty while recording.
func (d *Deck) Unplayed() []string {
	if d.player == nil {
		return nil
	}
	return d.player.Unplayed()
}

// Check is [Player.Check] in replay, a [*DriftError] in mode verify when what was run differs from the file, and nil while
// recording.
func (d *Deck) Check() error {
	if d.verifier != nil {
		return d.verifier.check()
	}
	if d.player == nil {
		return nil
	}
	return d.player.Check()
}

// Close ends the recording or the replay. It does not save. It is idempotent.
func (d *Deck) Close() error {
	if d.recorder != nil {
		return d.recorder.Close()
	}
	return d.player.Close()
}

func (d *Deck) describe() string {
	if d.recorder != nil {
		return fmt.Sprintf("deck (%s), %s", d.from, d.recorder)
	}
	return fmt.Sprintf("deck (%s), %s", d.from, d.player)
}
