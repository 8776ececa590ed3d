package cassette

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// token is the name of a registered value in a file: name and number, spelled <name:number>.
type token struct {
	name   string
	number int
}

func (t token) bare() string { return t.name + ":" + strconv.Itoa(t.number) }

// minTokenValue is the fewest bytes of a registered value. A shorter one, such as "/" or "/a", would be found all over
// the place.
const minTokenValue = 4

// validTokenName reports whether s can name a token.
func validTokenName(s string) bool {
	for i, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (i == 0 || (c < '0' || c > '9') && c != '-') {
			return false
		}
	}
	return s != "" && len(s) <= 32
}

// parseTokens reads the payload of the tokens line.
func parseTokens(payload string) (tokens []token, problem string) {
	for field := range strings.SplitSeq(payload, " ") {
		name, number, _ := strings.Cut(field, ":")
		n, ok := parseInt(number, 1_000_000)
		t := token{name, int(n)}
		if !ok || n < 1 || !validTokenName(name) {
			return nil, "not a token: want a name and a number, such as tmp:1"
		}
		if slices.Contains(tokens, t) {
			return nil, "token twice"
		}
		tokens = append(tokens, t)
	}
	return tokens, ""
}

// appendTokens appends the tokens line, if there is anything to say.
func appendTokens(dst []byte, tokens []token) []byte {
	if len(tokens) == 0 {
		return dst
	}
	dst = append(dst, "tokens"...)
	for _, t := range tokens {
		dst = append(append(dst, ' '), t.bare()...)
	}
	return append(dst, '\n')
}

// translator turns live bytes into those of a file and back, by the tokens that the file declares. What stands in the
// file as <tmp:1> is the live value of that token; what stands there as <!tmp:1>, <!!tmp:1> and so on is a literal
// with one exclamation mark less. Undeclared tokens are nothing special. The zero translator changes nothing.
type translator struct {
	bound []boundToken // longest value first
}

type boundToken struct {
	token
	text  []byte // <name:number>, or <name:number:form>
	value []byte
	// path says that the value is found as a whole path alone, or the beginning of one.
	path bool
	// used is set when the token comes to stand in a file. All spellings share it.
	used *bool
}

// registered is a value given with WithToken, numbered among those of the same name.
type registered struct {
	token
	value string
	path  bool
}

// bind makes the translator for the given tokens, all of which must have a value.
func bind(tokens []token, values []registered) (translator, error) {
	var t translator
	for _, want := range tokens {
		i := slices.IndexFunc(values, func(r registered) bool { return r.token == want })
		if i < 0 {
			return t, fmt.Errorf("%w: nothing was registered for <%s>, which the cassette uses", ErrToken, want.bare())
		}
		used := new(bool)
		for _, s := range spellingsOf(values[i].value) {
			text := "<" + want.bare() + s.form + ">"
			t.bound = append(t.bound, boundToken{want, []byte(text), []byte(s.value), values[i].path, used})
		}
	}
	// Of values of one length the first is taken: the plain spelling stands before the escaped ones.
	slices.SortStableFunc(t.bound, func(a, b boundToken) int { return len(b.value) - len(a.value) })
	return t, nil
}

// register checks one more value and numbers it.
func register(values []registered, name, value string) ([]registered, error) {
	if !validTokenName(name) {
		return values, fmt.Errorf("%w: its name must be made of a-z, 0-9 and -, beginning with a letter", ErrToken)
	}
	if len(value) < minTokenValue {
		return values, fmt.Errorf("%w: the value of %q has %d bytes, and the fewest are %d", ErrToken, name, len(value), minTokenValue)
	}
	number := 1
	for _, r := range values {
		if r.value == value {
			return values, fmt.Errorf("%w: %q and %q have the same value", ErrToken, r.name, name)
		}
		if r.name == name {
			number++
		}
	}
	return append(values, registered{token: token{name, number}, value: value}), nil
}

// none reports whether there is nothing to translate.
func (t translator) none() bool { return len(t.bound) == 0 }

// toFile translates live bytes. marks are ascending places in data, and are moved to where they are in the result; one
// inside a replaced value moves behind it.
func (t translator) toFile(data []byte, marks []int) []byte {
	if t.none() {
		return data
	}
	at := make([]int, len(t.bound)) // where each value is next, from the place that was last asked for
	for i := range at {
		at[i] = -1
	}
	return rewrite(data, marks, func(from int) (start, end int, with []byte) {
		start = len(data)
		var used *bool
		for i, b := range t.bound {
			if at[i] < from {
				at[i] = b.next(data, from)
			}
			if at[i] < start {
				start, end, with = at[i], at[i]+len(b.value), b.text
				used = b.used
			}
		}
		if lit, bound, size := t.literal(data[:min(start+1, len(data))], data, from); bound != nil && (lit < start || size > end-start) {
			text := append([]byte("<!"), data[lit+1:lit+size]...)
			*bound.used = true
			return lit, lit + size, text
		}
		if used != nil {
			*used = true
		}
		return start, end, with
	})
}

// toLive is the inverse of toFile.
func (t translator) toLive(data []byte, marks []int) []byte {
	if t.none() {
		return data
	}
	return rewrite(data, marks, func(from int) (start, end int, with []byte) {
		start, bound, size := t.literal(data, data, from)
		switch {
		case bound == nil:
			return len(data), len(data), nil
		case size == len(bound.text):
			return start, start + size, bound.value
		}
		return start, start + size, append([]byte("<"), data[start+2:start+size]...)
	})
}

// literal finds the next thing in data that looks like a declared token, with any number of exclamation marks. It
// begins within search, at from or later.
func (t translator) literal(search, data []byte, from int) (start int, which *boundToken, size int) {
	for start = indexFrom(search, []byte{'<'}, from); start < len(search); start = indexFrom(search, []byte{'<'}, start+1) {
		bangs := 0
		for start+1+bangs < len(data) && data[start+1+bangs] == '!' {
			bangs++
		}
		for i := range t.bound {
			if b := &t.bound[i]; bytes.HasPrefix(data[start+1+bangs:], b.text[1:]) {
				return start, b, bangs + len(b.text)
			}
		}
		start += bangs
	}
	return len(data), nil, 0
}

// indexFrom is the first place of sep in data at from or later, len(data) when there is none.
func indexFrom(data, sep []byte, from int) int {
	if from >= len(data) {
		return len(data)
	}
	if i := bytes.Index(data[from:], sep); i >= 0 {
		return from + i
	}
	return len(data)
}

// rewrite replaces what find finds, from the left, and moves the marks along.
func rewrite(data []byte, marks []int, find func(from int) (start, end int, with []byte)) []byte {
	var out []byte
	changed := false
	for pos := 0; ; {
		start, end, with := find(pos)
		if start >= len(data) && !changed {
			return data
		}
		changed = true
		start = min(start, len(data))
		for len(marks) > 0 && marks[0] <= start {
			marks[0] += len(out) - pos
			marks = marks[1:]
		}
		out = append(out, data[pos:start]...)
		if start == len(data) {
			return out
		}
		out = append(out, with...)
		for len(marks) > 0 && marks[0] < end {
			marks[0] = len(out)
			marks = marks[1:]
		}
		pos = end
	}
}
