package matchers_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// leaky shows its secret only where nobody can call its methods.
type leaky struct{ value string }

func (leaky) String() string               { return "sealed" }
func (leaky) GoString() string             { return "sealed" }
func (leaky) GomegaString() string         { return "sealed" }
func (leaky) Format(f fmt.State, _ rune)   { _, _ = f.Write([]byte("sealed")) }
func (leaky) MarshalText() ([]byte, error) { return []byte("sealed"), nil }

var _ = Describe("ExposeSecrets", func() {
	const value = "hunter2 <&>\"é"
	token := NewSecret("api token", value)
	verdicts("ExposeSecrets", func() []verdict {
		return []verdict{
			{"text", ExposeSecrets(token), "x" + value, true},
			{"cassette, in the arguments and in the output", ExposeSecrets(
				NewSecret("argument", "canary-argument"), NewSecret("other", "nowhere"), NewSecret("output", "canary-output"),
			), recording(), true},
			{"text without", ExposeSecrets(token), "hunter", false},
			{"command", ExposeSecrets(NewSecret("argument", "canary-argument")), runner.Command("tool", "canary-argument"), false},
		}
	})

	DescribeTable("finds a secret in every dress",
		func(dress func(string) string) {
			Expect("before " + dress(value) + " after").To(ExposeSecrets(token))
			Expect([]byte(dress(value))).To(ExposeSecrets(token))
			Expect(dress("hunter3 <&>\"é")).NotTo(ExposeSecrets(token))
		},
		Entry("raw", func(s string) string { return s }),
		Entry("quoted", func(s string) string { return fmt.Sprintf("%q", s) }),
		Entry("ASCII", func(s string) string { b, _ := json.Marshal(s); return string(b) }),
		Entry("query", url.QueryEscape),
		Entry("path", url.PathEscape),
		Entry("hex", func(s string) string { return hex.EncodeToString([]byte(s)) }),
		Entry("HEX", func(s string) string { return fmt.Sprintf("%X", s) }),
		Entry("base64", func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }),
		Entry("base64 after one byte", func(s string) string { return base64.StdEncoding.EncodeToString([]byte("x" + s + "yz")) }),
		Entry("base64 after two bytes", func(s string) string { return base64.URLEncoding.EncodeToString([]byte("xy" + s + "z")) }),
		Entry("byte values", func(s string) string { return fmt.Sprint([]byte(s)) }),
		Entry("Go byte values", func(s string) string { return fmt.Sprintf("%#v", []byte(s)) }),
	)

	It("looks through every printer, and into unexported fields", func() {
		for _, v := range []any{
			struct{ Token string }{value}, &struct{ token string }{value}, errors.New(value), []string{value}, map[string]int{value: 1}, leaky{value},
		} {
			Expect(v).To(ExposeSecrets(token), "%T", v)
		}
		for _, v := range []any{nil, 7, struct{}{}, token, &token, []Secret{token}, ExposeSecrets(token)} {
			Expect(v).NotTo(ExposeSecrets(token), "%T", v)
		}
	})

	It("never tells the value", func() {
		m := ExposeSecrets(token)
		Expect(m.Match("x" + value)).To(BeTrue())
		Expect(m.FailureMessage(nil) + m.NegatedFailureMessage(nil) + token.String()).NotTo(ContainSubstring("hunter"))
	})

	It("refuses to look for nothing, or for what is found by chance", func() {
		_, err := ExposeSecrets().Match("x")
		Expect(err).To(MatchError(ContainSubstring("no secret to look for")))
		_, err = ExposeSecrets(token, NewSecret("pin", "12345")).Match("x")
		Expect(err).To(MatchError(And(ContainSubstring(`secret 2 ("pin", 5 bytes)`), Not(ContainSubstring("12345")))))
	})

	It("judges what panics when it is printed", func() {
		Expect(bomb{}).NotTo(ExposeSecrets(token))
	})

	It("bounds its message", func() {
		var all []Secret
		for i := range 100 {
			all = append(all, NewSecret(strings.Repeat("n", 200), fmt.Sprintf("secret%03d", i)))
		}
		var text strings.Builder
		for i := range 100 {
			fmt.Fprintf(&text, "secret%03d ", i)
		}
		m := ExposeSecrets(all...)
		Expect(m.Match(text.String())).To(BeTrue())
		Expect(len(m.NegatedFailureMessage(nil))).To(BeNumerically("<=", 4096))
	})
})

type bomb struct{}

func (bomb) GomegaString() string { panic("no") }
func (bomb) String() string       { panic("no") }
