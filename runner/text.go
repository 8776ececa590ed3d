package runner

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxShown bounds any foreign text that goes into one of our messages, in bytes.
const maxShown = 200

// plain makes foreign text fit for a message: one line, bounded, and without the control, format and bidirectional
// characters with which a name could forge a terminal line or reorder the text around it.
func plain(s string) string {
	if len(s) <= maxShown && strings.IndexFunc(s, hostile) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hostile(r) {
			r = '?'
		}
		if b.Len()+utf8.RuneLen(r) > maxShown-len("...") {
			b.WriteString("...")
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

// hostile reports whether r must not be shown. RuneError stands for bytes that are not UTF-8; Cf holds the bidi
// controls and the zero-width characters, Zl and Zp the line and paragraph separators.
func hostile(r rune) bool {
	if ' ' <= r && r <= '~' {
		return false
	}
	return r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
}
