package cassette

import (
	"errors"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/signame"
	"github.com/boombox-go/boombox/runner"
)

// ending is how a recorded run came to its end: the outcome line of the file.
type ending struct {
	outcome runner.Outcome
	// limit is the deadline of a timeout.
	limit time.Duration
	// status is what the child itself did, if that is known.
	status contain.ExitStatus
	known  bool
	// failure is set when nothing was started; then there is no outcome.
	failure *startFailure
}

// knownStatus is what the child itself did, nil when that is unknown.
func (e *ending) knownStatus() *contain.ExitStatus {
	if !e.known {
		return nil
	}
	return &e.status
}

// startFailure is a start error: its kind, which decides; the system's error by name; and a text where there is none.
type startFailure struct {
	kind  runner.StartKind
	errno string
	text  string
}

// err rebuilds what the runner returned, in live words.
func (f *startFailure) err(program string, words translator) error {
	e := &runner.StartError{Program: program, Kind: f.kind}
	switch {
	case f.errno != "":
		e.Err = errnoByName(f.errno)
	case f.text != "":
		e.Err = errors.New(string(words.toLive([]byte(f.text), nil)))
	}
	return e
}

// failureOf reads a start error. The system's error is kept by name, for the text around it may show a path.
func failureOf(e *runner.StartError) *startFailure {
	f := &startFailure{kind: e.Kind}
	var errno syscall.Errno
	if errors.As(e.Err, &errno) {
		f.errno = errnoName(errno)
	}
	if f.errno == "" && e.Err != nil {
		f.text = e.Err.Error()
	}
	return f
}

func appendEnding(dst []byte, e ending) []byte {
	dst = append(dst, "  "...)
	if f := e.failure; f != nil {
		dst = append(append(dst, "start "...), f.kind...)
		switch {
		case f.errno != "":
			dst = append(append(dst, ' '), f.errno...)
		case f.text != "":
			dst = append(appendEscaped(append(dst, ` "`...), []byte(f.text)), '"')
		}
		return append(dst, '\n')
	}
	switch e.outcome.Kind() {
	case runner.KindExited, runner.KindSignalled:
		status := e.status
		status.Code, _ = e.outcome.ExitCode()
		status.Signal, _ = e.outcome.Signal()
		return append(appendStatus(dst, status), '\n')
	case runner.KindTimedOut:
		dst = append(append(dst, "timeout "...), e.limit.String()...)
	case runner.KindIdleTimedOut:
		dst = append(append(dst, "idle "...), e.limit.String()...)
	case runner.KindCancelled:
		dst = append(dst, "cancelled"...)
	case runner.KindOverflowed:
		dst = append(dst, "overflow"...)
	}
	if e.known {
		dst = appendStatus(append(dst, " then "...), e.status)
	}
	return append(dst, '\n')
}

func appendStatus(dst []byte, s contain.ExitStatus) []byte {
	if s.Exited() {
		return strconv.AppendInt(append(dst, "exit "...), int64(s.Code), 10)
	}
	dst = append(append(dst, "signal "...), signame.Of(s.Signal)...)
	if s.Core {
		dst = append(dst, " core"...)
	}
	return dst
}

// isEnding tells the tags of outcome lines.
func isEnding(tag string) bool {
	switch tag {
	case "exit", "signal", "timeout", "idle", "overflow", "cancelled", "start":
		return true
	}
	return false
}

// parseEnding reads an outcome line without its indentation.
func parseEnding(line string) (e ending, problem string) {
	tag, rest, _ := strings.Cut(line, " ")
	switch tag {
	case "exit", "signal":
		status, ok := parseStatus(line)
		if !ok {
			return e, "not an exit code or a signal"
		}
		e.outcome = runner.Exited(status.Code)
		if !status.Exited() {
			e.outcome = runner.Signalled(status.Signal)
		}
		e.status, e.known = status, true
		return e, ""
	case "start":
		e.failure, problem = parseFailure(rest)
		return e, problem
	case "timeout", "idle":
		e.outcome = runner.TimedOut
		if tag == "idle" {
			e.outcome = runner.IdleTimedOut
		}
		var text string
		text, rest, _ = strings.Cut(rest, " ")
		limit, err := time.ParseDuration(text)
		if err != nil || limit <= 0 {
			return e, "not the duration of a deadline"
		}
		e.limit = limit
		line = text + " " + rest
	case "overflow":
		e.outcome = runner.Overflowed
	case "cancelled":
		e.outcome = runner.Cancelled
	}
	_, rest, more := strings.Cut(line, " ")
	if !more || rest == "" {
		return e, ""
	}
	text, found := strings.CutPrefix(rest, "then ")
	status, ok := parseStatus(text)
	if !found || !ok {
		return e, "not an outcome"
	}
	e.status, e.known = status, true
	return e, ""
}

func parseStatus(text string) (s contain.ExitStatus, ok bool) {
	if code, found := strings.CutPrefix(text, "exit "); found {
		n, ok := parseInt(code, 1<<32-1)
		s.Code = int(n)
		return s, ok
	}
	name, found := strings.CutPrefix(text, "signal ")
	if !found {
		return s, false
	}
	name, s.Core = strings.CutSuffix(name, " core")
	s.Signal, ok = signame.Parse(name)
	return s, ok
}

func parseFailure(text string) (*startFailure, string) {
	kind, rest, more := strings.Cut(text, " ")
	f := &startFailure{kind: runner.StartKind(kind)}
	switch f.kind {
	case runner.StartNotFound, runner.StartNotExecutable, runner.StartBadDir, runner.StartBadStdin,
		runner.StartBadOutput, runner.StartOther:
	default:
		return nil, "unknown kind of start error"
	}
	switch {
	case !more:
	case strings.HasPrefix(rest, `"`):
		if _, problem := checkQuoted([]byte(rest)); problem != "" {
			return nil, problem
		}
		if f.text = string(appendUnquoted(nil, []byte(rest))); f.text == "" {
			return nil, "empty text of a start error"
		}
	default:
		if errnoByName(rest) == nil {
			return nil, "unknown name of a system error"
		}
		f.errno = rest
	}
	return f, ""
}

// parseInt reads a decimal number as it is printed: no sign but a minus, no leading zero.
func parseInt(text string, most int64) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > most || n < -1<<31 || strconv.FormatInt(n, 10) != text {
		return 0, false
	}
	return n, true
}
