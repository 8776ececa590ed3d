package cassette

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// This file is the quoting of FORMAT.md: the interpreted string literals of Go without octal escapes. Everything that
// is not a printable character is escaped, so that a file shows its bytes and can do nothing to a terminal.

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks the bytes of a word that do not stand for themselves between quotes: everything but printable ASCII
// without the quote and the backslash. The lowest mark is right; those above it need not be, since a borrow or a carry
// can make a later byte look special. Looking at eight bytes in one step is what makes loading a large cassette fast.
func special(word uint64) uint64 {
	quote, slash := word^(ones*'"'), word^(ones*'\\')
	marks := (word - ones*' ') &^ word // below the space
	marks |= word | (word + ones)      // not ASCII, or DEL
	marks |= (quote - ones) &^ quote   // a zero byte where the quote was
	marks |= (slash - ones) &^ slash
	return marks & highs
}

// plain is the length of the prefix of s that has nothing special.
func plain(s []byte) int {
	n := 0
	for len(s)-n >= 8 {
		if marks := special(binary.LittleEndian.Uint64(s[n:])); marks != 0 {
			return n + bits.TrailingZeros64(marks)/8
		}
		n += 8
	}
	for n < len(s) && s[n] >= ' ' && s[n] < 0x7f && s[n] != '"' && s[n] != '\\' {
		n++
	}
	return n
}

// appendEscaped appends s as it stands between quotes.
func appendEscaped(dst, s []byte) []byte {
	for len(s) > 0 {
		n := plain(s)
		dst = append(dst, s[:n]...)
		if s = s[n:]; len(s) == 0 {
			break
		}
		r, size := utf8.DecodeRune(s)
		switch {
		case r == utf8.RuneError && size == 1:
			dst = appendHex(dst, s[0])
		case r == '"' || r == '\\':
			dst = append(dst, '\\', s[0])
		case r < utf8.RuneSelf:
			dst = appendControl(dst, s[0])
		case strconv.IsPrint(r) && !treacherous(r):
			dst = append(dst, s[:size]...)
		default:
			dst = appendRune(dst, r)
		}
		s = s[size:]
	}
	return dst
}

// escapedLen is the length of what appendEscaped appends, and whether s holds a NUL or bytes that are not UTF-8.
func escapedLen(s []byte) (length int, binary bool) {
	for len(s) > 0 {
		n := plain(s)
		length += n
		if s = s[n:]; len(s) == 0 {
			break
		}
		r, size := utf8.DecodeRune(s)
		switch {
		case r == utf8.RuneError && size == 1:
			length, binary = length+4, true
		case r == '"' || r == '\\' || r >= '\a' && r <= '\r':
			length += 2
		case r < utf8.RuneSelf:
			length, binary = length+4, binary || r == 0
		case strconv.IsPrint(r) && !treacherous(r):
			length += size
		case r > 0xffff:
			length += 10
		default:
			length += 6
		}
		s = s[size:]
	}
	return length, binary
}

const hexDigits = "0123456789abcdef"

func appendHex(dst []byte, b byte) []byte {
	return append(dst, '\\', 'x', hexDigits[b>>4], hexDigits[b&15])
}

func appendControl(dst []byte, b byte) []byte {
	if b >= '\a' && b <= '\r' {
		return append(dst, '\\', "abtnvfr"[b-'\a'])
	}
	return appendHex(dst, b)
}

func appendRune(dst []byte, r rune) []byte {
	digits, kind := 4, byte('u')
	if r > 0xffff {
		digits, kind = 8, 'U'
	}
	dst = append(dst, '\\', kind)
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		dst = append(dst, hexDigits[r>>shift&15])
	}
	return dst
}

