package runner

import "bytes"

// lineCap counts the lines of a stream up to a cap.
type lineCap struct {
	framing Framing
	// most is how many lines there may be, 0 for any number.
	most, ended int64
	// afterCR: a "\n" that comes next belongs to the line before.
	afterCR bool
	// passed: there was more.
	passed bool
}

// admit is how much of b belongs to the first lines.
func (c *lineCap) admit(b []byte) int {
	switch {
	case c.most == 0:
		return len(b)
	case c.passed:
		return 0
	}
	for i := 0; i < len(b); {
		joined := c.afterCR && b[i] == '\n'
		c.afterCR = false
		if joined {
			i++
			continue
		}
		if c.ended == c.most {
			c.passed = true
			return i
		}
		n := c.framing.end(b[i:])
		if n < 0 {
			break
		}
		i += n + 1
		c.ended++
		c.afterCR = b[i-1] == '\r'
	}
	return len(b)
}

// end is where the first line of b ends, -1 when it does not.
func (f Framing) end(b []byte) int {
	if f == CarriageReturn {
		return bytes.IndexAny(b, "\r\n")
	}
	return bytes.IndexByte(b, '\n')
}

// lastLines is how many bytes at the end of the chunks hold their last lines, at most that many.
func lastLines(chunks [][]byte, f Framing, most int64) (n int64) {
	last, next := true, byte(0)
	for i := len(chunks) - 1; i >= 0; i-- {
		for j := len(chunks[i]) - 1; j >= 0; j-- {
			c := chunks[i][j]
			if ends := c == '\n' || f == CarriageReturn && c == '\r' && next != '\n'; ends && !last {
				if most--; most == 0 {
					return n
				}
			}
			last, next = false, c
			n++
		}
	}
	return n
}
