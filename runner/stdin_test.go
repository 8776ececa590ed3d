package runner_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing/iotest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("Stdin", func() {
	feed := func(cmd *runner.Cmd, s runner.Stdin) *runner.Cmd {
		cmd.Stdin = s
		return cmd
	}
	// big does not fit into any pipe.
	big := bytes.Repeat([]byte("0123456789abcdef"), 3<<16)

	It("is closed by default", func(ctx SpecContext) {
		Expect(runner.Output(ctx, runner.Contained{}, fixture("cat"))).To(BeEmpty())
		Expect(runner.Stdin{}.Kind()).To(Equal(runner.StdinClosed))
	})

	DescribeTable("reaches the child whole",
		func(ctx SpecContext, source func() runner.Stdin, want []byte) {
			res, err := runner.Run(ctx, runner.Contained{}, feed(fixture("cat"), source()))
			Expect(err).NotTo(HaveOccurred())
			Expect(res.Check()).To(Succeed())
			Expect(bytes.Equal(res.Stdout(), want)).To(BeTrue())
		},
		Entry("little", func() runner.Stdin { return runner.StdinString("little") }, []byte("little")),
		Entry("lines", func() runner.Stdin { return runner.StdinLines("one", "", "two") }, []byte("one\n\ntwo\n")),
		Entry("no lines", func() runner.Stdin { return runner.StdinLines() }, nil),
		Entry("nothing", func() runner.Stdin { return runner.StdinOf(nil) }, nil),
		Entry("more than a pipe holds", func() runner.Stdin { return runner.StdinOf(big) }, big),
		Entry("a reader", func() runner.Stdin { return runner.StdinStream(bytes.NewReader(big)) }, big),
		Entry("a reader that gives little at a time", func() runner.Stdin {
			return runner.StdinStream(iotest.OneByteReader(strings.NewReader("bit by bit")))
		}, []byte("bit by bit")),
		Entry("a reader that gives its last bytes with its end", func() runner.Stdin {
			return runner.StdinStream(iotest.DataErrReader(strings.NewReader("the end")))
		}, []byte("the end")),
	)

	It("opens a file anew at each start", func(ctx SpecContext) {
		file := filepath.Join(GinkgoT().TempDir(), "input")
		cmd := feed(fixture("cat"), runner.StdinFrom(file))
		for _, text := range []string{"first", "second"} {
			Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
			Expect(runner.Output(ctx, runner.Contained{}, cmd)).To(Equal(text))
		}
	})

	It("tells a missing file from a missing program", func(ctx SpecContext) {
		_, err := runner.Run(ctx, runner.Contained{}, feed(fixture("cat"), runner.StdinFrom("/boombox/secret-file")))
		Expect(err).To(And(beStartError(runner.StartBadStdin), MatchError(fs.ErrNotExist)))
		Expect(err).NotTo(MatchError(runner.ErrNotFound))
		Expect(err.Error()).NotTo(ContainSubstring("secret-file"))
	})

	It("hands our own standard input on", func(ctx SpecContext) {
		file := filepath.Join(GinkgoT().TempDir(), "input")
		Expect(os.WriteFile(file, []byte("ours"), 0o600)).To(Succeed())
		f, err := os.Open(file)
		Expect(err).NotTo(HaveOccurred())
		defer f.Close()
		saved := os.Stdin
		os.Stdin = f
		defer func() { os.Stdin = saved }()
		Expect(runner.Output(ctx, runner.Contained{}, feed(fixture("cat"), runner.InheritStdin()))).To(Equal("ours"))
	})

	It("is not missed by a child that does not read it", func(ctx SpecContext) {
		for _, s := range []runner.Stdin{runner.StdinOf(big), runner.StdinStream(bytes.NewReader(big))} {
			res, err := runner.Run(ctx, runner.Contained{}, feed(fixture("exit"), s))
			Expect(err).NotTo(HaveOccurred())
			Expect(res.StdinErr()).NotTo(HaveOccurred())
			Expect(res.Check()).To(Succeed())
		}
		res, err := runner.Run(ctx, runner.Contained{}, feed(fixture("nostdin", "100ms", "close"), runner.StdinOf(big)))
		Expect(err).NotTo(HaveOccurred())
		Expect(res.Check()).To(Succeed())
	})

	It("does not hold up the end of a child that never reads", func(ctx SpecContext) {
		cmd := feed(fixture("nostdin"), runner.StdinOf(big))
		cmd.Timeout = 200 * time.Millisecond
		res, err := runner.Run(ctx, runner.Contained{}, cmd)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveTimedOut())
		Expect(res.SettledAfter()).To(BeNumerically("<", 1200*time.Millisecond))
	})

	It("does not wait for a reader that gives nothing", func(ctx SpecContext) {
		r, w := io.Pipe()
		defer w.Close()
		res, err := runner.Run(ctx, runner.Contained{}, feed(fixture("exit", "4"), runner.StdinStream(r)))
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveExited(4))
	})

	Describe("a reader that breaks", func() {
		broken := errors.New("source broke")
		readers := map[string]func() io.Reader{
			"by an error": func() io.Reader { return io.MultiReader(strings.NewReader("begun"), iotest.ErrReader(broken)) },
			"by a panic":  func() io.Reader { return io.MultiReader(strings.NewReader("begun"), panicReader{broken}) },
		}
		for how, reader := range readers {
			It("fails a run that would have succeeded: "+how, func(ctx SpecContext) {
				cmd := feed(fixture("cat"), runner.StdinStream(reader()))
				res, err := runner.Run(ctx, runner.Contained{}, cmd)
				Expect(err).NotTo(HaveOccurred())
				Expect(res).To(HaveSucceeded())
				Expect(res).To(HaveStdout("begun"))
				Expect(res.StdinErr()).To(MatchError(broken))
				Expect(res.Check()).To(And(MatchError(runner.ErrUnsuccessful), MatchError(broken)))
			})
			It("is not told of a run that failed anyway: "+how, func(ctx SpecContext) {
				cmd := feed(shell("cat; exit 3"), runner.StdinStream(reader()))
				res, err := runner.Run(ctx, runner.Contained{}, cmd)
				Expect(err).NotTo(HaveOccurred())
				Expect(res).To(HaveExited(3))
				Expect(res.StdinErr()).NotTo(HaveOccurred())
			})
		}
		It("is a broken source too if it breaks as a pipe would", func(ctx SpecContext) {
			cmd := feed(fixture("cat"), runner.StdinStream(iotest.ErrReader(syscall.EPIPE)))
			res, err := runner.Run(ctx, runner.Contained{}, cmd)
			Expect(err).NotTo(HaveOccurred())
			Expect(res.StdinErr()).To(MatchError(syscall.EPIPE))
		})
	})

	Describe("a reader", func() {
		It("feeds one start, and refuses a second loudly", func(ctx SpecContext) {
			cmd := feed(fixture("cat"), runner.StdinStream(strings.NewReader("once")))
			clone := cmd.Clone()
			Expect(runner.Output(ctx, runner.Contained{}, cmd)).To(Equal("once"))
			for _, again := range []*runner.Cmd{cmd, clone} {
				_, err := runner.Run(ctx, runner.Contained{}, again)
				Expect(err).To(MatchError(runner.ErrInvalid))
			}
			_, err := cmd.Stdin.Open()
			Expect(err).To(HaveOccurred())
		})
		It("is not used up by a start that failed", func(ctx SpecContext) {
			s := runner.StdinStream(strings.NewReader("still there"))
			for _, bad := range []*runner.Cmd{runner.Command("boombox-no-such-program"), fixture("cat"), fixture("cat")} {
				bad.Stdin = s
				if bad.Program() != "boombox-no-such-program" {
					// A name of the environment that is too long for the system fails the start itself.
					bad.Env = bad.Env.Set(strings.Repeat("x", 4<<20), "")
				}
				_, err := runner.Run(ctx, runner.Contained{}, bad)
				Expect(err).To(HaveOccurred())
			}
			Expect(runner.Output(ctx, runner.Contained{}, feed(fixture("cat"), s))).To(Equal("still there"))
		})
		It("is taken by Open, and then feeds no start", func(ctx SpecContext) {
			cmd := feed(fixture("cat"), runner.StdinStream(strings.NewReader("taken")))
			r, err := cmd.Stdin.Open()
			Expect(err).NotTo(HaveOccurred())
			Expect(io.ReadAll(r)).To(Equal([]byte("taken")))
			_, err = runner.Run(ctx, runner.Contained{}, cmd)
			Expect(err).To(MatchError(runner.ErrInvalid))
		})
	})

	It("can be opened, but for inherited input", func() {
		for want, s := range map[string]runner.Stdin{"": {}, "text": runner.StdinString("text")} {
			for range 2 {
				r, err := s.Open()
				Expect(err).NotTo(HaveOccurred())
				Expect(io.ReadAll(r)).To(BeEquivalentTo(want))
				Expect(r.Close()).To(Succeed())
			}
		}
		_, err := runner.InheritStdin().Open()
		Expect(err).To(HaveOccurred())
	})
})

type panicReader struct{ v any }

func (r panicReader) Read([]byte) (int, error) { panic(r.v) }
