package cassette_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/boombox-go/boombox/cassette"
)

// FuzzRedactor gives the redactor any text around any secret, spelled in one of its forms and cut into chunks anywhere:
// nothing of the secret is left, a second pass finds nothing, and the chunks still cover the text.
func FuzzRedactor(f *testing.F) {
	f.Add("hunter2!", "before ", " after", uint8(0), uint16(9), false)
	f.Add("a+b/c=d&e", "url?x=", "&y=1", uint8(1), uint16(3), true)
	f.Add("line one\nline two, which is long\n", "", "", uint8(2), uint16(0), false)
	f.Add("<redacted:x:1>", "<redacted:", ":1>", uint8(0), uint16(4), true)
	f.Add("\xff\xfe\x00\"\\'", "Authorization: Bearer ", "\r\nCookie: a=b", uint8(3), uint16(40), false)
	f.Add("aaaaaaaa", "aaaa", "aaaaaaa", uint8(0), uint16(6), false)
	f.Add("secret", "--password ", "password=secret1 https://a:b@c eyJ", uint8(4), uint16(20), true)
	f.Add("0123", "-----BEGIN PRIVATE KEY-----\n", "-----END PRIVATE KEY-----", uint8(0), uint16(12), false)
	f.Fuzz(func(t *testing.T, secret, before, after string, form uint8, cut uint16, keep bool) {
		opts := []cassette.Option{cassette.WithSecret("x", secret)}
		if keep {
			opts = append(opts, cassette.WithLengthsKept())
		}
		empty, err := cassette.Parse(cassette.File(nil))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cassette.NewPlayer(empty, opts...); err != nil {
			return // no usable secret
		}
		spelled := secret
		switch form % 5 {
		case 1:
			spelled = base64.StdEncoding.EncodeToString([]byte(secret))
		case 2:
			spelled = hex.EncodeToString([]byte(secret))
		case 3:
			quoted := string(cassette.Quoted([]byte(secret)))
			spelled = quoted[1 : len(quoted)-1]
		case 4:
			if len(secret) > 6 {
				spelled = base64.URLEncoding.EncodeToString([]byte("me:" + secret))
			}
		}
		text := []byte(before + spelled + after)
		n := int(cut) % (len(text) + 1)
		out, marks := cassette.Redact(bytes.Clone(text), []int{n / 2, n, len(text)}, opts...)
		if !slices.IsSorted(marks) || marks[0] < 0 || marks[2] != len(out) {
			t.Fatalf("marks %v of %d bytes", marks, len(out))
		}
		if keep && len(out) != len(text) {
			t.Fatalf("%d bytes became %d", len(text), len(out))
		}
		again, _ := cassette.Redact(bytes.Clone(out), nil, opts...)
		if !bytes.Equal(again, out) {
			t.Fatalf("a second pass makes %q of %q", again, out)
		}
		left := withoutPlaceholders(string(out))
		if len(spelled) >= 4 && (form%5 != 1 && form%5 != 4 || len(secret) > 6) && strings.Contains(left, spelled) {
			t.Fatalf("%q holds %q", left, spelled)
		}
	})
}

// withoutPlaceholders puts a byte that no secret of a test has where a placeholder stood.
func withoutPlaceholders(text string) string {
	for {
		i := strings.Index(text, "<redacted:")
		if i < 0 {
			return text
		}
		end := strings.IndexByte(text[i:], '>')
		if end < 0 {
			return text[:i] + "\x01" + strings.Replace(text[i:], "<redacted:", "\x01", 1)
		}
		text = text[:i] + "\x01" + text[i+end+1:]
	}
}

// FuzzImport feeds foreign recordings of any form: no panic, and what is taken over is a sound cassette without a
// finding.
func FuzzImport(f *testing.F) {
	f.Add([]byte(`{"version":4,"entries":[{"program":"git","args":["a"],"stdout":"x","stderr":"","code":0,"duration_ms":3}]}`))
	f.Add([]byte(`{"version":2,"entries":[{"program":"g","cwd":"/x","error":{"NotFound":{}}},{"program":"h","timed_out":true,"duration_ms":-5}]}`))
	f.Add([]byte(`{"version":1,"entries":[{"program":"\u0000","args":["\ud800"],"signal":99,"env_names":["b","a","a"]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		tape, _, err := cassette.Import(data)
		if err != nil {
			return
		}
		again, err := cassette.Parse(tape.Marshal())
		if err != nil {
			t.Fatal(err)
		}
		if found, err := again.Scan(); err != nil || len(found) > 0 {
			t.Fatal(found, err)
		}
	})
}
