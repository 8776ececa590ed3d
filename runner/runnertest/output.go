package runnertest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/onsi/gomega"

	"github.com/boombox-go/boombox/runner"
)

// outputCases are about what becomes of output beyond its capture.
func outputCases() []Case {
	texts := func(lines []runner.Line) (texts []string) {
		for _, l := range lines {
			texts = append(texts, l.Text)
		}
		return texts
	}
	abc := Behaviour{Stdout: []byte("a\nb\nc\nd"), Stderr: []byte("x\n"), Code: 2}
	// kept is what standard output comes to under s, whatever is done when the same command is recorded before.
	kept := func(s subject, b Behaviour, out func() runner.Stream) *runner.Result {
		s.tb.Helper()
		return s.run(b, func(c *runner.Cmd) { c.Output.Stdout = out() })
	}
	hide := func(l runner.Line) string { return strings.ReplaceAll(l.Text, "secret", "***") }
	return []Case{
		of("lines are capped: the first are kept", func(s subject) {
			res := kept(s, abc, func() runner.Stream { return runner.Stream{Policy: runner.Head, MaxLines: 2} })
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Exited(2)))
			s.Expect(string(res.Stdout())).To(gomega.Equal("a\nb\n"))
			s.Expect(res.StdoutTruncated()).To(gomega.BeTrue())
			s.Expect(res.StdoutTotal()).To(gomega.BeEquivalentTo(7))
		}),
		of("lines are capped: the last are kept", func(s subject) {
			res := kept(s, abc, func() runner.Stream { return runner.Stream{Policy: runner.Tail, MaxLines: 2} })
			s.Expect(string(res.Stdout())).To(gomega.Equal("c\nd"))
			s.Expect(res.StdoutTruncated()).To(gomega.BeTrue())
		}),
		of("lines are capped: one more fails the run", func(s subject) {
			res := kept(s, abc, func() runner.Stream { return runner.Stream{MaxLines: 3} })
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Overflowed))
			s.Expect(string(res.Stdout())).To(gomega.Equal("a\nb\nc\n"))
			s.Expect(res.Check()).To(gomega.MatchError(gomega.ContainSubstring("3 lines on stdout")))
			res = kept(s, abc, func() runner.Stream { return runner.Stream{MaxLines: 4} })
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Exited(2)))
			s.Expect(res.StdoutTruncated()).To(gomega.BeFalse())
		}),
		of("handlers get every line, beyond the caps", func(s subject) {
			var out, errOut []runner.Line
			s.run(abc, func(c *runner.Cmd) {
				out, errOut = nil, nil
				c.Output.Stdout = runner.Stream{Policy: runner.Head, MaxBytes: 1, OnLine: func(l runner.Line) { out = append(out, l) }}
				c.Output.Stderr.OnLine = func(l runner.Line) { errOut = append(errOut, l) }
			})
			s.Expect(texts(out)).To(gomega.Equal([]string{"a", "b", "c", "d"}))
			s.Expect(out[3].End).To(gomega.BeEmpty())
			s.Expect(errOut).To(gomega.Equal([]runner.Line{{Stream: runner.Stderr, Text: "x", End: "\n"}}))
		}),
		of("a handler that panics costs nothing but itself", func(s subject) {
			failure := errors.New("handler failed")
			calls := 0
			res := s.run(abc, func(c *runner.Cmd) {
				calls = 0
				c.Output.Stdout.OnLine = func(runner.Line) { calls++; panic(failure) }
			})
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Exited(2)))
			s.Expect(res.Stdout()).To(gomega.Equal(abc.Stdout))
			s.Expect(res.TeeErr()).To(gomega.MatchError(failure))
			s.Expect(calls).To(gomega.Equal(1))
		}),
		of("what is redacted is neither kept nor streamed, and onlookers see the original", func(s subject) {
			said := []byte("one secret\r\nno end of a secret")
			var tee, seen bytes.Buffer
			p := s.start(Behaviour{Stdout: said}, func(c *runner.Cmd) {
				tee.Reset()
				seen.Reset()
				c.Output.Stdout = runner.Stream{
					Redact: hide, Tee: &tee, OnLine: func(l runner.Line) { seen.WriteString(l.Text + l.End) },
				}
			})
			s.Expect(texts(s.lines(p)[runner.Stdout])).To(gomega.Equal([]string{"one ***", "no end of a ***"}))
			res, err := p.Wait(s.ctx)
			s.Expect(err).NotTo(gomega.HaveOccurred())
			s.Expect(string(res.Stdout())).To(gomega.Equal("one ***\r\nno end of a ***"))
			s.Expect(res.StdoutTotal()).To(gomega.BeEquivalentTo(len(said)))
			s.Expect(res.StdoutTruncated()).To(gomega.BeFalse())
			s.Expect(tee.Bytes()).To(gomega.Equal(said))
			s.Expect(seen.Bytes()).To(gomega.Equal(said))
		}),
		of("a redactor that fails blanks the line", func(s subject) {
			failure := errors.New("redactor failed")
			res := kept(s, Behaviour{Stdout: []byte("fine\nsecret\nfine\n")}, func() runner.Stream {
				return runner.Stream{Redact: func(l runner.Line) string {
					if l.Text == "secret" {
						panic(failure)
					}
					return l.Text
				}}
			})
			s.Expect(string(res.Stdout())).To(gomega.Equal("fine\n\nfine\n"))
			s.Expect(res.TeeErr()).To(gomega.MatchError(failure))
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Exited(0)))
		}),
		of("a line that a redactor would see a part of is blanked", func(s subject) {
			res := kept(s, Behaviour{Stdout: []byte("a long secret\nfine\n")}, func() runner.Stream {
				return runner.Stream{Redact: hide, MaxLine: 8}
			})
			s.Expect(string(res.Stdout())).To(gomega.Equal("\nfine\n"))
		}),
		of("terminal sequences are stripped before anything is redacted", func(s subject) {
			said := []byte("\x1b[1;31msec\x1b[0mret\x1b]0;title\x07 \xe2\x9c\x93\r\n\ttab\x1b(B")
			res := kept(s, Behaviour{Stdout: said}, func() runner.Stream { return runner.Stream{StripVT: true} })
			s.Expect(string(res.Stdout())).To(gomega.Equal("secret \xe2\x9c\x93\r\n\ttab"))
			var tee bytes.Buffer
			res = kept(s, Behaviour{Stdout: said}, func() runner.Stream {
				tee.Reset()
				return runner.Stream{StripVT: true, Redact: hide, Tee: &tee}
			})
			s.Expect(string(res.Stdout())).To(gomega.Equal("*** \xe2\x9c\x93\r\n\ttab"))
			s.Expect(tee.Bytes()).To(gomega.Equal(said))
		}),
		of("a file gets the stream, beyond the cap, and nobody else may read it", func(s subject) {
			var path string
			configure := func(c *runner.Cmd) {
				path = filepath.Join(s.tb.TempDir(), "out")
				s.Expect(path).NotTo(gomega.BeAnExistingFile(), "the control")
				c.Output.Stdout = runner.Stream{Policy: runner.Head, MaxBytes: 2, File: runner.NewFile(path), Redact: hide}
			}
			s.run(Behaviour{Stdout: []byte("a secret\nend"), Stderr: []byte("the other stream")}, configure)
			content, err := os.ReadFile(path)
			s.Expect(err).NotTo(gomega.HaveOccurred())
			s.Expect(string(content)).To(gomega.Equal("a ***\nend"))
			info, err := os.Stat(path)
			s.Expect(err).NotTo(gomega.HaveOccurred())
			if os.PathSeparator == '/' {
				s.Expect(info.Mode().Perm()).To(gomega.BeEquivalentTo(0o600))
			}
		}),
		of("a file is appended to where that is asked for", func(s subject) {
			var path string
			s.run(Behaviour{Stdout: []byte("after")}, func(c *runner.Cmd) {
				path = filepath.Join(s.tb.TempDir(), "out")
				s.Expect(os.WriteFile(path, []byte("before "), 0o600)).To(gomega.Succeed())
				c.Output.Stdout.File = runner.AppendFile(path)
			})
			content, err := os.ReadFile(path)
			s.Expect(err).NotTo(gomega.HaveOccurred())
			s.Expect(string(content)).To(gomega.Equal("before after"))
		}),
		of("a file that cannot be opened is an error, and not one of the program", func(s subject) {
			r, cmd := s.prepare(abc, func(c *runner.Cmd) { c.Output.Stdout.File = runner.OutputFile{} })
			cmd.Output.Stdout.File = runner.NewFile(s.tb.TempDir())
			_, err := runner.Run(s.ctx, r, cmd)
			failed, ok := errors.AsType[*runner.StartError](err)
			s.Expect(ok).To(gomega.BeTrue(), "no *runner.StartError")
			s.Expect(failed.Kind).To(gomega.Equal(runner.StartBadOutput))
			s.Expect(err).NotTo(gomega.MatchError(runner.ErrNotFound))
		}),
		of("merged streams come as standard output, in their order", func(s subject) {
			res := s.run(Behaviour{Stdout: []byte("out\n"), Stderr: []byte("err\n")}, func(c *runner.Cmd) { c.Output.Merge = true })
			s.Expect(string(res.Stdout())).To(gomega.Equal("out\nerr\n"))
			s.Expect(res.Stderr()).To(gomega.BeEmpty())
			s.Expect(res.StderrTotal()).To(gomega.BeZero())
		}),
		of("settings for a stream that is merged away are refused", func(s subject) {
			for _, spoil := range []func(*runner.Stream){
				func(o *runner.Stream) { o.Policy = runner.Tail },
				func(o *runner.Stream) { o.MaxBytes = 1 },
				func(o *runner.Stream) { o.MaxLines = 1 },
				func(o *runner.Stream) { o.Tee = writerFunc(func([]byte) {}) },
				func(o *runner.Stream) { o.OnLine = func(runner.Line) {} },
				func(o *runner.Stream) { o.StripVT = true },
				func(o *runner.Stream) { o.Redact = hide },
				func(o *runner.Stream) { o.File = runner.NewFile("x") },
				func(o *runner.Stream) { o.Framing = runner.CarriageReturn },
				func(o *runner.Stream) { o.MaxLine = 1 },
			} {
				r, cmd := s.prepare(Behaviour{}, nil)
				cmd.Output.Merge = true
				spoil(&cmd.Output.Stderr)
				_, err := r.Start(s.ctx, cmd)
				s.Expect(err).To(gomega.MatchError(runner.ErrInvalid))
				invalid, _ := errors.AsType[*runner.InvalidError](err)
				s.Expect(invalid.Field).To(gomega.Equal("Output"))
			}
		}),
	}
}
