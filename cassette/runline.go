package cassette

import (
	"bytes"
	"slices"
	"strings"

	"github.com/boombox-go/boombox/runner"
)

// secNone is a line of a run that belongs to no section: an extension.
const secNone section = -1

// repeats tells the sections that may have more than one line.
func (s section) repeats() bool {
	switch s {
	case secArgv, secIn, secOut, secErr, secLimit, secCut, secEffect:
		return true
	}
	return false
}

// add takes one line of a run, without its indentation, and checks it.
func (r *runText) add(line []byte) (section, string) {
	tag, payload, spaced := bytes.Cut(line, []byte{' '})
	if !spaced && string(tag) != "pipes-held" && string(tag) != "optional" && !isEnding(string(tag)) && !bytes.HasPrefix(tag, []byte("x-")) {
		return secNone, "line that reads neither as a part of a run nor as an extension"
	}
	switch string(tag) {
	case "out":
		return r.addText(secOut, payload)
	case "err":
		return r.addText(secErr, payload)
	case "in":
		return r.addText(secIn, payload)
	case "out64":
		return r.addBase64(secOut, payload)
	case "err64":
		return r.addBase64(secErr, payload)
	case "in64":
		return r.addBase64(secIn, payload)
	case "argv":
		r.argc++
		_, problem := checkQuoted(payload)
		return secArgv, problem
	case "dir":
		n, problem := checkQuoted(payload)
		if problem == "" && n == 0 {
			problem = "empty directory"
		}
		return secDir, problem
	case "env":
		_, problem := parseNames(payload)
		return secEnv, problem
	case "pty":
		return secPTY, r.addPTY(payload)
	case "stdin":
		r.inherit, r.interactive = string(payload) == "inherit", string(payload) == "interactive"
		switch {
		case r.start[secIn] != 0:
			return secIn, "stdin line behind other input"
		case !r.inherit && !r.interactive:
			return secIn, `want "stdin inherit" or "stdin interactive"`
		}
		return secIn, ""
	case "pipes-held":
		r.held = true
		if spaced {
			return secHeld, "text behind pipes-held"
		}
		return secHeld, ""
	case "limit":
		return secLimit, r.addLimit(string(payload))
	case "cut":
		return secCut, r.addCut(string(payload))
	case "tape":
		return secTape, r.addTape(payload)
	case "file", "gone", "data", "data64", "data-file":
		return r.addEffect(string(tag), payload)
	case "repeat":
		if string(payload) == "*" {
			r.repeat = -1
			return secRepeat, ""
		}
		n, ok := parseInt(string(payload), MaxRuns)
		if !ok || n < 1 {
			return secRepeat, "not a number of repetitions, or *"
		}
		r.repeat = int32(n)
		return secRepeat, ""
	case "optional":
		r.optional = true
		if spaced {
			return secOptional, "text behind optional"
		}
		return secOptional, ""
	case "in-file":
		return r.addSide(secIn, payload)
	case "out-file":
		return r.addSide(secOut, payload)
	case "err-file":
		return r.addSide(secErr, payload)
	}
	if bytes.HasPrefix(line, []byte("x-")) {
		return secNone, checkExtension(line)
	}
	if isEnding(string(tag)) {
		var problem string
		r.end, problem = parseEnding(string(line))
		return secEnding, problem
	}
	return secNone, "line of an unknown kind"
}

// encoding of a stream, of which a stream has one.
type encoding byte

const (
	encText encoding = 1 + iota
	encBase64
	encPadded // base64 that has ended: padding can only come last
	encFile   // a side file, which is all of the stream
)

func (r *runText) addText(s section, payload []byte) (section, string) {
	n, problem := checkQuoted(payload)
	if problem != "" {
		return s, problem
	}
	if n == 0 {
		return s, "empty line of a stream"
	}
	return s, r.grow(s, n, encText, encText)
}

func (r *runText) addBase64(s section, payload []byte) (section, string) {
	n, padded, problem := checkBase64(payload)
	if problem != "" {
		return s, problem
	}
	after := encBase64
	if padded {
		after = encPadded
	}
	return s, r.grow(s, n, encBase64, after)
}

func (r *runText) grow(s section, n int, want, after encoding) string {
	i := s - secIn
	if r.inherit && s == secIn {
		return "recorded input beside inherited input"
	}
	if have := r.enc[i]; have != 0 && have != want {
		return "one stream in two encodings, or base64 behind its end"
	}
	r.enc[i] = after
	r.size[i] += n
	return ""
}

func (r *runText) addCut(payload string) string {
	const bad = `want "cut", out or err, head or tail, and the bytes of the whole stream`
	fields := strings.Split(payload, " ")
	if len(fields) != 3 || fields[1] != "head" && fields[1] != "tail" {
		return bad
	}
	total, ok := parseInt(fields[2], MaxStream)
	c := cut{tail: fields[1] == "tail", total: total}
	if !ok || total <= 0 {
		return bad
	}
	id := slices.Index([]string{"out", "err"}, fields[0])
	switch {
	case id < 0:
		return bad
	case r.cut[1].total != 0 || r.cut[id].total != 0:
		return "cut lines out of order, or twice"
	case total <= int64(r.size[1+id]):
		return "cut stream that is not longer than what the file holds of it"
	}
	r.cut[id] = c
	return ""
}

func (r *runText) addTape(payload []byte) string {
	var sums [onTape]int64
	closed, late := 0, false
	_, problem := eachArrival(payload, func(a arrival) {
		sums[a.stream] += a.n
		if late = late || closed > 0 && a.stream == inStream; a.stream == inClosed {
			closed++
		}
	})
	switch {
	case problem != "":
	case sums[0] != r.total(runner.Stdout) || sums[1] != r.total(runner.Stderr) || r.interactive && sums[inStream] != int64(r.size[0]):
		problem = "tape whose byte counts are not those of the streams"
	case !r.interactive && sums[inStream]+int64(closed) > 0:
		problem = "tape with input, in a run whose input is not interactive"
	case late || closed > 1:
		problem = "tape with input behind the end of the input"
	case r.pty == noPTY && sums[resized] > 0:
		problem = "tape with the size of a terminal, in a run that has none"
	}
	return problem
}

// total is how many bytes the child wrote to one stream, whatever of them the file holds.
func (r *runText) total(id runner.StreamID) int64 {
	i := 0
	if id == runner.Stderr {
		i = 1
	}
	return max(r.cut[i].total, int64(r.size[1+i]))
}

// finish checks what only the whole run shows.
func (r *runText) finish() (problem string) {
	switch {
	case r.argc == 0:
		return "run without argv"
	case r.pty != noPTY && r.size[2] != 0:
		return "standard error of a run with a terminal, which has one stream"
	case r.pty != noPTY && r.inherit:
		return "inherited input of a run with a terminal"
	case r.start[secEnding] == 0:
		return "run without an outcome"
	case r.end.failure != nil && (r.start[secOut]|r.start[secErr]|r.start[secHeld]|r.start[secLimit]|r.start[secCut]|r.start[secTape]|r.start[secEffect]) != 0:
		return "run that was never started, with output"
	case r.interactive && r.end.failure == nil && r.start[secTape] == 0:
		return "interactive input without a tape, which has its order"
	case r.interactive && r.end.failure != nil && r.size[0] != 0:
		return "run that was never started, with interactive input"
	}
	return ""
}
