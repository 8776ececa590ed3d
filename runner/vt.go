package runner

// vtFilter takes terminal control sequences out of a stream: CSI (colours, cursor movements), OSC, DCS, APC, PM and SOS
// strings with all they hold, two-byte escapes, and the control characters BEL, BS, SO, SI and DEL. Tabs, line ends and
// all else stay. Only 7-bit sequences count: the 8-bit forms are parts of UTF-8 characters. What it gives depends on the
// bytes alone. A sequence that the stream ends in is dropped.
type vtFilter struct{ state vtState }

type vtState int

const (
	vtText       vtState = iota
	vtEscape             // after ESC
	vtCharset            // after ESC and an intermediate byte: one more, or several
	vtSequence           // in a CSI, until its final byte
	vtString             // in a string, until BEL or ESC \
	vtStringLast         // in a string, after ESC
)

const (
	charBEL = 0x07
	charBS  = 0x08
	charSO  = 0x0e
	charSI  = 0x0f
	charCAN = 0x18
	charSUB = 0x1a
	charESC = 0x1b
	charDEL = 0x7f
)

// strip appends to dst what of src stays.
func (v *vtFilter) strip(dst, src []byte) []byte {
	for _, c := range src {
		if v.shows(c) {
			dst = append(dst, c)
		}
	}
	return dst
}

// shows reports whether c is text.
func (v *vtFilter) shows(c byte) bool {
	switch {
	case v.state == vtText:
		switch c {
		case charESC:
			v.state = vtEscape
			return false
		case charBEL, charBS, charSO, charSI, charDEL:
			return false
		}
		return true
	case c == charCAN || c == charSUB:
		// Both abort a sequence on every terminal.
		v.state = vtText
	case v.state == vtString || v.state == vtStringLast:
		v.state = v.inString(c)
	case c == charESC:
		v.state = vtEscape
	case c < ' ':
		// Terminals obey a control character in the middle of a sequence, and go on with that.
		return c == '\n' || c == '\r' || c == '\t'
	case v.state == vtEscape:
		v.state = afterEscape(c)
	case v.state == vtCharset:
		if c >= '0' {
			v.state = vtText
		}
	case c >= '@':
		v.state = vtText
	}
	return false
}

func (v *vtFilter) inString(c byte) vtState {
	switch {
	case c == charBEL || v.state == vtStringLast && c == '\\':
		return vtText
	case c == charESC:
		return vtStringLast
	case v.state == vtStringLast:
		// ESC ends the string whatever follows, and begins a sequence of its own.
		return afterEscape(c)
	default:
		return vtString
	}
}

func afterEscape(c byte) vtState {
	switch {
	case c == '[':
		return vtSequence
	case c == ']' || c == 'P' || c == '_' || c == '^' || c == 'X':
		return vtString
	case c < '0':
		return vtCharset
	default:
		return vtText
	}
}
