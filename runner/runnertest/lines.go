package runnertest

import (
	"context"
	"errors"
	"strings"

	"github.com/onsi/gomega"

	"github.com/boombox-go/boombox/runner"
)

// lines are those of both streams, each stream's in its order.
func (s subject) lines(p *runner.Process) (lines [2][]runner.Line) {
	s.tb.Helper()
	for line, err := range p.Lines(s.ctx) {
		s.Expect(err).NotTo(gomega.HaveOccurred())
		lines[line.Stream] = append(lines[line.Stream], line)
	}
	return lines
}

func lineCases() []Case {
	mixed := Behaviour{
		Stdout: []byte("one\ntwo \xc3\xa9\xff\r\n\n 50%\r100%\rlast"), Stderr: []byte("warning\r\n"), Code: 3,
	}
	out := func(text, end string) runner.Line { return runner.Line{Text: text, End: end} }
	errs := func(text, end string) runner.Line { return runner.Line{Stream: runner.Stderr, Text: text, End: end} }
	return []Case{
		of("lines come whole, with their stream and their end", func(s subject) {
			p := s.start(mixed, nil)
			lines := s.lines(p)
			s.Expect(lines[runner.Stdout]).To(gomega.Equal([]runner.Line{
				out("one", "\n"), out("two \xc3\xa9\xff", "\r\n"), out("", "\n"), out(" 50%\r100%\rlast", ""),
			}))
			s.Expect(lines[runner.Stderr]).To(gomega.Equal([]runner.Line{errs("warning", "\r\n")}))
			res, err := p.Wait(s.ctx)
			s.Expect(err).NotTo(gomega.HaveOccurred())
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Exited(3)))
			s.Expect(res.Stdout()).To(gomega.Equal(mixed.Stdout))
			// Whoever comes when all is over has all of it too.
			s.Expect(s.lines(p)).To(gomega.Equal(lines))
		}),
		of("lines end in a carriage return where that is asked for", func(s subject) {
			p := s.start(mixed, func(c *runner.Cmd) { c.Output.Stdout.Framing = runner.CarriageReturn })
			s.Expect(s.lines(p)[runner.Stdout]).To(gomega.Equal([]runner.Line{
				out("one", "\n"), out("two \xc3\xa9\xff", "\r"), out("", "\n"), out(" 50%", "\r"), out("100%", "\r"), out("last", ""),
			}))
		}),
		of("a line that is too long says how much it lacks", func(s subject) {
			p := s.start(Behaviour{Stdout: []byte("12345\n123456\r\n1234\xc3\xa9\n")}, func(c *runner.Cmd) {
				c.Output.Stdout.MaxLine = 5
			})
			s.Expect(s.lines(p)[runner.Stdout]).To(gomega.Equal([]runner.Line{
				out("12345", "\n"), {Text: "12345", End: "\r\n", Dropped: 1}, {Text: "1234", End: "\n", Dropped: 2},
			}))
		}),
		of("a reader that leaves costs the run nothing", func(s subject) {
			p := s.start(mixed, nil)
			for _, err := range p.Lines(s.ctx) {
				s.Expect(err).NotTo(gomega.HaveOccurred())
				break
			}
			func() {
				defer func() { s.Expect(recover()).To(gomega.Equal("reader")) }()
				for range p.Lines(s.ctx) {
					panic("reader")
				}
			}()
			res, err := p.Wait(s.ctx)
			s.Expect(err).NotTo(gomega.HaveOccurred())
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Exited(3)))
			s.Expect(res.Stdout()).To(gomega.Equal(mixed.Stdout))
		}),
		of("a reader's context ends the reading and not the run", func(s subject) {
			p := s.start(Behaviour{Stdout: []byte("begun\n"), Pending: true}, nil)
			cause := errors.New("enough")
			ctx, cancel := context.WithCancelCause(s.ctx)
			defer cancel(nil)
			var texts []string
			var last error
			for line, err := range p.Lines(ctx) {
				texts, last = append(texts, line.Text), err
				cancel(cause)
			}
			s.Expect(texts).To(gomega.Equal([]string{"begun", ""}))
			s.Expect(last).To(gomega.MatchError(cause))
			s.Expect(p.Settled()).NotTo(gomega.BeClosed())
		}),
		of("lines of a run that is cut short end with it", func(s subject) {
			p := s.start(Behaviour{Stdout: []byte("begun\nhalf"), Pending: true}, nil)
			var got []runner.Line
			for line, err := range p.Lines(s.ctx) {
				s.Expect(err).NotTo(gomega.HaveOccurred())
				got = append(got, line)
				p.Cancel(nil)
			}
			s.Expect(got).To(gomega.Equal([]runner.Line{out("begun", "\n"), out("half", "")}))
			_, err := p.Wait(s.ctx)
			s.Expect(err).To(gomega.MatchError(runner.ErrCancelled))
		}),
		of("a late reader has what was kept, and is told of the rest", func(s subject) {
			const said = "1111\n2222\n3333\n"
			p := s.start(Behaviour{Stdout: []byte(said)}, capped(runner.Head, 7))
			_, err := p.Wait(s.ctx)
			s.Expect(err).NotTo(gomega.HaveOccurred())
			var got strings.Builder
			for line, err := range p.Lines(s.ctx) {
				if err == nil {
					got.WriteString(line.Text + line.End)
					continue
				}
				s.Expect(err).To(gomega.MatchError(runner.ErrMissed))
				missed, _ := errors.AsType[*runner.MissedError](err)
				s.Expect(missed).To(gomega.HaveValue(gomega.Equal(runner.MissedError{Program: p.Program(), Bytes: 8})))
				got.WriteString(said[7:])
			}
			s.Expect(got.String()).To(gomega.Equal(said))
		}),
		of("a reader has the lines of a stream that is not kept, however soon the run is over", func(s subject) {
			p := s.start(mixed, capped(runner.Discard, 0))
			_, err := p.Wait(s.ctx)
			s.Expect(err).NotTo(gomega.HaveOccurred())
			s.Expect(s.lines(p)[runner.Stdout]).To(gomega.HaveLen(4))
			res, _ := p.Result()
			s.Expect(res.Stdout()).To(gomega.BeEmpty())
		}),
		of("events begin with the start and end with the result", func(s subject) {
			p := s.start(mixed, nil)
			var kinds []string
			var last runner.Event
			for e, err := range p.Events(s.ctx) {
				s.Expect(err).NotTo(gomega.HaveOccurred())
				kinds, last = append(kinds, e.Kind.String()), e
			}
			s.Expect(strings.Join(kinds, " ")).To(gomega.Equal("started line line line line line ended"))
			res, err := p.Wait(s.ctx)
			s.Expect(err).NotTo(gomega.HaveOccurred())
			s.Expect(last.Result).To(gomega.BeIdenticalTo(res))
		}),
		of("no printer shows a line", func(s subject) {
			const secret = "sentinel-line"
			p := s.start(Behaviour{Stdout: []byte(secret + "\n")}, nil)
			for e, err := range p.Events(s.ctx) {
				s.Expect(err).NotTo(gomega.HaveOccurred())
				if e.Kind == runner.EventLine {
					s.Expect(e.Line.Text).To(gomega.Equal(secret))
				}
				s.Expect(e.String()).NotTo(gomega.ContainSubstring(secret))
				s.Expect(e.Line.String()).NotTo(gomega.ContainSubstring(secret))
			}
		}),
	}
}
