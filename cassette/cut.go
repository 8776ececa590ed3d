package cassette

import "strconv"

// appendCut appends the line of a stream that is not kept whole.
func appendCut(dst []byte, tag string, c capture, kept int) []byte {
	if c.dropped == 0 {
		return dst
	}
	part := " head "
	if c.tail {
		part = " tail "
	}
	dst = append(append(append(dst, "  cut "...), tag...), part...)
	return append(strconv.AppendInt(dst, int64(kept)+c.dropped, 10), '\n')
}