// checkQuoted reads one quoted string that is all of s, and returns how many bytes it stands for. What is wrong with
// s is told without showing any of it.
func checkQuoted(s []byte) (length int, problem string) {
	s, problem = unwrap(s)
	length = len(s)
	for i := 0; i < len(s) && problem == ""; {
		// As plain does it, without a call: in coloured output the next escape is never far.
		if len(s)-i >= 8 {
			marks := special(binary.LittleEndian.Uint64(s[i:]))
			if marks == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(marks) / 8
		}
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && simpleEscapes[s[i+1]] != 0:
			length--
			i += 2
		case c == '\\' && i+3 < len(s) && s[i+1] == 'x' && isHex(s[i+2]) && isHex(s[i+3]):
			length -= 3
			i += 4
		case c >= ' ' && c < 0x7f && c != '"' && c != '\\':
			i++
		default:
			var u unit
			u, problem = readUnit(s[i:])
			length -= u.size - u.length()
			i += max(u.size, 1)
		}
	}
	return length, problem
}

// scanQuoted is checkQuoted for the text behind an opening quote, up to the line end that must follow the closing one: how many
// bytes it stands for, and how many it takes with that line end. A length of -1 means that it does not read, or not here.
func scanQuoted(s []byte) (length, size int) {
	for i := 0; ; {
		if len(s)-i >= 8 {
			marks := special(binary.LittleEndian.Uint64(s[i:]))
			if marks == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(marks) / 8
		}
		if i >= len(s) {
			return -1, 0
		}
		switch c := s[i]; {
		case c == '"':
			if i+1 >= len(s) || s[i+1] != '\n' {
				return -1, 0
			}
			return length + i, i + 2
		case c == '\\' && i+1 < len(s) && simpleEscapes[s[i+1]] != 0:
			length--
			i += 2
		case c >= ' ' && c < 0x7f && c != '\\':
			i++
		default:
			u, problem := readUnit(s[i:])
			if problem != "" {
				return -1, 0
			}
			length -= u.size - u.length()
			i += u.size
		}
	}
}

// readText is what the text lines of one stream stand for: size bytes. prefix is how much stands before the text of a line, its opening
// quote included. The lines were checked.
func readText(lines []byte, prefix, size int) []byte {
	dst := make([]byte, size)
	if !readEven(dst, lines, prefix) {
		dst = appendText(dst[:0], lines, prefix)
	}
	return dst
}

// readEven reads lines that each end in an escape, as those of output do, except for the last one: so the next backslash is all that is
// looked for. It reports false where lines are not like that: it would read the end of one as a part of it, and so come to more than
// there is.
func readEven(dst, lines []byte, prefix int) bool {
	const step = 64
	i, n := prefix, 0
	for i < len(lines) {
		k := bytes.IndexByte(lines[i:], '\\')
		if k < 0 {
			k = len(lines) - i - len("\"\n")
			return n+k == len(dst) && copy(dst[n:], lines[i:i+k]) == k
		}
		switch {
		case n+k >= len(dst):
			return false
		case k <= step && len(lines)-i >= step && len(dst)-n >= step:
			*(*[step]byte)(dst[n:]) = *(*[step]byte)(lines[i:]) // which is faster than to copy no more than is wanted
		default:
			copy(dst[n:], lines[i:i+k])
		}
		i, n = i+k, n+k
		if simple := simpleEscapes[lines[i+1]]; simple != 0 {
			dst[n] = simple
			i, n = i+2, n+1
		} else {
			u, _ := readUnit(lines[i:])
			if n+u.length() > len(dst) {
				return false
			}
			if u.isByte {
				dst[n] = byte(u.value)
			} else {
				utf8.EncodeRune(dst[n:], u.value)
			}
			i, n = i+u.size, n+u.length()
		}
		if lines[i] == '"' {
			if i += len("\"\n"); i < len(lines) && lines[i+2] == 'x' {
				return false
			}
			i += prefix
		}
	}
	return n == len(dst)
}

// appendText appends what the text lines of one stream stand for.
func appendText(dst, lines []byte, prefix int) []byte {
	for len(lines) > prefix {
		eol := bytes.IndexByte(lines, '\n')
		if lines[2] != 'x' {
			dst = appendInner(dst, lines[prefix:eol-1])
		}
		lines = lines[eol+1:]
	}
	return dst
}

