package runnertest

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/onsi/gomega"

	"github.com/boombox-go/boombox/runner"
)

// allBytes is every byte there is, line ends of all kinds included.
func allBytes() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return append(b, "\r\n\r\n\xff\xfe"...)
}

func streamCases() []Case {
	return []Case{
		of("both streams arrive byte for byte", func(s subject) {
			out, errOut := allBytes(), []byte("not \xff UTF-8\r\nno newline at the end")
			res := s.run(Behaviour{Stdout: out, Stderr: errOut}, nil)
			s.Expect(bytes.Equal(res.Stdout(), out)).To(gomega.BeTrue())
			s.Expect(bytes.Equal(res.Stderr(), errOut)).To(gomega.BeTrue())
			s.Expect(res.StdoutTotal()).To(gomega.BeEquivalentTo(len(out)))
			s.Expect(res.StderrTotal()).To(gomega.BeEquivalentTo(len(errOut)))
			s.Expect(res.StdoutTruncated()).To(gomega.BeFalse())
			s.Expect(res.StderrTruncated()).To(gomega.BeFalse())
			s.Expect(res.PipesHeld()).To(gomega.BeFalse())
		}),
		of("no output is empty output", func(s subject) {
			res := s.run(Behaviour{}, nil)
			s.Expect(res.Stdout()).To(gomega.BeEmpty())
			s.Expect(res.Stderr()).To(gomega.BeEmpty())
			s.Expect(res.StdoutTruncated()).To(gomega.BeFalse())
		}),
		of("a Result hands out copies", func(s subject) {
			res := s.run(Behaviour{Stdout: []byte("fixed")}, nil)
			copy(res.Stdout(), "BROKE")
			s.Expect(string(res.Stdout())).To(gomega.Equal("fixed"))
		}),
		of("standard input is read to its end", func(s subject) {
			res := s.run(Behaviour{EchoStdin: true}, func(c *runner.Cmd) {
				c.Stdin = runner.StdinOf(allBytes())
			})
			s.Expect(bytes.Equal(res.Stdout(), allBytes())).To(gomega.BeTrue())
		}),
		of("a reader feeds one run", func(s subject) {
			r, cmd := s.prepare(Behaviour{EchoStdin: true}, func(c *runner.Cmd) {
				c.Stdin = runner.StdinStream(strings.NewReader("once"))
			})
			s.Expect(runner.Output(s.ctx, r, cmd)).To(gomega.Equal("once"))
			_, err := r.Start(s.ctx, cmd)
			s.Expect(err).To(gomega.MatchError(runner.ErrInvalid))
		}),
		of("output at its cap is whole", func(s subject) {
			res := s.run(Behaviour{Stdout: []byte("0123456789")}, capped(runner.Fail, 10))
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Exited(0)))
			s.Expect(string(res.Stdout())).To(gomega.Equal("0123456789"))
			s.Expect(res.StdoutTruncated()).To(gomega.BeFalse())
		}),
		of("output beyond its cap fails the run", func(s subject) {
			res := s.run(Behaviour{Stdout: []byte("0123456789")}, capped(runner.Fail, 9))
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Overflowed))
			s.Expect(string(res.Stdout())).To(gomega.Equal("012345678"))
			s.Expect(res.StdoutTruncated()).To(gomega.BeTrue())
			s.Expect(res.Check()).To(gomega.MatchError(runner.ErrOverflowed))
		}),
		of("Head keeps the beginning and counts the rest", func(s subject) {
			res := s.run(Behaviour{Stdout: []byte("0123456789"), Code: 2}, capped(runner.Head, 4))
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Exited(2)))
			s.Expect(string(res.Stdout())).To(gomega.Equal("0123"))
			s.Expect(res.StdoutTotal()).To(gomega.BeEquivalentTo(10))
			s.Expect(res.StdoutTruncated()).To(gomega.BeTrue())
		}),
		of("Tail keeps the end and counts the rest", func(s subject) {
			res := s.run(Behaviour{Stdout: []byte("0123456789")}, capped(runner.Tail, 4))
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Exited(0)))
			s.Expect(string(res.Stdout())).To(gomega.Equal("6789"))
			s.Expect(res.StdoutTotal()).To(gomega.BeEquivalentTo(10))
		}),
		of("Discard keeps nothing and counts everything", func(s subject) {
			res := s.run(Behaviour{Stdout: []byte("0123456789")}, capped(runner.Discard, 0))
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Exited(0)))
			s.Expect(res.Stdout()).To(gomega.BeEmpty())
			s.Expect(res.StdoutTotal()).To(gomega.BeEquivalentTo(10))
		}),
		of("a tee gets every byte, beyond the cap too", func(s subject) {
			var out, errOut bytes.Buffer
			res := s.run(Behaviour{Stdout: []byte("0123456789"), Stderr: []byte("err")}, func(c *runner.Cmd) {
				out.Reset()
				errOut.Reset()
				c.Output.Stdout = runner.Stream{Policy: runner.Head, MaxBytes: 4, Tee: &out}
				c.Output.Stderr.Tee = &errOut
			})
			s.Expect(out.String()).To(gomega.Equal("0123456789"))
			s.Expect(errOut.String()).To(gomega.Equal("err"))
			s.Expect(res.TeeErr()).NotTo(gomega.HaveOccurred())
		}),
		of("a tee that fails or panics costs nothing but itself", func(s subject) {
			failure := errors.New("tee failed")
			for _, tee := range []io.Writer{brokenTee{failure}, writerFunc(func([]byte) { panic(failure) })} {
				res := s.run(Behaviour{Stdout: []byte("whole"), Code: 3}, func(c *runner.Cmd) { c.Output.Stdout.Tee = tee })
				s.Expect(res.Outcome()).To(gomega.Equal(runner.Exited(3)))
				s.Expect(string(res.Stdout())).To(gomega.Equal("whole"))
				s.Expect(res.TeeErr()).To(gomega.MatchError(failure))
			}
		}),
		of("a terminal is one stream", func(s subject) {
			r, cmd := s.prepare(Behaviour{Stdout: []byte("out "), Stderr: []byte("err")}, func(c *runner.Cmd) { c.PTY = &runner.PTY{} })
			res, err := runner.Run(s.ctx, r, cmd)
			if errors.Is(err, runner.ErrUnsupported) {
				s.tb.Skip("no terminals here")
			}
			s.Expect(err).NotTo(gomega.HaveOccurred())
			s.Expect(string(res.Stdout())).To(gomega.Equal("out err"))
			s.Expect(res.Stderr()).To(gomega.BeEmpty())
		}),
		of("a tap sees both streams, and the user's tee does not notice", func(s subject) {
			var tee bytes.Buffer
			r, cmd := s.prepare(Behaviour{Stdout: []byte("out"), Stderr: []byte("err")}, func(c *runner.Cmd) {
				tee.Reset()
				c.Output.Stdout.Tee = &tee
			})
			var mu sync.Mutex
			var seen [2]bytes.Buffer
			tapped := cmd.Tapped(func(id runner.StreamID, chunk []byte) {
				mu.Lock()
				defer mu.Unlock()
				seen[id].Write(chunk)
			})
			_, err := runner.Run(s.ctx, r, tapped)
			s.Expect(err).NotTo(gomega.HaveOccurred())
			s.Expect(seen[runner.Stdout].String()).To(gomega.Equal("out"))
			s.Expect(seen[runner.Stderr].String()).To(gomega.Equal("err"))
			s.Expect(tee.String()).To(gomega.Equal("out"))
		}),
	}
}

// capped caps standard output.
func capped(p runner.Policy, most int64) func(*runner.Cmd) {
	return func(c *runner.Cmd) { c.Output.Stdout = runner.Stream{Policy: p, MaxBytes: most} }
}

type brokenTee struct{ err error }

func (t brokenTee) Write([]byte) (int, error) { return 0, t.err }
