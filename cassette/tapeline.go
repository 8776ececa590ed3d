package cassette

import (
	"bytes"
	"strconv"
	"time"

	"github.com/boombox-go/boombox/runner"
)

// tape is the arrival line of a run: when which stream gave how many bytes. It is evidence beside the content: the
// order in which two pipes are read is luck, so a changed tape alone never changes a file.
type tape struct {
	chunks []arrival
	// exit is the time from the last chunk to the end of the run.
	exit time.Duration
}

// What stands on the tape of a conversation besides its output: what was written to the child, that its input was closed, and what size
// its terminal was given.
const (
	inStream runner.StreamID = 2 + iota
	inClosed
	// resized is a new size of the terminal: n is it packed.
	resized
	onTape // how many kinds of arrivals there are
)

// arrival is one chunk: after counts from the one before it.
type arrival struct {
	after  time.Duration
	stream runner.StreamID
	n      int64
}

// maxWait bounds one interval of a tape, so that no sum of a line's intervals overflows.
const maxWait = 1 << 31 * time.Millisecond // 24 days

// maxChunks bounds the chunks of one recorded run: beyond, neighbours are joined.
const maxChunks = 4096

func appendTape(dst []byte, t tape) []byte {
	dst = append(dst, "  tape"...)
	for _, c := range t.chunks {
		dst = append(appendMillis(append(dst, ' '), c.after), "oeicr"[c.stream])
		switch c.stream {
		case inClosed:
		case resized:
			dst = appendSize(dst, unpackSize(c.n))
		default:
			dst = strconv.AppendInt(dst, c.n, 10)
		}
	}
	return append(appendMillis(append(dst, ' '), t.exit), "x\n"...)
}

func appendMillis(dst []byte, d time.Duration) []byte {
	return strconv.AppendInt(dst, min(max(d, 0), maxWait).Milliseconds(), 10)
}

// parseTape reads the payload of a tape line.
func parseTape(payload []byte) (t tape, problem string) {
	t.chunks = make([]arrival, 0, 1+bytes.Count(payload, []byte{' '}))
	t.exit, problem = eachArrival(payload, func(a arrival) { t.chunks = append(t.chunks, a) })
	return t, problem
}

// eachArrival reads the payload of a tape line, chunk by chunk.
func eachArrival(payload []byte, fn func(arrival)) (exit time.Duration, problem string) {
	const bad = "not a tape: want intervals in ms, o, e or x, and byte counts, such as 0o47 3e23 12x"
	more := func(rest []byte) bool { return len(rest) > 0 && rest[0] == ' ' }
	for rest := payload; ; {
		wait, kind, rest1, ok := cutNumber(rest)
		if !ok || wait > maxWait.Milliseconds() {
			return 0, bad
		}
		a := arrival{after: time.Duration(wait) * time.Millisecond}
		switch kind {
		case 'x':
			if len(rest1) > 0 {
				return 0, bad
			}
			return a.after, ""
		case 'o':
			a.stream = runner.Stdout
		case 'e':
			a.stream = runner.Stderr
		case 'i':
			a.stream = inStream
		case 'c':
			a.stream = inClosed
			fn(a)
			if len(rest1) == 0 {
				return 0, ""
			}
			if !more(rest1) {
				return 0, bad
			}
			rest = rest1[1:]
			continue
		case 'r':
			a.stream = resized
			size, rest2, ok := cutSize(rest1)
			if !ok || len(rest2) > 0 && !more(rest2) {
				return 0, bad
			}
			a.n = packSize(size)
			fn(a)
			if len(rest2) == 0 {
				return 0, ""
			}
			rest = rest2[1:]
			continue
		default:
			return 0, bad
		}
		n, space, rest2, ok := cutNumber(rest1)
		if !ok || n == 0 || n > MaxStream || space != ' ' && rest2 != nil {
			return 0, bad
		}
		a.n = n
		fn(a)
		if rest2 == nil {
			return 0, ""
		}
		rest = rest2
	}
}

// cutNumber reads a decimal number without leading zeros and the byte behind it; rest is nil at the end.
func cutNumber(s []byte) (n int64, next byte, rest []byte, ok bool) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		if n > 1<<52 {
			return 0, 0, nil, false
		}
		n = n*10 + int64(s[i]-'0')
		i++
	}
	if i == 0 || s[0] == '0' && i > 1 {
		return 0, 0, nil, false
	}
	if i == len(s) {
		return n, 0, nil, true
	}
	return n, s[i], s[i+1:], true
}

// duration is the time from the start to the end of the run.
func (t tape) duration() (d time.Duration) {
	for _, c := range t.chunks {
		d += c.after
	}
	return d + t.exit
}
