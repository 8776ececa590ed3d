package cassette

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/boombox-go/boombox/runner"
)

// A run with a terminal has a line with the size that it began with, one stream of output, and each further size on its tape, where it is a
// turn as input is: what came behind it is played when the terminal is given that size.

// sized is a size as it applies, nil for no terminal.
func sized(p *runner.PTY) runner.PTY {
	if p == nil {
		return runner.PTY{}
	}
	cols, rows := p.Size()
	return runner.PTY{Cols: cols, Rows: rows}
}

// noPTY is that of a run without a terminal.
var noPTY runner.PTY

// packSize makes one number of a size.
func packSize(p runner.PTY) int64 { return int64(p.Cols)<<16 | int64(p.Rows) }

func unpackSize(n int64) runner.PTY { return runner.PTY{Cols: uint16(n >> 16), Rows: uint16(n)} }

func appendSize(dst []byte, p runner.PTY) []byte {
	return strconv.AppendInt(append(strconv.AppendInt(dst, int64(p.Cols), 10), 'x'), int64(p.Rows), 10)
}

// showSize is a size for people.
func showSize(p runner.PTY) string { return string(appendSize(nil, p)) }

// cutSize reads a size, such as 80x24, and what stands behind it.
func cutSize(s []byte) (size runner.PTY, rest []byte, ok bool) {
	cols, x, rest, ok := cutNumber(s)
	if !ok || x != 'x' || cols < 1 || cols > maxSide {
		return noPTY, nil, false
	}
	i := 0
	for i < len(rest) && rest[i] >= '0' && rest[i] <= '9' {
		i++
	}
	rows, _, _, ok := cutNumber(rest[:i])
	if !ok || rows < 1 || rows > maxSide {
		return noPTY, nil, false
	}
	return runner.PTY{Cols: uint16(cols), Rows: uint16(rows)}, rest[i:], true
}

// maxSide is what a terminal can have of columns, or of rows.
const maxSide = 1<<16 - 1

// addPTY takes the line of a terminal.
func (r *runText) addPTY(payload []byte) string {
	size, rest, ok := cutSize(payload)
	if !ok || len(rest) > 0 {
		return "not the size of a terminal: want columns and rows, such as 80x24"
	}
	r.pty = size
	return ""
}

// sizes are those that the terminal was given while the run went on.
func (r *runText) sizes() (list []runner.PTY) {
	if r.pty == noPTY {
		return nil
	}
	for _, a := range r.tape().chunks {
		if a.stream == resized {
			list = append(list, unpackSize(a.n))
		}
	}
	return list
}

// gated reports whether the run is played turn by turn.
func (r *runText) gated() bool { return r.interactive || len(r.sizes()) > 0 }

// describePTY tells what differs about the terminals of two calls, "" for nothing.
func describePTY(recorded, called runner.PTY) string {
	switch {
	case recorded == called:
		return ""
	case called == noPTY:
		return fmt.Sprintf("it was recorded with a terminal of %s, and the call has none", showSize(recorded))
	case recorded == noPTY:
		return fmt.Sprintf("the call has a terminal of %s, and it was recorded without one", showSize(called))
	}
	return fmt.Sprintf("its terminal was %s when it was recorded, and is %s", showSize(recorded), showSize(called))
}

// PTY is the size of the terminal that the run began with, and false where it had none: pipes, or nothing.
func (r *Run) PTY() (size runner.PTY, ok bool) {
	size = r.state().pty
	return size, size != noPTY
}

// Resizes are the sizes that the terminal was given while the run went on, in their order.
func (r *Run) Resizes() []runner.PTY { return slices.Clone(r.state().sizes()) }

// IgnoreSize lets the terminal have any size, at the start and later. That there is one still matters.
func IgnoreSize() Matcher {
	return Matcher{Name: "IgnoreSize", Adapt: func(c Call) Call {
		if c.PTY != noPTY {
			c.PTY = runner.PTY{Cols: 1, Rows: 1}
		}
		return c
	}}
}
