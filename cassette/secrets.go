package cassette

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// ErrSecret: a value cannot be registered as a secret, since it would be found all over the place.
var ErrSecret = errors.New("cassette: secret without a usable value")

const (
	// leastSecret is the fewest bytes of a registered secret.
	leastSecret = 4
	// leastEnvSecret is the fewest bytes of one that is known by the name of its variable alone: on, 8080 and dev are none.
	leastEnvSecret = 6
)

// literal is a value that must not reach a file, and what its placeholders are called.
type literal struct{ rule, value string }

// envRule is what the placeholders of environment values are called.
const envRule = "env"

// envSecrets are the values of the variables whose names say that they are secret, and the passwords inside URLs.
func envSecrets(environ []string) (list []literal) {
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		value = strings.TrimSpace(value)
		if len(value) < leastEnvSecret {
			continue
		}
		if u, err := url.Parse(value); err == nil && u.User != nil {
			if password, ok := u.User.Password(); ok && len(password) >= leastSecret {
				list = append(list, literal{envRule, password})
			}
		}
		if secretName(name, true) && !commonplace(value) {
			list = append(list, literal{envRule, value})
		}
	}
	return list
}

// commonplace values are none, whatever the name says: places of files, numbers that are no longer than a port, words
// that switch something.
func commonplace(value string) bool {
	switch {
	case value[0] == '/' && !strings.ContainsAny(value, "+="), strings.HasPrefix(value, "./"), len(value) > 2 && value[1:3] == `:\`:
		return true
	}
	switch strings.ToLower(value) {
	case "false", "disabled", "enabled", "required", "optional", "default", "inherit", "always", "prompt", "anonymous":
		return true
	}
	return false
}

// secretName reports whether the name of a variable or of a flag says that its value is secret. It goes by the words of
// the name: DB_PASSWORD, apiKey and --client-secret do, TOKEN_FILE, GIT_AUTHOR_NAME and --max-tokens do not.
func secretName(name string, variable bool) bool {
	words := nameWords(name)
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	switch last {
	case "file", "path", "dir", "sock", "socket", "name", "type", "ttl", "stdin", "url", "uri", "user", "username", "id", "length",
		"count", "expiry", "expires", "timeout", "policy", "prompt", "helper", "store", "command", "cmd", "env", "version":
		return false
	}
	if words[0] == "no" {
		return false
	}
	for i, word := range words {
		switch word {
		case "password", "passwd", "passphrase", "secret", "secrets", "token", "credential", "credentials", "apikey", "accesskey", "secretkey", "jwt":
			return true
		case "key":
			if i == 0 || i < len(words)-1 {
				continue
			}
			switch words[i-1] {
			case "api", "access", "secret", "private", "encryption", "signing", "master", "auth", "account", "storage", "deploy", "license":
				return true
			case "public", "sort", "primary", "foreign", "host", "repo":
				continue
			}
			if variable {
				return true
			}
		case "pass", "pwd", "auth", "cookie", "dsn", "pat":
			if variable && len(words) > 1 && i == len(words)-1 {
				return true
			}
		}
	}
	return false
}

// nameWords splits at everything that is no letter, and where a capital follows a small letter; digits are dropped.
func nameWords(name string) []string {
	var b strings.Builder
	before := ' '
	for _, c := range name {
		switch {
		case !unicode.IsLetter(c):
			c = ' '
		case unicode.IsUpper(c) && unicode.IsLower(before):
			b.WriteByte(' ')
		}
		before = c
		b.WriteRune(unicode.ToLower(c))
	}
	return strings.Fields(b.String())
}

// literalRules are the rules that find the values of list, as they are and as encodings would write them.
func literalRules(list []literal) []*rule {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b literal) int { return len(b.value) - len(a.value) })
	seen := map[string]bool{}
	var rules []*rule
	for _, l := range list {
		if seen[l.value] {
			continue
		}
		seen[l.value] = true
		forms := spellings(l.value)
		rules = append(rules, &rule{name: l.rule, anchors: forms, shaped: true, match: func(_ []byte, at, end int) (int, int) {
			return at, end
		}})
		if inner := base64Inner(l.value); len(inner) > 0 {
			rules = append(rules, &rule{name: l.rule, anchors: inner, shaped: true, match: matchBase64Run})
		}
	}
	return rules
}

// matchBase64Run widens a match to the run of base64 around it: its edges hold bits of the secret.
func matchBase64Run(data []byte, at, end int) (int, int) {
	for at > 0 && base64Char[data[at-1]] {
		at--
	}
	for end < len(data) && (base64Char[data[end]] || data[end] == '=') {
		end++
	}
	return at, end
}

// spellings are the ways in which programs print a value: raw, and escaped for URLs, JSON, HTML, shells and Go; in
// hexadecimal; and its lines, where it has several.
func spellings(value string) []string {
	forms := []string{value}
	for _, v := range []string{value, strings.ReplaceAll(value, "\n", "\r\n")} {
		quoted, _ := json.Marshal(v)
		plain := new(bytes.Buffer)
		encoder := json.NewEncoder(plain)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(v)
		twice, _ := json.Marshal(strings.Trim(string(quoted), `"`))
		ascii := strconv.QuoteToASCII(v)
		escaped := url.QueryEscape(v)
		forms = append(forms, v, string(quoted[1:len(quoted)-1]), strings.TrimSuffix(plain.String(), "\n")[1:plain.Len()-2],
			string(twice[1:len(twice)-1]), ascii[1:len(ascii)-1], string(appendEscaped(nil, []byte(v))),
			escaped, strings.ReplaceAll(escaped, "+", "%20"), url.PathEscape(v), lowerPercent(escaped),
			html.EscapeString(v), strings.ReplaceAll(v, "'", `'\''`), backslashed(v),
			hex.EncodeToString([]byte(v)), strings.ToUpper(hex.EncodeToString([]byte(v))))
	}
	if strings.Contains(value, "\n") {
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); len(line) >= 16 && !strings.HasPrefix(line, "-----") {
				forms = append(forms, line)
			}
		}
	}
	slices.Sort(forms)
	forms = slices.Compact(forms)
	return slices.DeleteFunc(forms, func(form string) bool { return len(form) < leastSecret })
}

