package cassette_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
)

var _ = Describe("Strings of the file", func() {
	DescribeTable("show what is printable and escape the rest",
		func(data, want string) {
			Expect(string(cassette.Quoted([]byte(data)))).To(Equal(want))
		},
		Entry("nothing", "", `""`),
		Entry("text", "plain text, 1.5 & more", `"plain text, 1.5 & more"`),
		Entry("quote and backslash", `a"b\c`, `"a\"b\\c"`),
		Entry("controls", "\a\b\t\n\v\f\r\x00\x1b[0m\x7f", `"\a\b\t\n\v\f\r\x00\x1b[0m\x7f"`),
		Entry("letters of any script", "naïve 日本語 🎵", `"naïve 日本語 🎵"`),
		Entry("bytes that are not UTF-8", "\xff\xc3(\xed\xa0\x80", `"\xff\xc3(\xed\xa0\x80"`),
		Entry("a replacement character that is one", "\ufffd", `"`+"\ufffd"+`"`),
		Entry("what reorders the line", "a\u202eb\u2066c", `"a\u202eb\u2066c"`),
		Entry("what is printable by the tables, and invisible", "a\U000e0100b\U000e01ef", `"a\U000e0100b\U000e01ef"`),
		Entry("what nobody sees", "\u200b\ufeff\u0085\u00a0\U000e0041", `"\u200b\ufeff\u0085\u00a0\U000e0041"`),
		Entry("a special byte at every place of a word", "1234567\"1234567\\1234567\n", `"1234567\"1234567\\1234567\n"`),
	)

	It("survive for every byte sequence, and read as Go's own", func() {
		rnd := random()
		for range 20_000 {
			data := randomBytes(rnd, 40)
			quoted := cassette.Quoted(data)
			back, length, problem := cassette.Unquote(quoted)
			Expect(problem).To(BeEmpty())
			Expect(string(back)).To(Equal(string(data)))
			Expect(length).To(Equal(len(data)))
			golang, err := strconv.Unquote(string(quoted))
			Expect(err).NotTo(HaveOccurred())
			Expect(golang).To(Equal(string(data)))
			escaped, binary := cassette.EscapedLen(data)
			Expect(escaped).To(Equal(len(quoted) - 2))
			Expect(binary).To(Equal(!utf8.Valid(data) || containsNUL(data)))
		}
	})

	DescribeTable("are refused without showing them",
		func(quoted, want string) {
			_, _, problem := cassette.Unquote([]byte(quoted))
			Expect(problem).To(Equal(want))
		},
		Entry("not quoted", `abc`, "not one quoted string"),
		Entry("one quote", `"`, "not one quoted string"),
		Entry("text behind it", `"a" b`, "not one quoted string"),
		Entry("a quote inside", `"a"b"`, "quote inside a quoted string"),
		Entry("a backslash that takes the closing quote", `"a\"`, "backslash before the closing quote"),
		Entry("octal", `"\101"`, "unknown escape"),
		Entry("single quote", `"\'"`, "unknown escape"),
		Entry("a cut escape", `"\x4"`, "escape cut short"),
		Entry("not hexadecimal", `"\xg0"`, "escape with a digit that is not hexadecimal"),
		Entry("a surrogate", `"\ud800"`, "escape that is not a character"),
		Entry("beyond Unicode", `"\U00110000"`, "escape that is not a character"),
		Entry("a raw control", "\"a\tb\"", "control character that is not escaped"),
		Entry("a raw DEL", "\"a\x7f\"", "control character that is not escaped"),
		Entry("a raw byte", "\"a\xff\"", "bytes that are not UTF-8"),
		Entry("a raw override", "\"a\u202eb\"", "invisible or direction-changing character that is not escaped"),
		Entry("a raw C1 control", "\"a\u009bb\"", "invisible or direction-changing character that is not escaped"),
	)
})

