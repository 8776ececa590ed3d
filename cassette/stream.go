package cassette

import (
	"bytes"
	"encoding/base64"
	"unicode/utf8"
)

const (
	// maxPiece is the most bytes of a stream that one text line stands for when no newline ends it sooner.
	maxPiece = 16 << 10
	// base64Line is how many bytes of a stream a base64 line stands for: 128 characters.
	base64Line = 96
)

// base64Strict refuses what the encoder never writes: stray padding bits and line breaks inside a line.
var base64Strict = base64.StdEncoding.Strict()

// mostlyBinary decides how a stream is written, from its bytes alone, so that recording it again decides the same:
// base64 when it holds a NUL or bytes that are not UTF-8 and escaping would make it more than 1.6 times as long.
func mostlyBinary(data []byte) bool {
	length, binary := escapedLen(data)
	return binary && length*5 > len(data)*8
}

// appendStream appends the lines of one stream: none when it is empty. With side nil, all of it stands in the file.
func appendStream(dst []byte, tag string, data []byte, side sideFiles) []byte {
	if len(data) == 0 {
		return dst
	}
	if side != nil && bulky(data) {
		return appendSide(dst, tag, side.put(data), len(data))
	}
	if mostlyBinary(data) {
		for len(data) > 0 {
			n := min(base64Line, len(data))
			dst = append(append(append(dst, "  "...), tag...), "64 "...)
			dst = base64Strict.AppendEncode(dst, data[:n])
			dst = append(dst, '\n')
			data = data[n:]
		}
		return dst
	}
	for len(data) > 0 {
		n := min(maxPiece, len(data))
		if i := bytes.IndexByte(data[:n], '\n'); i >= 0 {
			n = i + 1
		} else if n < len(data) {
			for cut := n; cut > n-utf8.UTFMax; cut-- {
				if utf8.RuneStart(data[cut]) { // better readable when no character is torn
					n = cut
					break
				}
			}
		}
		dst = appendQuotedLine(dst, tag, data[:n])
		data = data[n:]
	}
	return dst
}

func appendQuotedLine(dst []byte, tag string, data []byte) []byte {
	dst = append(append(append(dst, "  "...), tag...), ` "`...)
	dst = appendEscaped(dst, data)
	return append(dst, "\"\n"...)
}

// checkBase64 is checkQuoted for a base64 line. Only the last line of a stream may be padded, which last tells the
// caller.
func checkBase64(s []byte) (length int, last bool, problem string) {
	if len(s) == 0 || len(s)%4 != 0 {
		return 0, false, "base64 of a length that is no multiple of four"
	}
	var out [3 * 64]byte
	for len(s) > 0 {
		n := min(len(s), 256)
		k, err := base64Strict.Decode(out[:], s[:n])
		if err != nil || bytes.IndexByte(s[:n], '\r') >= 0 {
			return 0, false, "not base64"
		}
		length += k
		if s = s[n:]; k%3 != 0 {
			if len(s) > 0 {
				return 0, false, "not base64"
			}
			return length, true, ""
		}
	}
	return length, false, ""
}

func appendBase64(dst, s []byte) []byte {
	dst, _ = base64Strict.AppendDecode(dst, s) // checked when the file was read
	return dst
}
