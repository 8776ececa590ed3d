package cassette

import (
	"fmt"
	"time"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/runner"
)

// draft is one run as it was observed, in live bytes, before it becomes text.
type draft struct {
	argv    []string
	dir     string
	env     []string
	stdin   []byte
	inherit bool
	// interactive says that the input is one side of a conversation, whose order the tape has.
	interactive bool
	// pty is the size of the terminal at the start, zero for none.
	pty     runner.PTY
	stream  [2]capture
	end     ending
	effects []effect
	// undeclared is how many files it changed besides, -1 for too many to know.
	undeclared int
	held       bool
	evidence   contain.Evidence
	tape       tape
	taped      bool // an observed run has a tape even when it wrote nothing
}

// capture is one output stream: what is kept of it, and which part that is.
type capture struct {
	data []byte
	// dropped is how many bytes are not kept: behind data, or before it when tail is set.
	dropped int64
	tail    bool
}

// append appends the run as it stands in a file, and puts what does not into side.
func (d *draft) append(dst []byte, t translator, side sideFiles) []byte {
	dst = append(dst, "run\n"...)
	for _, arg := range d.argv {
		dst = appendQuotedLine(dst, "argv", t.toFile([]byte(arg), nil))
	}
	if d.dir != "" {
		dst = appendQuotedLine(dst, "dir", t.toFile([]byte(d.dir), nil))
	}
	if len(d.env) > 0 {
		dst = appendEnv(dst, d.env)
	}
	if d.pty != noPTY {
		dst = append(appendSize(append(dst, "  pty "...), d.pty), '\n')
	}
	arrivals := d.tape
	switch {
	case d.inherit:
		dst = append(dst, "  stdin inherit\n"...)
	case d.interactive:
		var data []byte
		data, arrivals = translateStream(capture{data: d.stdin}, inStream, arrivals, t.toFile)
		dst = appendStream(append(dst, "  stdin interactive\n"...), "in", data, side)
	default:
		dst = appendStream(dst, "in", t.toFile(d.stdin, nil), side)
	}
	var cuts []byte
	for id, c := range d.stream {
		var data []byte
		data, arrivals = translateStream(c, runner.StreamID(id), arrivals, t.toFile)
		tag := [2]string{"out", "err"}[id]
		dst = appendStream(dst, tag, data, side)
		cuts = appendCut(cuts, tag, c, len(data))
	}
	end := d.end
	if end.failure != nil && end.failure.text != "" {
		f := *end.failure
		f.text = string(t.toFile([]byte(f.text), nil))
		end.failure = &f
	}
	dst = appendEnding(dst, end)
	if d.held {
		dst = append(dst, "  pipes-held\n"...)
	}
	dst = append(appendLimits(dst, d.evidence), cuts...)
	if d.taped {
		dst = appendTape(dst, arrivals)
	}
	dst = appendEffects(dst, d.effects, t, side)
	if d.undeclared > 0 {
		dst = fmt.Appendf(dst, "  x-undeclared %d\n", d.undeclared)
	}
	return dst
}

// translateStream translates one stream, and moves the chunk ends of the tape that belong to it.
func translateStream(c capture, id runner.StreamID, t tape, translate func([]byte, []int) []byte) ([]byte, tape) {
	var marks []int   // where each chunk ends within the kept bytes
	var outer []int64 // and how far it reaches into the dropped ones
	var sum int64
	for _, a := range t.chunks {
		if a.stream != id {
			continue
		}
		sum += a.n
		inner := min(sum, int64(len(c.data)))
		if c.tail {
			inner = max(sum-c.dropped, 0)
		}
		marks = append(marks, int(inner))
		outer = append(outer, sum-inner)
	}
	data := translate(c.data, marks)
	if len(data) == len(c.data) && (len(data) == 0 || &data[0] == &c.data[0]) {
		return data, t // nothing was found
	}
	moved := tape{chunks: make([]arrival, 0, len(t.chunks))}
	var before int64
	var carried time.Duration
	for _, a := range t.chunks {
		a.after += carried
		carried = 0
		if a.stream == id {
			end := int64(marks[0]) + outer[0]
			marks, outer = marks[1:], outer[1:]
			a.n, before = end-before, end
			if a.n == 0 { // swallowed by a replacement that an earlier chunk began
				carried = a.after
				continue
			}
		}
		moved.chunks = append(moved.chunks, a)
	}
	moved.exit = t.exit + carried
	return data, moved
}