var _ = Describe("text lines", func() {
	// lines are text lines of data, each cut where cut says: so many bytes from the last cut.
	lines := func(data []byte, cut func(rest []byte) int, extension func() bool) (text []byte) {
		for len(data) > 0 {
			n := cut(data)
			text = append(append(append(text, "  out "...), cassette.Quoted(data[:n])...), '\n')
			if extension() {
				text = append(text, "  x-note \"\\n\"\n"...)
			}
			data = data[n:]
		}
		return text
	}
	never := func() bool { return false }
	byLine := func(rest []byte) int {
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			return i + 1
		}
		return len(rest)
	}

	It("are read the same quickly and line by line, wherever they are cut and whatever stands among them", func() {
		rnd := random()
		quick := 0
		for range 20_000 {
			data := randomBytes(rnd, 300)
			cut, extension := byLine, never
			if rnd.IntN(2) == 0 {
				cut = func(rest []byte) int { return 1 + rnd.IntN(len(rest)) }
			}
			if rnd.IntN(4) == 0 {
				extension = func() bool { return rnd.IntN(3) == 0 }
			}
			text := lines(data, cut, extension)
			if got := cassette.ReadText(text, len(data)); !bytes.Equal(got, data) {
				Fail(fmt.Sprintf("%q was read as %q", text, got))
			}
			Expect(bytes.Equal(cassette.ReadLines(text), data)).To(BeTrue(), "%q", text)
			if cassette.ReadEven(text, len(data)) {
				quick++
			}
		}
		Expect(quick).To(BeNumerically(">", 5000), "the quick reader must not be idle")
		Expect(quick).To(BeNumerically("<", 15_000), "nor be given easy lines alone")
	})

	It("are read quickly when they are those of output", func() {
		data := bytes.Repeat([]byte("warning: \x1b[32mok\x1b[0m \"quoted\" na\u00efve\t.\n"), 50)
		Expect(cassette.ReadEven(lines(data, byLine, never), len(data))).To(BeTrue())
		Expect(cassette.ReadEven(lines(data[:len(data)-1], byLine, never), len(data)-1)).To(BeTrue(), "without the last newline")
	})
})

// random is seeded by Ginkgo, which prints the seed.
func random() *rand.Rand { return rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 7)) }

// randomBytes is up to most bytes, of a kind that changes: text, text with specials, binary.
func randomBytes(rnd *rand.Rand, most int) []byte {
	alphabet := []string{
		"abcdefgh 0123", "ab\"\\\n\r\t\x00\x1b\x7f\xff<>!:=", "é日本🎵\u202e\u200b\u00a0x",
	}
	kind := rnd.IntN(len(alphabet) + 1)
	n := rnd.IntN(most + 1)
	data := make([]byte, 0, n)
	for len(data) < n {
		if kind == len(alphabet) {
			data = append(data, byte(rnd.IntN(256)))
			continue
		}
		runes := []rune(alphabet[kind])
		data = utf8.AppendRune(data, runes[rnd.IntN(len(runes))])
	}
	return data[:n] // may tear the last character, which is wanted
}

func containsNUL(data []byte) bool {
	for _, b := range data {
		if b == 0 {
			return true
		}
	}
	return false
}

// FuzzString holds the reader of strings against Go's own, which takes a little more.
func FuzzString(f *testing.F) {
	for _, seed := range []string{`""`, `"a\x00\u00e9\U0001f3b5"`, `"\"`, `"\ud800"`, "\"\u202e\"", `"a"b"`, `"\101"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, quoted []byte) {
		data, length, problem := cassette.Unquote(quoted)
		if problem != "" {
			return
		}
		golang, err := strconv.Unquote(string(quoted))
		if err != nil || golang != string(data) || length != len(data) {
			t.Fatalf("read as %q (%d bytes), and by Go as %q, %v", data, length, golang, err)
		}
		if again, _, problem := cassette.Unquote(cassette.Quoted(data)); problem != "" || string(again) != string(data) {
			t.Fatalf("written again it reads as %q, %s", again, problem)
		}
	})
}
