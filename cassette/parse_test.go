package cassette_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/runner"
)

// body is a cassette without its trailer that uses most of the grammar.
const body = `cassette 1
tokens tmp:1 db:2
x-note header, "free" \text
run
  argv "git"
  argv "commit"
  x-note inside
  dir "<tmp:1>/repo"
  env GIT_DIR LANG "odd name"
  in "first commit\n"
  out "[main 3f2c41d] "
  out "first commit\n"
  err "warning: \xff in path\r\n"
  exit 3
  pipes-held
  tape 3o28 0e20 12x
run
  argv "cat"
  stdin inherit
  out64 AAECAwQF
  out64 //79/A==
  signal SIGSEGV core
  cut out tail 1000
run
  argv "nosuch"
  start not-found ENOENT
`

// sealed adds the trailer that Reseal works out; the text must read well.
func sealed(text string) []byte {
	GinkgoHelper()
	file, err := cassette.Reseal([]byte(text))
	Expect(err).NotTo(HaveOccurred())
	return file
}

// trailered adds a trailer that need not fit.
func trailered(text string) []byte {
	return []byte(text + "end 3 sha256:" + strings.Repeat("0", 64) + "\n")
}

var _ = Describe("Reading a file", func() {
	It("finds everything that the grammar has", func() {
		tape, err := cassette.Parse(sealed(body))
		Expect(err).NotTo(HaveOccurred())
		Expect(tape.Len()).To(Equal(3))
		Expect(tape.Tokens()).To(Equal([]string{"tmp:1", "db:2"}))

		git, cat, nosuch := tape.Runs()[0], tape.Runs()[1], tape.Runs()[2]
		Expect(git.Number()).To(Equal(1))
		Expect(git.Line()).To(Equal(4))
		Expect(git.Argv()).To(Equal([]string{"git", "commit"}))
		Expect(git.Dir()).To(Equal("<tmp:1>/repo"))
		Expect(git.EnvNames()).To(Equal([]string{"GIT_DIR", "LANG", "odd name"}))
		stdin, known := git.Stdin()
		Expect(known).To(BeTrue())
		Expect(stdin).To(BeEquivalentTo("first commit\n"))
		Expect(git.Stdout()).To(BeEquivalentTo("[main 3f2c41d] first commit\n"))
		Expect(git.Stderr()).To(BeEquivalentTo("warning: \xff in path\r\n"))
		Expect(git.Outcome()).To(Equal(runner.Exited(3)))
		Expect(git.PipesHeld()).To(BeTrue())
		Expect(git.Duration()).To(Equal(15 * time.Millisecond))

		Expect(cat.Line()).To(Equal(17))
		_, known = cat.Stdin()
		Expect(known).To(BeFalse())
		Expect(cat.Stdout()).To(Equal([]byte{0, 1, 2, 3, 4, 5, 0xff, 0xfe, 0xfd, 0xfc}))
		Expect(cat.StdoutTotal()).To(BeEquivalentTo(1000))
		sig, _ := cat.Outcome().Signal()
		Expect(sig.String()).To(Equal("segmentation fault"))
		status, _ := cat.Status()
		Expect(status.Core).To(BeTrue())

		Expect(nosuch.StartErr()).To(MatchError(runner.ErrNotFound))
		Expect(nosuch.StartErr()).To(MatchError(fs.ErrNotExist))
		Expect(nosuch.Outcome()).To(Equal(runner.Outcome{}))
	})

	It("keeps the text, extensions and all", func() {
		file := sealed(body)
		tape, err := cassette.Parse(file)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(tape.Marshal())).To(Equal(string(file)))
		var b bytes.Buffer
		n, err := tape.WriteTo(&b)
		Expect(err).NotTo(HaveOccurred())
		Expect(n).To(BeEquivalentTo(len(file)))
		Expect(b.Bytes()).To(Equal(file))
		Expect(string(tape.Runs()[0].Text())).To(And(HavePrefix("run\n  argv \"git\"\n"), HaveSuffix("12x\n")))
	})

	It("takes the worked examples of FORMAT.md as they stand there", func() {
		rest := contents("FORMAT.md")
		for version, runs := range []int{2, 1} {
			var example string
			_, rest, _ = strings.Cut(rest, "```\n")
			example, rest, _ = strings.Cut(rest, "```\n")
			tape, err := cassette.Parse([]byte(example))
			Expect(err).NotTo(HaveOccurred())
			Expect(tape.Len()).To(Equal(runs))
			Expect(example).To(HavePrefix(fmt.Sprintf("cassette %d\n", version+1)))
		}
	})

	It("keeps no hold of what it was given", func() {
		file := sealed(body)
		tape, err := cassette.Parse(file)
		Expect(err).NotTo(HaveOccurred())
		clear(file)
		Expect(tape.Runs()[0].Argv()).To(Equal([]string{"git", "commit"}))
	})

	It("takes CR LF line ends for LF", func() {
		file := sealed(body)
		tape, err := cassette.Parse(bytes.ReplaceAll(file, []byte("\n"), []byte("\r\n")))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(tape.Marshal())).To(Equal(string(file)))
	})

	It("has a checksum that sed and sha256sum find too", func() {
		if _, err := exec.LookPath("sha256sum"); err != nil {
			Skip("no sha256sum here")
		}
		path := filepath.Join(GinkgoT().TempDir(), "x.cassette")
		Expect(os.WriteFile(path, sealed(body), 0o600)).To(Succeed())
		sum, err := exec.Command("sh", "-c", `sed '$d' "$1" | sha256sum`, "sh", path).Output()
		Expect(err).NotTo(HaveOccurred())
		tape, err := cassette.Load(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(sum)).To(HavePrefix(tape.Checksum() + " "))
	})

	DescribeTable("refuses what the grammar does not have, by line",
		func(old, new string, line int, reason string) {
			text := strings.Replace(body, old, new, 1)
			Expect(text).NotTo(Equal(body))
			_, err := cassette.Parse(trailered(text))
			var corrupt *cassette.CorruptError
			Expect(errors.As(err, &corrupt)).To(BeTrue(), "%v", err)
			Expect(err).To(MatchError(cassette.ErrCorrupt))
			Expect(err).NotTo(MatchError(fs.ErrNotExist))
			Expect(corrupt.Reason).To(Equal(reason))
			Expect(corrupt.Line).To(Equal(line))
		},
		Entry("another kind of file", "cassette 1\n", "casette 1\n", 1, `not a cassette: the first line is not "cassette 1"`),
		Entry("a byte order mark", "cassette 1\n", "\ufeffcassette 1\n", 1, `not a cassette: the first line is not "cassette 1"`),
		Entry("a version with a leading zero", "cassette 1\n", "cassette 01\n", 1, `not a cassette: the first line is not "cassette 1"`),
		Entry("a token without a number", "tmp:1 ", "tmp ", 2, "not a token: want a name and a number, such as tmp:1"),
		Entry("a token twice", "db:2", "tmp:1", 2, "token twice"),
		Entry("an extension with a name of its own", "x-note header", "x-Note header", 3, "name of an extension line that is not made of a-z, 0-9 and -"),
		Entry("an extension that plays with the terminal", "x-note header", "x-note \x1b[2J", 3, "control character that is not escaped"),
		Entry("a blank line", "run\n", "\nrun\n", 4, "empty line"),
		Entry("a conflict marker", "  exit 3\n", "  exit 3\n<<<<<<< HEAD\n", 15, "conflict marker of an unfinished merge"),
		Entry("a line of a run before the first", "run\n", "  argv \"x\"\nrun\n", 4, `want "run" here, or a line of a run, which is indented by two spaces`),
		Entry("a tab for indentation", "  exit 3", "\texit 3", 14, `want "run" here, or a line of a run, which is indented by two spaces`),
		Entry("three spaces", "  exit 3", "   exit 3", 14, "line of an unknown kind"),
		Entry("an extension of the file inside it", "  exit 3", "x-note out", 14, "line that belongs before the first run"),
		Entry("a kind that is not known", "  pipes-held", "  pipes-hold x", 15, "line of an unknown kind"),
		Entry("a word alone", "  pipes-held", "  pipes", 15, "line that reads neither as a part of a run nor as an extension"),
		Entry("a side file", "  out \"first", "  out-file sha256:00\n  out \"first", 12, "not a side file: want sha256: with 64 digits, and a length"),
		Entry("a string without quotes", `argv "commit"`, `argv commit`, 6, "not one quoted string"),
		Entry("a space too much", `argv "commit"`, `argv  "commit"`, 6, "not one quoted string"),
		Entry("a space behind", `argv "commit"`, `argv "commit" `, 6, "not one quoted string"),
		Entry("an empty directory", `"<tmp:1>/repo"`, `""`, 8, "empty directory"),
		Entry("unsorted names", "GIT_DIR LANG", "LANG GIT_DIR", 9, "names of variables that are not sorted, or not different"),
		Entry("a name twice", "GIT_DIR LANG", "LANG LANG", 9, "names of variables that are not sorted, or not different"),
		Entry("a value", "GIT_DIR LANG", "GIT_DIR=/x LANG", 9, "name of a variable that needs quotes"),
		Entry("an open name", `"odd name"`, `"odd name`, 9, "name of a variable that is not closed"),
		Entry("an empty stream line", `  in "first commit\n"`, `  in ""`, 10, "empty line of a stream"),
		Entry("argv out of order", "  exit 3", "  argv \"x\"\n  exit 3", 14, "line out of order"),
		Entry("out behind err", "  exit 3", "  out \"x\"\n  exit 3", 14, "line out of order"),
		Entry("two outcomes", "  exit 3", "  exit 3\n  exit 4", 15, "line that a run can have once"),
		Entry("two directories", "  env ", "  dir \"/x\"\n  env ", 9, "line that a run can have once"),
		Entry("an exit code with a plus", "exit 3", "exit +3", 14, "not an exit code or a signal"),
		Entry("an exit code that is none", "exit 3", "exit", 14, "not an exit code or a signal"),
		Entry("a signal that nobody has", "SIGSEGV", "SIGNONE", 22, "not an exit code or a signal"),
		Entry("an outcome and a bit", "exit 3", "cancelled later", 14, "not an outcome"),
		Entry("a deadline without a duration", "exit 3", "timeout soon", 14, "not the duration of a deadline"),
		Entry("a deadline that is over before it begins", "exit 3", "timeout 0s", 14, "not the duration of a deadline"),
		Entry("a start error of no kind", "not-found ENOENT", "sulking", 26, "unknown kind of start error"),
		Entry("a start error of no name", "ENOENT", "ENOSUCH", 26, "unknown name of a system error"),
		Entry("output of nothing", "start not-found", "out \"x\"\n  start not-found", 24, "run that was never started, with output"),
		Entry("text behind pipes-held", "pipes-held", "pipes-held yes", 15, "text behind pipes-held"),
		Entry("a cap on something else", "pipes-held", "pipes-held\n  limit time 5 yes", 16, `want "limit", memory, processes or cpu, the cap, yes, no or unknown, and how often if that is known`),
		Entry("a cap that is none", "pipes-held", "pipes-held\n  limit memory 0 no", 16, `want "limit", memory, processes or cpu, the cap, yes, no or unknown, and how often if that is known`),
		Entry("a cap beyond all measure", "pipes-held", "pipes-held\n  limit memory 1e300 no", 16, `want "limit", memory, processes or cpu, the cap, yes, no or unknown, and how often if that is known`),
		Entry("a cap in other digits", "pipes-held", "pipes-held\n  limit cpu 0.50 no", 16, `want "limit", memory, processes or cpu, the cap, yes, no or unknown, and how often if that is known`),
		Entry("a cap that was hit perhaps", "pipes-held", "pipes-held\n  limit memory 5 perhaps", 16, `want "limit", memory, processes or cpu, the cap, yes, no or unknown, and how often if that is known`),
		Entry("a cap that was hit less than never", "pipes-held", "pipes-held\n  limit memory 5 yes -1", 16, `want "limit", memory, processes or cpu, the cap, yes, no or unknown, and how often if that is known`),
		Entry("a cap without a word", "pipes-held", "pipes-held\n  limit memory 5", 16, `want "limit", memory, processes or cpu, the cap, yes, no or unknown, and how often if that is known`),
		Entry("a cap and a bit", "pipes-held", "pipes-held\n  limit memory 5 yes 3 times", 16, `want "limit", memory, processes or cpu, the cap, yes, no or unknown, and how often if that is known`),
		Entry("caps out of order", "pipes-held", "pipes-held\n  limit cpu 1 no\n  limit memory 5 no", 17, "limit lines out of order, or twice"),
		Entry("caps of a run that never began", "start not-found ENOENT", "start not-found ENOENT\n  limit cpu 1 no", 24, "run that was never started, with output"),
		Entry("no argv", "  argv \"nosuch\"\n", "", 24, "run without argv"),
		Entry("no outcome", "  start not-found ENOENT\n", "", 24, "run without an outcome"),
		Entry("both encodings", "  out64 AAEC", "  out \"x\"\n  out64 AAEC", 21, "one stream in two encodings, or base64 behind its end"),
		Entry("padding in the middle", "AAECAwQF\n", "AAECAwQ=\n", 21, "one stream in two encodings, or base64 behind its end"),
		Entry("base64 that is cut", "//79/A==", "//79/A", 21, "base64 of a length that is no multiple of four"),
		Entry("base64 of another alphabet", "//79/A==", "__79_A==", 21, "not base64"),
		Entry("base64 with stray bits", "//79/A==", "//79/B==", 21, "not base64"),
		Entry("input that is both", "stdin inherit", "stdin inherit\n  in \"x\"", 20, "recorded input beside inherited input"),
		Entry("input of another kind", "stdin inherit", "stdin file", 19, `want "stdin inherit" or "stdin interactive"`),
		Entry("a cut that is none", "tail 1000", "tail 10", 23, "cut stream that is not longer than what the file holds of it"),
		Entry("a cut twice", "tail 1000", "tail 1000\n  cut out tail 1000", 24, "cut lines out of order, or twice"),
		Entry("a cut without a side", "tail 1000", "middle 1000", 23, `want "cut", out or err, head or tail, and the bytes of the whole stream`),
		Entry("a cut beyond all measure", "tail 1000", "tail 1000000000000", 23, `want "cut", out or err, head or tail, and the bytes of the whole stream`),
		Entry("a tape that does not add up", "3o28", "3o27", 16, "tape whose byte counts are not those of the streams"),
		Entry("a tape of another stream", "3o28", "3q28", 16, "not a tape: want intervals in ms, o, e or x, and byte counts, such as 0o47 3e23 12x"),
		Entry("a tape that goes on behind its end", "12x", "12x 3o1", 16, "not a tape: want intervals in ms, o, e or x, and byte counts, such as 0o47 3e23 12x"),
		Entry("a tape with a NUL", "12x", "12x\x00", 16, "not a tape: want intervals in ms, o, e or x, and byte counts, such as 0o47 3e23 12x"),
		Entry("a tape of years", "12x", "99999999999x", 16, "not a tape: want intervals in ms, o, e or x, and byte counts, such as 0o47 3e23 12x"),
		Entry("a trailer in the middle", "run\n  argv \"nosuch\"", "end 2 sha256:0\nrun\n  argv \"nosuch\"", 24, "trailer in the middle of the file"),
		Entry("a lone CR", "  exit 3\n", "  exit 3\r\r\n", 14, "not an exit code or a signal"),
	)

	It("tells an empty file, and one that is cut short anywhere", func() {
		file := sealed(body)
		for n := range file {
			_, err := cassette.Parse(file[:n])
			Expect(err).To(MatchError(cassette.ErrCorrupt), "cut at %d", n)
		}
	})

	It("tells a byte that has changed anywhere", func() {
		file := sealed(body)
		for i := range file {
			broken := bytes.Clone(file)
			broken[i] ^= 1
			_, err := cassette.Parse(broken)
			if i == len("cassette ") {
				Expect(err).To(MatchError(cassette.ErrCorrupt)) // version 0
				continue
			}
			Expect(errors.Is(err, cassette.ErrCorrupt)).To(BeTrue(), "changed at %d: %v", i, err)
		}
	})

	It("says what to do about a file that was edited", func() {
		edited := bytes.Replace(sealed(body), []byte("exit 3"), []byte("exit 4"), 1)
		_, err := cassette.Parse(edited)
		Expect(err).To(MatchError(cassette.ErrChecksum))
		Expect(err).To(MatchError(cassette.ErrCorrupt))
		Expect(err).To(MatchError(ContainSubstring("edited, or badly merged")))
		again, err := cassette.Reseal(edited)
		Expect(err).NotTo(HaveOccurred())
		tape, err := cassette.Parse(again)
		Expect(err).NotTo(HaveOccurred())
		Expect(tape.Runs()[0].Outcome()).To(Equal(runner.Exited(4)))

		By("and does not seal what does not read")
		_, err = cassette.Reseal(bytes.Replace(edited, []byte("exit 4"), []byte("exit x"), 1))
		Expect(err).To(MatchError(cassette.ErrCorrupt))
	})

	It("refuses a later version by number", func() {
		_, err := cassette.Parse(trailered(strings.Replace(body, "cassette 1", "cassette 3", 1)))
		var version *cassette.VersionError
		Expect(errors.As(err, &version)).To(BeTrue())
		Expect(version.Version).To(Equal(3))
		Expect(err).To(MatchError("cassette: is of version 3, and this reader knows versions up to 2"))
		Expect(err).NotTo(MatchError(cassette.ErrCorrupt))
	})

	DescribeTable("is bounded",
		func(file, run, line, runs int, within bool) {
			err := cassette.ParseLimited(sealed(body), file, run, line, runs)
			if within {
				Expect(err).NotTo(HaveOccurred())
				return
			}
			Expect(err).To(MatchError(cassette.ErrTooLarge))
			Expect(err).To(MatchError(cassette.ErrCorrupt))
		},
		Entry("and takes what fits", 1000, 400, 80, 3, true),
		Entry("in the file", 500, 400, 80, 3, false),
		Entry("in a run", 1000, 200, 80, 3, false),
		Entry("in a line", 1000, 400, 30, 3, false),
		Entry("in runs", 1000, 400, 80, 2, false),
	)

	It("never takes a file that is broken for one that is missing", func() {
		dir := GinkgoT().TempDir()
		_, err := cassette.Load(filepath.Join(dir, "missing.cassette"))
		Expect(err).To(MatchError(fs.ErrNotExist))
		Expect(err).NotTo(MatchError(cassette.ErrCorrupt))

		if mkfifo(filepath.Join(dir, "pipe")) {
			_, err = cassette.Load(filepath.Join(dir, "pipe"))
			Expect(err).To(MatchError(cassette.ErrNotRegular))
		}
		_, err = cassette.Load(dir)
		Expect(err).To(MatchError(cassette.ErrCorrupt))
		Expect(err).To(MatchError(cassette.ErrNotRegular))

		path := filepath.Join(dir, "broken.cassette")
		Expect(os.WriteFile(path, []byte("cassette 1\nrun\n  secret words\n"), 0o600)).To(Succeed())
		_, err = cassette.Load(path)
		Expect(err).To(MatchError(cassette.ErrCorrupt))
		Expect(err).NotTo(MatchError(fs.ErrNotExist))
		Expect(err).To(MatchError(ContainSubstring(path)))
		Expect(err).NotTo(MatchError(ContainSubstring("secret")))
	})
})

