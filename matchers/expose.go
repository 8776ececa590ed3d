package matchers

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"

	"github.com/onsi/gomega/format"
	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/plaintext"
)

// minSecret is the least that can be looked for, in bytes: shorter ones are found by chance.
const minSecret = 6

// Secret is what [ExposeSecrets] looks for. Its printers show the name.
type Secret struct {
	name  string
	value contain.Sealed
}

// NewSecret is a secret with a name for messages. A value of fewer than 6 bytes is refused when it is looked for.
func NewSecret(name, value string) Secret { return Secret{name, contain.Seal(value)} }

// String is the name and the length of the secret.
func (s Secret) String() string {
	return fmt.Sprintf("%q, %s", s.name, plaintext.Count(len(s.reveal()), "byte"))
}

func (s Secret) reveal() string { return strings.Join(s.value.Reveal(), "") }

// ExposeSecrets matches a value that shows a secret to somebody: a text; a cassette, as its file has it and as its runs
// decode; or any other value, through Error, fmt with its verbs, gomega, log/slog and encoding/json, as it is and within an
// unexported field of a struct. A secret is found as it is, quoted, escaped for JSON or a URL, in base64, in hexadecimal
// and as a list of byte values. A text is taken as it is, not as the path of a file. Use it negated:
//
//	Expect(err).NotTo(ExposeSecrets(NewSecret("api token", token)))
//
// Its messages tell which secret was found where, and never its value.
func ExposeSecrets(secrets ...Secret) types.GomegaMatcher {
	return &matcher{judge: func(actual any) (*judgement, error) {
		if len(secrets) == 0 {
			return nil, errors.New("matchers: ExposeSecrets was given no secret to look for")
		}
		for i, s := range secrets {
			if len(s.reveal()) < minSecret {
				return nil, fmt.Errorf("matchers: secret %d (%s) has fewer than %d bytes: it would be found by chance", i+1, s, minSecret)
			}
		}
		j := &judgement{
			subject: "the value", want: "to expose secrets",
			got: "none of " + plaintext.Count(len(secrets), "secret") + " was found", found: "it does (values withheld)",
		}
		for i, s := range secrets {
			for _, where := range exposures(s, renderings(actual)) {
				j.ok = true
				j.details = append(j.details, fmt.Sprintf("secret %d (%s) %s", i+1, s, where))
			}
		}
		j.details = listed(j.details, func(s string) string { return s })
		return j, nil
	}}
}

// rendering is one way in which somebody may see a value.
type rendering struct{ name, text string }

func renderings(v any) []rendering {
	switch v := v.(type) {
	case string:
		return []rendering{{"the text", v}}
	case []byte:
		return []rendering{{"the text", string(v)}}
	case *cassette.Tape:
		if v != nil {
			return append(printed(v), tapeText(v)...)
		}
	}
	return printed(v)
}

// tapeText is all that a cassette holds, in the file and decoded: the file breaks long streams into lines.
func tapeText(t *cassette.Tape) []rendering {
	list := []rendering{{"the file", string(t.Marshal())}}
	for _, r := range t.Runs() {
		at := fmt.Sprintf("run %d: ", r.Number())
		stdin, _ := r.Stdin()
		list = append(list, rendering{at + "stdout", string(r.Stdout())}, rendering{at + "stderr", string(r.Stderr())},
			rendering{at + "stdin", string(stdin)}, rendering{at + "arguments", strings.Join(r.Argv(), "\x00")})
	}
	return list
}

// printed is v through every printer.
func printed(v any) []rendering {
	nested := struct{ hidden any }{v}
	list := []rendering{
		{"gomega", try(func() string { return format.Object(v, 0) })},
		{"gomega, nested", try(func() string { return format.Object(nested, 0) })},
		{"encoding/json", try(func() string { text, _ := json.Marshal(v); return string(text) })},
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		list = append(list,
			rendering{"fmt " + verb, try(func() string { return fmt.Sprintf(verb, v) })},
			rendering{"fmt " + verb + ", nested", try(func() string { return fmt.Sprintf(verb, nested) })})
	}
	for _, handler := range []struct {
		name string
		make func(*bytes.Buffer) slog.Handler
	}{
		{"slog text", func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) }},
		{"slog JSON", func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) }},
	} {
		list = append(list, rendering{handler.name, try(func() string {
			var b bytes.Buffer
			slog.New(handler.make(&b)).Info("", "v", v)
			return b.String()
		})})
	}
	if err, ok := v.(error); ok {
		list = append(list, rendering{"Error", try(err.Error)})
	}
	return list
}

// try is what render gives; a panic, whose text may be shown just as well, is part of it.
func try(render func() string) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprint(p)
		}
	}()
	return render()
}

// exposures says where the renderings show s, once for each rendering.
func exposures(s Secret, all []rendering) []string {
	forms := formsOf(s.reveal())
	var list []string
	for _, r := range all {
		for _, form := range forms {
			if i := strings.Index(r.text, form.text); i >= 0 {
				list = append(list, fmt.Sprintf("in %s at byte %d, %s", r.name, i, form.name))
				break
			}
		}
	}
	return list
}

// formsOf are the ways to write value.
func formsOf(value string) []rendering {
	quoted := strconv.Quote(value)
	escaped, _ := json.Marshal(value)
	digits := hex.EncodeToString([]byte(value))
	forms := []rendering{
		{"as it is", value},
		{"quoted", quoted[1 : len(quoted)-1]},
		{"escaped for JSON", string(escaped[1 : len(escaped)-1])},
		{"escaped for a URL", url.QueryEscape(value)},
		{"escaped for a URL", url.PathEscape(value)},
		{"in hexadecimal", digits},
		{"in hexadecimal", strings.ToUpper(digits)},
		{"as byte values", strings.Trim(fmt.Sprint([]byte(value)), "[]")},
		{"as byte values", strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%#v", []byte(value)), "[]byte{"), "}")},
	}
	// Where a secret begins within a group of three bytes decides how it looks in base64, but for the characters that it
	// shares with its neighbours.
	for shift := range 3 {
		padded := append(make([]byte, shift), value...)
		from, to := (shift*8+5)/6, len(padded)*8/6
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			forms = append(forms, rendering{"in base64", enc.EncodeToString(padded)[from:to]})
		}
	}
	return forms
}
