package cassette_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// large is a cassette that is skimmed: tool 0, tool 1 and so on, of which each writes a line that a hand can break.
func large() []byte {
	out := []byte(strings.Repeat("a line of some length, as tools write them\n", 250))
	var samples []cassette.Sample
	for i := range 500 {
		samples = append(samples, cassette.Sample{
			Argv: []string{"tool", fmt.Sprint(i)}, Out: append([]byte(fmt.Sprintf("this is %d\n", i)), out...), Outcome: runner.Exited(0),
		})
	}
	file := cassette.File(samples)
	Expect(len(file)).To(BeNumerically(">", cassette.SkimmedFrom))
	return file
}

var _ = Describe("A large file", func() {
	open := func(data []byte) *cassette.Deck {
		GinkgoHelper()
		GinkgoT().Setenv(cassette.EnvMode, "")
		path := tempFile()
		Expect(os.WriteFile(path, data, 0o600)).To(Succeed())
		deck, err := cassette.Open(path)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { _ = deck.Close() })
		return deck
	}
	line := func(data []byte, text string) int {
		return 1 + bytes.Count(data[:bytes.Index(data, []byte(text))], []byte("\n"))
	}
	corrupt := func(err error) *cassette.CorruptError {
		GinkgoHelper()
		var broken *cassette.CorruptError
		Expect(errors.As(err, &broken)).To(BeTrue(), "%v", err)
		return broken
	}

	It("is played as every other, and found sound", func(ctx context.Context) {
		deck := open(large())
		for _, i := range []int{499, 0, 250} {
			res, err := runner.Run(ctx, deck, runner.Command("tool", fmt.Sprint(i)))
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveStdout(HavePrefix(fmt.Sprintf("this is %d\n", i))))
			Expect(res.StdoutTotal()).To(BeNumerically(">", 10_000))
		}
		var unplayed *cassette.UnplayedError
		Expect(errors.As(deck.Check(), &unplayed)).To(BeTrue())
		Expect(unplayed.Runs).To(HaveLen(497))
		Expect(unplayed.Runs[0]).To(HavePrefix(fmt.Sprintf("run 2 (line %d)", 2+256)))
		Expect(deck.Close()).To(Succeed())
	})

	It("that was edited is told when it is checked, and before that to whoever calls", func(ctx context.Context) {
		data := bytes.Replace(large(), []byte("this is 7\\n"), []byte("this is 8\\n"), 1)
		deck := open(data)
		Expect(deck.Check()).To(MatchError(cassette.ErrChecksum))
		_, err := runner.Run(ctx, deck, runner.Command("tool", "3"))
		Expect(err).To(MatchError(cassette.ErrChecksum))
		Expect(deck.Close()).To(MatchError(cassette.ErrCorrupt))
		Expect(deck.Misses()).To(BeEmpty())
	})

	It("tells the line of a fault in the very run that is played", func(ctx context.Context) {
		data := bytes.Replace(large(), []byte(`out "this is 400\n"`), []byte(`out "this is 400\q"`), 1)
		deck := open(data)
		_, err := runner.Run(ctx, deck, runner.Command("tool", "400"))
		Expect(corrupt(err).Line).To(Equal(line(data, `this is 400\q`)))
	})

	DescribeTable("is refused at once where its head is broken",
		func(change func([]byte) []byte) {
			GinkgoT().Setenv(cassette.EnvMode, "")
			path := tempFile()
			Expect(os.WriteFile(path, change(large()), 0o600)).To(Succeed())
			_, err := cassette.Open(path)
			Expect(corrupt(err).Path).To(Equal(path))
		},
		Entry("a run is missing", func(d []byte) []byte { return d[:bytes.LastIndex(d, []byte("run\n"))] }),
		Entry("the count does not fit", func(d []byte) []byte { return bytes.Replace(d, []byte("\nend 500 "), []byte("\nend 499 "), 1) }),
		Entry("an argument does not read", func(d []byte) []byte { return bytes.Replace(d, []byte(`argv "77"`), []byte(`argv "7\q"`), 1) }),
		Entry("it is cut short", func(d []byte) []byte { return d[:len(d)-100] }),
	)

	It("is found from whichever half a fault is in", func() {
		data := large()
		for _, i := range []int{0, 1, 249, 250, 251, 498, 499} {
			broken := bytes.Replace(data, fmt.Appendf(nil, `"this is %d\n"`, i), fmt.Appendf(nil, `"this is %d\q"`, i), 1)
			_, err := cassette.Parse(broken)
			Expect(corrupt(err).Line).To(Equal(line(broken, fmt.Sprintf(`this is %d\q`, i))))
		}
		tape, err := cassette.Parse(data)
		Expect(err).NotTo(HaveOccurred())
		for _, run := range tape.Runs() {
			Expect(run.Line()).To(Equal(line(data, fmt.Sprintf(`argv "%s"`, run.Argv()[1])) - 2))
		}
		Expect(cassette.ParseLimited(data, 1<<30, 1<<30, 1<<20, 499)).To(MatchError(cassette.ErrTooLarge))
		Expect(cassette.ParseLimited(data, 1<<30, 1<<30, 1<<20, 500)).To(Succeed())
		Expect(corrupt(cassette.ParseLimited(data, 1<<30, 1<<30, 1<<20, 300)).Line).To(Equal(line(data, `argv "300"`) - 2))
	})

	It("with turned line ends is read in full", func(ctx context.Context) {
		deck := open(bytes.ReplaceAll(large(), []byte("\n"), []byte("\r\n")))
		Expect(runner.Run(ctx, deck, runner.Command("tool", "3"))).NotTo(BeNil())
	})

	It("answers what a small one answers", func(ctx context.Context) {
		data := sealed(`cassette 1
tokens tmp:1
redact builtin/1
x-head note
run
  argv "C:\\bin\\tool.exe"
  argv "<tmp:1>/\x78"
  x-note between
  argv "--token=<redacted:flag:1>"
  dir "/d\"q"
  env A
  in "one\n"
  in "two"
  out "out\n"
  exit 3
  repeat 2
  x-note behind
run
  argv "tool"
  stdin inherit
  start not-found ENOENT
  optional
run
  argv "tool"
  in64 AAE=
  signal SIGKILL
  x-note a
  x-note b
`)
		whole, err := cassette.Parse(data)
		Expect(err).NotTo(HaveOccurred())
		opts := []cassette.Option{cassette.WithToken("tmp", "/live/dir")}
		full, err := cassette.NewPlayer(whole, opts...)
		Expect(err).NotTo(HaveOccurred())
		skimmed := cassette.SkimPlayer(data, opts...)
		Expect(skimmed).NotTo(BeNil())
		for range 3 {
			for _, make := range []func() *runner.Cmd{
				func() *runner.Cmd {
					cmd := runner.Command("/usr/bin/tool", "/live/dir/x", "--token=other")
					cmd.Stdin, cmd.Dir = runner.StdinString("one\ntwo"), "/d\"q"
					return cmd
				},
				func() *runner.Cmd {
					cmd := runner.Command("tool")
					cmd.Stdin = runner.StdinOf([]byte{0, 1})
					return cmd
				},
				func() *runner.Cmd {
					cmd := runner.Command("tool")
					cmd.Stdin = runner.InheritStdin()
					return cmd
				},
			} {
				res, err := runner.Run(ctx, full, make())
				again, errAgain := runner.Run(ctx, skimmed, make())
				Expect(fmt.Sprint(errAgain)).To(Equal(fmt.Sprint(err)))
				if err == nil {
					Expect(fmt.Sprint(again, again.Stdout())).To(Equal(fmt.Sprint(res, res.Stdout())))
				}
			}
		}
		Expect(skimmed.Unplayed()).To(Equal(full.Unplayed()))
		Expect(fmt.Sprint(skimmed.Check())).To(Equal(fmt.Sprint(full.Check())))
	})
})