func lowerPercent(escaped string) string {
	b := []byte(escaped)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i:], bytes.ToLower(b[i:i+3]))
		}
	}
	return string(b)
}

func backslashed(v string) string {
	var b strings.Builder
	for _, c := range []byte(v) {
		if c < 0x80 && !wordy[c] && c != '-' && c != '.' && c != '/' {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// base64Inner are the characters that a value has in base64 whatever stands around it: one spelling for each way in
// which it can lie across groups of three bytes, in both alphabets.
func base64Inner(value string) (forms []string) {
	for shift := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), value...))
		from := (shift*8 + 5) / 6
		to := (shift + len(value)) * 8 / 6
		if to-from < 6 {
			continue
		}
		inner := encoded[from:to]
		forms = append(forms, inner)
		if other := strings.NewReplacer("+", "-", "/", "_").Replace(inner); other != inner {
			forms = append(forms, other)
		}
	}
	return forms
}

// registerSecret checks a secret that is registered by the caller.
func registerSecret(list []literal, name, value string) ([]literal, error) {
	if !validTokenName(name) {
		return list, fmt.Errorf("%w: its name must be made of a-z, 0-9 and -, beginning with a letter", ErrSecret)
	}
	if len(value) < leastSecret {
		return list, fmt.Errorf("%w: %q has fewer than %d bytes", ErrSecret, name, leastSecret)
	}
	if strings.Trim(value, "*") == "" || strings.Contains(placeholderStart+name+":", value) {
		return list, fmt.Errorf("%w: %q is what takes its place", ErrSecret, name)
	}
	return append(list, literal{name, value}), nil
}
