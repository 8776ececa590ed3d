package cassette

import (
	"bytes"
	"strconv"
	"strings"
)

// A placeholder stands in a file for what was redacted: <redacted:RULE:N>, where N tells the different values of one
// rule apart. Where lengths are kept it is filled up with ~, and a value that is too short for that is * throughout.

const placeholderStart = "<redacted:"

// appendRedact appends the line that says that a file holds placeholders.
func appendRedact(dst []byte) []byte { return append(dst, "redact "+RuleSet+"\n"...) }

// ruleSets reads the payload of that line.
func ruleSets(payload string) bool {
	for set := range strings.SplitSeq(payload, " ") {
		name, number, _ := strings.Cut(set, "/")
		if n, ok := parseInt(number, 1_000_000); !ok || n < 1 || !validTokenName(name) {
			return false
		}
	}
	return true
}

// appendPlaceholder appends a placeholder; it takes size bytes when that is not 0.
func appendPlaceholder(dst []byte, rule string, number, size int) []byte {
	from := len(dst)
	dst = append(append(append(dst, placeholderStart...), rule...), ':')
	dst = strconv.AppendInt(dst, int64(number), 10)
	if size == 0 {
		return append(dst, '>')
	}
	if len(dst)+1-from > size {
		return append(dst[:from], bytes.Repeat([]byte{'*'}, size)...)
	}
	for len(dst)+1-from < size {
		dst = append(dst, '~')
	}
	return append(dst, '>')
}

// readPlaceholder reads the placeholder at the start of s: its rule, its number, and its length, 0 when there is none.
func readPlaceholder(s []byte) (rule string, number, size int) {
	rest, ok := bytes.CutPrefix(s, []byte(placeholderStart))
	if !ok {
		return "", 0, 0
	}
	close := bytes.IndexByte(rest[:min(len(rest), 4096)], '>')
	if close < 0 {
		return "", 0, 0
	}
	name, digits, _ := strings.Cut(strings.TrimRight(string(rest[:close]), "~"), ":")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || !validTokenName(name) {
		return "", 0, 0
	}
	return name, n, len(placeholderStart) + close + 1
}

// canonical drops what a placeholder says of its rule and its number: at replay the same call may hold another secret,
// known by another rule. What is left is what is matched.
func canonical(s []byte) []byte {
	at := bytes.Index(s, []byte(placeholderStart))
	if at < 0 {
		return s
	}
	out := append(make([]byte, 0, len(s)), s[:at]...)
	for rest := s[at:]; len(rest) > 0; {
		if _, _, size := readPlaceholder(rest); size > 0 {
			out = append(out, "<redacted>"...)
			rest = rest[size:]
			continue
		}
		next := bytes.Index(rest[1:], []byte(placeholderStart)) + 1
		if next == 0 {
			next = len(rest)
		}
		out = append(out, rest[:next]...)
		rest = rest[next:]
	}
	return out
}

// maskedValue reports whether a value is a placeholder already, or nothing but asterisks, as tools print them.
func maskedValue(value []byte) bool {
	return bytes.HasPrefix(value, []byte(placeholderStart)) || len(bytes.Trim(value, "*")) == 0
}
