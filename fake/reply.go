package fake

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/boombox-go/boombox/runner"
)

// Reply is one part of what a scripted run does. Parts are taken in order: output and waits add up, an end replaces
// the end before.
type Reply interface{ apply(*Script) }

type reply func(*Script)

func (r reply) apply(s *Script) { r(s) }

// Exit ends the run with an exit code. It is the end of a reply that names none, with code 0.
func Exit(code int) Reply { return End(runner.Exited(code)) }

// Signal ends the run by a signal.
func Signal(sig syscall.Signal) Reply { return End(runner.Signalled(sig)) }

// Timeout ends the run as timed out, whatever the command's own Timeout. To see the command's Timeout at work, use
// [Pending].
func Timeout() Reply { return End(runner.TimedOut) }

// Idle ends the run as timed out without output, whatever the command's own IdleTimeout.
func Idle() Reply { return End(runner.IdleTimedOut) }

// Overflow ends the run as one whose output passed its cap. To see the command's own cap at work, write more than it
// lets pass.
func Overflow() Reply { return End(runner.Overflowed) }

// End ends the run with any outcome.
func End(o runner.Outcome) Reply {
	return reply(func(s *Script) { s.Outcome, s.Pending, s.StartErr = o, false, nil })
}

// Pending keeps the run going until something ends it: a kill, a signal, a cancel, or the command's own Timeout or
// IdleTimeout.
func Pending() Reply { return reply(func(s *Script) { s.Pending, s.StartErr = true, nil }) }

// StartError refuses the start with a [*runner.StartError] of that kind, which names the program.
func StartError(kind runner.StartKind) Reply { return Refuse(&runner.StartError{Kind: kind}) }

// Refuse refuses the start with err, as it is. Only a [*runner.StartError] without a program gets the name of the
// command's program, in a copy.
func Refuse(err error) Reply { return reply(func(s *Script) { s.StartErr = err }) }

// Stdout writes data to standard output.
func Stdout[T string | []byte](data T) Reply { return output(runner.Stdout, string(data)) }

// Stderr writes data to standard error.
func Stderr[T string | []byte](data T) Reply { return output(runner.Stderr, string(data)) }

// Lines writes lines to standard output, with a newline after each.
func Lines(lines ...string) Reply {
	if len(lines) == 0 {
		return reply(func(*Script) {})
	}
	return Stdout(strings.Join(lines, "\n") + "\n")
}

// LinesEvery writes lines to standard output, each after a wait of d, by the clock.
func LinesEvery(d time.Duration, lines ...string) Reply {
	lines = slices.Clone(lines)
	return reply(func(s *Script) {
		for _, line := range lines {
			s.Chunks = append(s.Chunks, Chunk{After: d, Data: []byte(line + "\n")})
		}
	})
}

func output(stream runner.StreamID, data string) Reply {
	chunk := Chunk{Stream: stream, Data: []byte(data)}
	return reply(func(s *Script) { s.Chunks = append(s.Chunks, chunk) })
}

// Reads waits until data has been written to the command's interactive input, before whatever follows. Input that differs
// cancels the run; see [Chunk.Reads].
//
//	r.On("ssh-add").Reply(fake.Stderr("passphrase: "), fake.Reads("open sesame\n"), fake.Lines("added"))
func Reads[T string | []byte](data T) Reply {
	text := string(data)
	return reply(func(s *Script) { s.Chunks = append(s.Chunks, Chunk{Reads: []byte(text)}) })
}

// ReadsEOF waits until the command's interactive input is closed, before whatever follows.
func ReadsEOF() Reply {
	return reply(func(s *Script) { s.Chunks = append(s.Chunks, Chunk{ReadsEOF: true}) })
}

// Resized waits until the command's terminal ([runner.PTY]) was given that size, before whatever follows. Another size cancels
// the run; see [Chunk.Resize].
//
//	r.On("top").Reply(fake.Stdout("24 lines"), fake.Resized(132, 43), fake.Stdout("43 lines"))
func Resized(cols, rows uint16) Reply {
	cols, rows = runner.PTY{Cols: cols, Rows: rows}.Size()
	return reply(func(s *Script) { s.Chunks = append(s.Chunks, Chunk{Resize: runner.PTY{Cols: cols, Rows: rows}}) })
}

// After waits before whatever follows: the next output, or the end. It makes the run take time, by the clock.
func After(d time.Duration) Reply {
	return reply(func(s *Script) { s.Chunks = append(s.Chunks, Chunk{After: d}) })
}

// Scripted replaces everything before it by a whole script, for what the other parts do not say.
func Scripted(script Script) Reply { return reply(func(s *Script) { *s = script.clone() }) }

// script puts the parts of a reply together.
func script(parts []Reply) Script {
	var s Script
	for _, part := range parts {
		part.apply(&s)
	}
	return s
}

// named gives a start error without a program the name of one.
func named(err error, program string) error {
	if start, ok := errors.AsType[*runner.StartError](err); ok && start == err && start.Program == "" {
		return &runner.StartError{Program: program, Kind: start.Kind, Err: start.Err}
	}
	return err
}
