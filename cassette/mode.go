package cassette

import (
	"fmt"
	"os"
	"strings"
)

// Mode says what an open cassette does with a call.
type Mode string

// The modes.
const (
	// Replay answers from the file and cannot start a process. A missing file, and a call that the file has no run for,
	// are misses. It is the default.
	Replay Mode = "replay"
	// Once records the whole file when it is missing, and is Replay otherwise.
	Once Mode = "once"
	// Record runs every command for real, and replaces the whole file when it is saved.
	Record Mode = "record"
	// Verify runs every command for real, writes nothing, and compares with the file when it is checked: what differs is a
	// [*DriftError].
	Verify Mode = "verify"
	// OnceOnCI and RecordOnCI are Once and Record, and may write where CI is set.
	OnceOnCI   Mode = "once!ci"
	RecordOnCI Mode = "record!ci"
)

// EnvMode is the environment variable that beats [WithMode]: BOOMBOX_CASSETTE=record go test records anew.
const EnvMode = "BOOMBOX_CASSETTE"

// envCI is set by every continuous integration service that is known. Set to nothing, 0 or false it counts as unset.
const envCI = "CI"

var modes = []Mode{Replay, Once, Record, Verify, OnceOnCI, RecordOnCI}

// ParseMode reads the name of a mode. An unknown one is a [*ModeError].
func ParseMode(name string) (Mode, error) { return parseMode(name, "") }

func parseMode(name string, origin Origin) (Mode, error) {
	for _, m := range modes {
		if name == string(m) {
			return m, nil
		}
	}
	known := make([]string, len(modes))
	for i, m := range modes {
		known[i] = string(m)
	}
	return "", &ModeError{Mode: Mode(name), Origin: origin, Reason: "there is no such mode (known: " + strings.Join(known, ", ") + ")"}
}

// onCI splits off the permission to write where CI is set.
func (m Mode) onCI() (Mode, bool) {
	base, allowed := strings.CutSuffix(string(m), "!ci")
	return Mode(base), allowed
}

// Origin says where a mode came from, for messages.
type Origin string

// The origins of a mode.
const (
	FromDefault Origin = "by default"
	FromOption  Origin = "from the option in code"
	FromEnv     Origin = "from " + EnvMode
	// FromPlayer: the player was made by NewPlayer, which knows no other mode.
	FromPlayer Origin = "by NewPlayer"
)

// setting is the mode in force and where it came from.
type setting struct {
	mode   Mode
	origin Origin
}

func (s setting) String() string { return fmt.Sprintf("mode %s, %s", s.mode, s.origin) }

// chooseMode applies the precedence: a prohibition in code, the environment, the option in code, the default.
func chooseMode(option Mode, replayOnly bool) (setting, error) {
	s := setting{Replay, FromDefault}
	if option != "" {
		s = setting{option, FromOption}
	}
	// Looked up anew each time: the go command's test cache then knows that the result depends on it.
	if name, set := os.LookupEnv(EnvMode); set && name != "" {
		s = setting{Mode(name), FromEnv}
	}
	if _, err := parseMode(string(s.mode), s.origin); err != nil {
		return s, err
	}
	if base, _ := s.mode.onCI(); replayOnly && base != Replay {
		return s, &ModeError{Mode: s.mode, Origin: s.origin, Reason: "this cassette is for replay only, by WithReplayOnly in code"}
	}
	return s, nil
}

// refuseOnCI is called before anything is recorded.
func (s setting) refuseOnCI() error {
	value, _ := os.LookupEnv(envCI)
	if _, allowed := s.mode.onCI(); allowed || value == "" || value == "0" || value == "false" {
		return nil
	}
	return &ModeError{Mode: s.mode, Origin: s.origin, Reason: fmt.Sprintf("%s is set, and nothing is recorded there unless the mode is spelled %s!ci", envCI, s.mode)}
}

// ModeError refuses a mode. Nothing was opened.
type ModeError struct {
	Mode   Mode
	Origin Origin
	// Reason says why, in one line.
	Reason string
}

// Error implements error.
func (e *ModeError) Error() string {
	from := ""
	if e.Origin != "" {
		from = " (" + string(e.Origin) + ")"
	}
	return fmt.Sprintf("cassette: mode %s%s is refused: %s", showName(string(e.Mode)), from, e.Reason)
}

// Is makes the error match [ErrMode].
func (e *ModeError) Is(target error) bool { return target == ErrMode }
