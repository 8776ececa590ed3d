package cassette

import "bytes"

// The rules of this file know a secret by what stands before it. What is masked already is none.

// matchURL takes the password of scheme://user:password@host, or a user that looks like a token.
func matchURL(data []byte, _, end int) (int, int) {
	to := end
	for to < len(data) && to-end < 4096 && data[to] > ' ' && data[to] != 0x7f && bytes.IndexByte([]byte(`/?#"'<>\`), data[to]) < 0 {
		to++
	}
	// A placeholder holds < and >: it ends the authority, and there is nothing left to be found in it.
	at := bytes.LastIndexByte(data[end:to], '@')
	if at <= 0 {
		return -1, 0
	}
	userinfo := data[end : end+at]
	if colon := bytes.IndexByte(userinfo, ':'); colon >= 0 {
		return secretValue(data, end+colon+1, end+at, 1)
	}
	if len(userinfo) < 12 || !plausible(userinfo) {
		return -1, 0
	}
	return end, end + at
}

// secretValue is data[from:to] if it has at least so many bytes and is not masked.
func secretValue(data []byte, from, to, least int) (int, int) {
	if to-from < least || maskedValue(data[from:to]) {
		return -1, 0
	}
	return from, to
}

// separator skips what stands between a name and its value: quotes, spaces, and one : or =. The value is on the same
// line. quote is the quote that the value began with, 0 for none.
func separator(data []byte, at int) (from int, sep, quote byte, ok bool) {
	skip := func(set string) {
		for at < len(data) && bytes.IndexByte([]byte(set), data[at]) >= 0 {
			at++
		}
	}
	skip("\\")
	if at < len(data) && (data[at] == '"' || data[at] == '\'') {
		at++
	}
	skip(" \t")
	if at >= len(data) || data[at] != ':' && data[at] != '=' {
		return 0, 0, 0, false
	}
	sep = data[at]
	at++
	skip(" \t")
	begin := at
	skip("\\")
	if at < len(data) && (data[at] == '"' || data[at] == '\'') {
		return at + 1, sep, data[at], true
	}
	return begin, sep, 0, true
}

// restOfLine is the end of the line, of the quoted string, or of the text.
func restOfLine(data []byte, from, most int, quote byte) int {
	to := from
	for to < len(data) && to-from < most && data[to] != '\n' && data[to] != '\r' && (quote == 0 || data[to] != quote) {
		to++
	}
	if quote != 0 {
		for to > from && data[to-1] == '\\' {
			to--
		}
	}
	return to
}

// matchAuthorization takes the credentials of an Authorization header, however it is quoted.
func matchAuthorization(data []byte, at, end int) (int, int) {
	from, _, quote, ok := separator(data, end)
	if !ok {
		return -1, 0
	}
	if quote == 0 && at > 0 {
		// The header as a whole may be a quoted word: -H 'Authorization: Bearer ...'.
		if i := bytes.LastIndexAny(data[max(0, at-32):at], "'\"\n"); i >= 0 && data[max(0, at-32)+i] != '\n' {
			quote = data[max(0, at-32)+i]
		}
	}
	to := restOfLine(data, from, mostDecided, quote)
	value := data[from:to]
	scheme, rest, spaced := bytes.Cut(value, []byte{' '})
	if spaced && len(scheme) <= 24 && runOf(scheme, 0, len(scheme), &dashed) == len(scheme) {
		for len(rest) > 0 && rest[0] == ' ' {
			rest = rest[1:]
		}
		switch {
		case bytes.EqualFold(scheme, []byte("digest")), bytes.HasPrefix(scheme, []byte("AWS4")):
			return secretValue(data, to-len(rest), restOfLine(data, from, len(data), quote), 8)
		case len(rest) > 0:
			n := runOf(rest, 0, len(rest), &dotted)
			if known(scheme) && n > 0 {
				begin := to - len(rest)
				return secretValue(data, begin, runOf(data, begin, len(data), &dotted), 3)
			}
		}
		return -1, 0
	}
	if to = from + runOf(data[from:to], 0, to-from, &dotted); !plausible(data[from:to]) {
		return -1, 0
	}
	return secretValue(data, from, runOf(data, from, len(data), &dotted), 8)
}

func known(scheme []byte) bool {
	for _, s := range []string{"basic", "bearer", "token", "negotiate", "apikey", "bot", "jwt"} {
		if bytes.EqualFold(scheme, []byte(s)) {
			return true
		}
	}
	return false
}

// matchBearer takes a bearer token wherever it stands.
func matchBearer(data []byte, at, end int) (int, int) {
	to := runOf(data, end, mostDecided, &dotted)
	if at > 0 && alnum[data[at-1]] || to-end < 16 || !plausible(data[end:to]) {
		return -1, 0
	}
	return secretValue(data, end, runOf(data, end, len(data), &dotted), 16)
}

// matchCookie takes what a Cookie or Set-Cookie header holds.
func matchCookie(data []byte, at, end int) (int, int) {
	from := end
	for from < len(data) && data[from] == ' ' {
		from++
	}
	to := from
	goesOn := func() bool {
		return to < len(data) && data[to] != '\n' && data[to] != '\r' && data[to] != '\'' && data[to] != '"'
	}
	for to-from < mostDecided && goesOn() {
		to++
	}
	if bytes.IndexByte(data[from:to], '=') < 0 {
		return -1, 0
	}
	for goesOn() {
		to++
	}
	return secretValue(data, from, to, 4)
}

// matchNamed takes the value of something named password, token and the like: NAME=value, "name": "value", name: value,
// and --name value.
func matchNamed(data []byte, at, end int) (int, int) {
	if end < len(data) && dashed[data[end]] {
		return -1, 0 // password_file, tokenizer
	}
	name := at
	for name > 0 && at-name < 64 && dashed[data[name-1]] {
		name--
	}
	from, _, quote, ok := separator(data, end)
	if !ok {
		if !bytes.HasPrefix(data[name:], []byte("--")) || end >= len(data) || data[end] != ' ' {
			return -1, 0
		}
		for from = end; from < len(data) && data[from] == ' '; from++ {
		}
		if from < len(data) && (data[from] == '"' || data[from] == '\'') {
			quote = data[from]
			from++
		}
	}
	to := from
	goesOn := func() bool {
		return to < len(data) && data[to] > ' ' && data[to] != 0x7f && data[to] != quote && (quote != 0 || !endsValue[data[to]])
	}
	for to-from < mostDecided && goesOn() {
		to++
	}
	if !plausible(data[from:to]) || data[from] == '$' || data[from] == '/' || maskedValue(data[from:to]) {
		return -1, 0
	}
	for goesOn() {
		to++
	}
	if quote != 0 {
		to = from + len(bytes.TrimRight(data[from:to], `\`))
	}
	return from, to
}

// mostDecided is how far a rule looks to decide whether there is a secret, so that the time for a text grows with its length alone.
// How far the secret reaches is another matter.
const mostDecided = 4096

// endsValue are the characters that end a value without quotes.
var endsValue = charset("\"'&;,<>(){}[]|`")

// matchNetrc takes the password of a .netrc entry.
func matchNetrc(data []byte, _, end int) (int, int) {
	entry := data[end:min(len(data), end+512)]
	i := bytes.Index(entry, []byte("password"))
	if i < 0 || !bytes.Contains(entry[:i], []byte("login")) {
		return -1, 0
	}
	from := end + i + len("password")
	begin := from
	for from < len(data) && (data[from] == ' ' || data[from] == '\t' || data[from] == '\n') {
		from++
	}
	to := from
	for to < len(data) && data[to] > ' ' && data[to] != '"' && data[to] != '\\' {
		to++
	}
	if from == begin {
		return -1, 0
	}
	return secretValue(data, from, to, 1)
}

// matchDockerAuth takes the credentials of a registry in a Docker configuration: base64 of user:password.
func matchDockerAuth(data []byte, _, end int) (int, int) {
	from, _, quote, ok := separator(data, end-1)
	if !ok || quote == 0 {
		return -1, 0
	}
	to := from
	for to < len(data) && to-from < 8192 && (base64Char[data[to]] || data[to] == '=') {
		to++
	}
	if !bytes.Contains(decodeLoosely(nil, data[from:to]), []byte{':'}) {
		return -1, 0
	}
	return secretValue(data, from, to, 8)
}

// plausible reports whether a word could be a secret rather than a word of a language: it has a digit, or it is long
// and mixes cases.
func plausible(word []byte) bool {
	var digit, lower, capital bool
	for _, c := range word {
		digit = digit || c >= '0' && c <= '9'
		lower = lower || c >= 'a' && c <= 'z'
		capital = capital || c >= 'A' && c <= 'Z'
	}
	return len(word) >= 6 && digit || len(word) >= 12 && lower && capital
}