// FuzzParse: no input makes the parser panic, and whatever it takes it writes back to the byte.
func FuzzParse(f *testing.F) {
	f.Add([]byte(body))
	for _, file := range library() {
		f.Add(file)
	}
	f.Add([]byte("cassette 1\nend 0 sha256:\n"))
	f.Add([]byte("cassette 1\nrun\n  argv \"\"\n  timeout 1s then signal SIGKILL\n  tape 5x\n"))
	f.Add([]byte("cassette 1\r\nx-\r\nrun\r\n  argv \"a\"\r\n  cancelled\r\n  cut err head 5\r\n"))
	f.Add([]byte("cassette 1\nrun\n  argv \"a\"\n  env \"\\\"\" A\n  in64 AA==\n  idle 1ms then exit 0\n"))
	f.Add([]byte(terminalBody))
	f.Add([]byte("cassette 2\nrun\n  argv \"a\"\n  pty 1x65535\n  exit 0\n  tape 0r2x2 0r1x1 0x\n"))
	f.Add([]byte("cassette 1\nrun\n  argv \"a\"\n  pty 80x24\n  start not-found ENOENT\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _ = cassette.Parse(text)
		file, err := cassette.Reseal(text)
		if err != nil {
			return
		}
		tape, err := cassette.Parse(file)
		if err != nil {
			t.Fatalf("sealed, it does not read: %v", err)
		}
		if !bytes.Equal(tape.Marshal(), file) {
			t.Fatal("written again it is another file")
		}
		for _, run := range tape.Runs() {
			if len(run.Argv()) == 0 || run.StartErr() == nil && run.Outcome() == (runner.Outcome{}) {
				t.Fatalf("half a run: %v", run)
			}
			if run.StdoutTotal() < 1<<20 && run.StderrTotal() < 1<<20 {
				run.Script()
			}
			_, _ = run.Stdin()
			for _, size := range run.Resizes() {
				if first, ok := run.PTY(); !ok || size.Cols == 0 || size.Rows == 0 || first.Cols == 0 || first.Rows == 0 {
					t.Fatalf("a terminal of no size: %v", run)
				}
			}
			_, _, _, _ = run.Dir(), run.EnvNames(), run.Stdout(), run.Stderr()
		}
	})
}
