package cassette

import (
	"bytes"
	"slices"
)

// appendEnv appends the line with the names of the overridden variables. Values have no place in a cassette.
func appendEnv(dst []byte, names []string) []byte {
	dst = append(dst, "  env"...)
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		dst = append(dst, ' ')
		if bareName([]byte(name)) {
			dst = append(dst, name...)
		} else {
			dst = append(appendEscaped(append(dst, '"'), []byte(name)), '"')
		}
	}
	return append(dst, '\n')
}

// bareName reports whether a name needs no quotes.
func bareName(name []byte) bool {
	for i, c := range name {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return len(name) > 0
}

// parseNames reads the payload of an env line: sorted names, each once.
func parseNames(payload []byte) (names []string, problem string) {
	for rest := payload; ; {
		var name string
		end := bytes.IndexByte(rest, ' ')
		if len(rest) > 0 && rest[0] == '"' {
			if end = closingQuote(rest); end < 0 {
				return nil, "name of a variable that is not closed"
			}
			if _, problem := checkQuoted(rest[:end]); problem != "" {
				return nil, problem
			}
			name = unquoted(rest[:end])
			if end == len(rest) {
				end = -1
			} else if rest[end] != ' ' {
				return nil, "no space between the names of variables"
			}
		} else {
			bare := rest
			if end >= 0 {
				bare = rest[:end]
			}
			if !bareName(bare) {
				return nil, "name of a variable that needs quotes"
			}
			name = string(bare)
		}
		if len(names) > 0 && name <= names[len(names)-1] {
			return nil, "names of variables that are not sorted, or not different"
		}
		names = append(names, name)
		if end < 0 {
			return names, ""
		}
		rest = rest[end+1:]
	}
}

// closingQuote is the index behind the quoted string at the start of s, or -1.
func closingQuote(s []byte) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}
