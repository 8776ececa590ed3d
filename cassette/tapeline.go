package cassette

import (
	"bytes"
	"slices"
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
		kind := byte('o')
		if c.stream == runner.Stderr {
			kind = 'e'
		}
		dst = append(appendMillis(append(dst, ' '), c.after), kind)
		dst = strconv.AppendInt(dst, c.n, 10)
	}
	return append(appendMillis(append(dst, ' '), t.exit), "x\n"...)
}

func appendMillis(dst []byte, d time.Duration) []byte {
	return strconv.AppendInt(dst, min(max(d, 0), maxWait).Milliseconds(), 10)
}

// parseTape reads the payload of a tape line.
func parseTape(payload []byte) (t tape, problem string) {
	const bad = "not a tape: want intervals in ms, o, e or x, and byte counts, such as 0o47 3e23 12x"
	fields := bytes.Split(payload, []byte{' '})
	t.chunks = make([]arrival, 0, len(fields))
	for i, field := range fields {
		wait, kind, rest, ok := cutNumber(field)
		if !ok || wait > maxWait.Milliseconds() {
			return tape{}, bad
		}
		after := time.Duration(wait) * time.Millisecond
		if kind == 'x' && len(rest) == 0 && i == len(fields)-1 {
			t.exit = after
			return t, ""
		}
		n, _, rest, ok := cutNumber(append(slices.Clip(rest), 0))
		if !ok || len(rest) != 0 || n == 0 || kind != 'o' && kind != 'e' {
			return tape{}, bad
		}
		c := arrival{after: after, n: n}
		if c.stream = runner.Stdout; kind == 'e' {
			c.stream = runner.Stderr
		}
		t.chunks = append(t.chunks, c)
	}
	return t, ""
}

// cutNumber reads a decimal number without leading zeros and the byte behind it.
func cutNumber(s []byte) (n int64, next byte, rest []byte, ok bool) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		if n > 1<<52 {
			return 0, 0, nil, false
		}
		n = n*10 + int64(s[i]-'0')
		i++
	}
	if i == 0 || i == len(s) || s[0] == '0' && i > 1 {
		return 0, 0, nil, false
	}
	return n, s[i], s[i+1:], true
}

// total is how many bytes of one stream the tape accounts for.
func (t tape) total(id runner.StreamID) (n int64) {
	for _, c := range t.chunks {
		if c.stream == id {
			if n += c.n; n < 0 || n > 1<<60 {
				return -1
			}
		}
	}
	return n
}

// duration is the time from the start to the end of the run.
func (t tape) duration() (d time.Duration) {
	for _, c := range t.chunks {
		d += c.after
	}
	return d + t.exit
}