// appendInner appends what a checked string stands for, without its quotes.
func appendInner(dst, s []byte) []byte {
	for len(s) > 0 {
		n := bytes.IndexByte(s, '\\')
		if n < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:n]...)
		if simple := simpleEscapes[s[n+1]]; simple != 0 {
			dst = append(dst, simple)
			s = s[n+2:]
			continue
		}
		u, _ := readUnit(s[n:])
		if u.isByte {
			dst = append(dst, byte(u.value))
		} else {
			dst = utf8.AppendRune(dst, u.value)
		}
		s = s[n+u.size:]
	}
	return dst
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// simpleEscapes are the characters that stand behind a backslash for one byte, and that byte.
var simpleEscapes = [256]byte{
	'a': '\a', 'b': '\b', 't': '\t', 'n': '\n', 'v': '\v', 'f': '\f', 'r': '\r', '\\': '\\', '"': '"',
}

// appendUnquoted appends what s stands for. checkQuoted has accepted s.
func appendUnquoted(dst, s []byte) []byte { return appendInner(dst, s[1:len(s)-1]) }

func unwrap(s []byte) ([]byte, string) {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return nil, "not one quoted string"
	}
	return s[1 : len(s)-1], ""
}

// unit is one character or escape between quotes: size bytes of the file.
type unit struct {
	value  rune
	isByte bool
	size   int
}

func (u unit) length() int {
	if u.isByte {
		return 1
	}
	return utf8.RuneLen(u.value)
}

// readUnit reads the character or escape at the start of s, which is not empty.
func readUnit(s []byte) (unit, string) {
	switch c := s[0]; {
	case c == '"':
		return unit{}, "quote inside a quoted string"
	case c < ' ' || c == 0x7f:
		return unit{}, "control character that is not escaped"
	case c >= utf8.RuneSelf:
		r, size := utf8.DecodeRune(s)
		if r == utf8.RuneError && size == 1 {
			return unit{}, "bytes that are not UTF-8"
		}
		if treacherous(r) {
			return unit{}, "invisible or direction-changing character that is not escaped"
		}
		return unit{value: r, size: size}, ""
	case c != '\\':
		return unit{value: rune(c), size: 1}, ""
	}
	if len(s) < 2 {
		return unit{}, "backslash before the closing quote"
	}
	if simple := simpleEscapes[s[1]]; simple != 0 {
		return unit{value: rune(simple), isByte: true, size: 2}, ""
	}
	switch s[1] {
	case 'x':
		return readDigits(s, 2)
	case 'u':
		return readDigits(s, 4)
	case 'U':
		return readDigits(s, 8)
	}
	return unit{}, "unknown escape"
}

func readDigits(s []byte, digits int) (unit, string) {
	if len(s) < 2+digits {
		return unit{}, "escape cut short"
	}
	value := uint64(0)
	for _, c := range s[2 : 2+digits] {
		switch {
		case c >= '0' && c <= '9':
			value = value<<4 | uint64(c-'0')
		case c >= 'a' && c <= 'f':
			value = value<<4 | uint64(c-'a'+10)
		case c >= 'A' && c <= 'F':
			value = value<<4 | uint64(c-'A'+10)
		default:
			return unit{}, "escape with a digit that is not hexadecimal"
		}
	}
	if digits == 2 {
		return unit{value: rune(value), isByte: true, size: 4}, ""
	}
	if value > utf8.MaxRune || !utf8.ValidRune(rune(value)) {
		return unit{}, "escape that is not a character"
	}
	return unit{value: rune(value), size: 2 + digits}, ""
}

// treacherous are the characters that a reader of the file would not see, or that would show him the rest of the line
// in another order. The list is fixed: what a file may hold must not change with the Unicode tables of a Go release.
func treacherous(r rune) bool {
	switch {
	case r >= 0x80 && r <= 0x9f, // C1 controls
		r == 0x061c, r >= 0x200b && r <= 0x200f, // marks and joiners without width
		r >= 0x2028 && r <= 0x202e,              // separators, embeddings, overrides
		r >= 0x2060 && r <= 0x206f, r == 0xfeff, // isolates, invisible operators, byte order mark
		r >= 0xe0000 && r <= 0xe0fff: // tags
		return true
	}
	return false
}
