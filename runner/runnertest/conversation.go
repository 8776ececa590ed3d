package runnertest

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/onsi/gomega"

	"github.com/boombox-go/boombox/runner"
)

// listener is a Tee that can be waited for.
type listener struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *listener) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *listener) heard() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// conversation starts a command that talks, and says what it has said.
func (s subject) conversation(b Behaviour, tap func(string)) (*runner.Process, func() string) {
	s.tb.Helper()
	said := &listener{}
	r, cmd := s.prepare(b, func(c *runner.Cmd) {
		c.Stdin = runner.StdinPipe()
		c.Output.Stdout.Tee = said
	})
	if tap != nil {
		cmd = cmd.Tapped(func(_ runner.StreamID, chunk []byte) { tap("out " + string(chunk)) })
		cmd = cmd.TappedStdin(func(piece []byte) {
			if piece == nil {
				tap("end")
				return
			}
			tap("in " + string(piece))
		})
	}
	p, err := r.Start(s.ctx, cmd)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	s.tb.Cleanup(func() { _ = p.Close() })
	return p, said.heard
}

// say writes to the command, and waits until it has said so much.
func (s subject) say(p *runner.Process, text string, heard func() string, want string) {
	s.tb.Helper()
	_, err := io.WriteString(p.Stdin(), text)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	s.Eventually(heard).WithTimeout(patience).Should(gomega.Equal(want))
}

func conversationCases() []Case {
	return []Case{
		of("interactive input is answered while the command runs, and stays open until it is closed", func(s subject) {
			p, heard := s.conversation(Behaviour{
				Stdout: []byte("name? "), Exchanges: []Exchange{{"bob", "age? "}, {"42", "bye"}}, Code: 7,
			}, nil)
			s.Eventually(heard).WithTimeout(patience).Should(gomega.Equal("name? "))
			s.say(p, "bob\n", heard, "name? age? ")
			s.say(p, "4", heard, "name? age? ")
			s.say(p, "2\n", heard, "name? age? bye")
			s.Expect(p.Settled()).NotTo(gomega.BeClosed())
			s.Expect(p.Stdin().Close()).To(gomega.Succeed())
			s.Expect(p.Stdin().Close()).To(gomega.Succeed())
			_, err := p.Stdin().Write([]byte("late"))
			s.Expect(err).To(gomega.MatchError(os.ErrClosed))
			res, err := p.Wait(s.ctx)
			s.Expect(err).NotTo(gomega.HaveOccurred())
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Exited(7)))
			s.Expect(string(res.Stdout())).To(gomega.Equal("name? age? bye"))
		}),
		of("a tap of interactive input sees each piece before its answer", func(s subject) {
			var mu sync.Mutex
			var seen []string
			p, heard := s.conversation(Behaviour{Exchanges: []Exchange{{"one", "first"}, {"two", "second"}}}, func(text string) {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, text)
			})
			s.say(p, "one\n", heard, "first")
			s.say(p, "two\n", heard, "firstsecond")
			s.Expect(p.Stdin().Close()).To(gomega.Succeed())
			_, err := p.Wait(s.ctx)
			s.Expect(err).NotTo(gomega.HaveOccurred())
			s.Expect(seen).To(gomega.Equal([]string{"in one\n", "out first", "in two\n", "out second", "end"}))
		}),
		of("a terminal that is resized shows it, and cannot be when all is over", func(s subject) {
			said := &listener{}
			r, cmd := s.prepare(Behaviour{Sizes: []runner.PTY{{Cols: 132, Rows: 43}, {Cols: 80, Rows: 24}}, Code: 3}, func(c *runner.Cmd) {
				c.PTY = &runner.PTY{Cols: 100}
				c.Output.Stdout.Tee = said
			})
			var sizes []runner.PTY
			cmd = cmd.TappedResize(func(to runner.PTY) { sizes = append(sizes, to) })
			p, err := r.Start(s.ctx, cmd)
			if errors.Is(err, runner.ErrUnsupported) {
				s.tb.Skip("no terminals here")
			}
			s.Expect(err).NotTo(gomega.HaveOccurred())
			s.tb.Cleanup(func() { _ = p.Close() })
			s.Eventually(said.heard).WithTimeout(patience).Should(gomega.Equal("24 100\r\n"))
			s.Expect(p.Resize(132, 43)).To(gomega.Succeed())
			s.Eventually(said.heard).WithTimeout(patience).Should(gomega.Equal("24 100\r\n43 132\r\n"))
			s.Expect(p.Resize(0, 0)).To(gomega.Succeed())
			res, err := p.Wait(s.ctx)
			s.Expect(err).NotTo(gomega.HaveOccurred())
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Exited(3)))
			s.Expect(string(res.Stdout())).To(gomega.Equal("24 100\r\n43 132\r\n24 80\r\n"))
			s.Expect(sizes).To(gomega.Equal([]runner.PTY{{Cols: 132, Rows: 43}, {Cols: 80, Rows: 24}}))
			s.Expect(p.Resize(1, 1)).To(gomega.MatchError(os.ErrProcessDone))
		}),
		of("a terminal is typed to and answers", func(s subject) {
			said := &listener{}
			r, cmd := s.prepare(Behaviour{
				Stdout: []byte("name? "), Exchanges: []Exchange{{"bob", "age? "}, {"42", "bye"}}, Code: 7,
			}, func(c *runner.Cmd) {
				c.PTY, c.Stdin = &runner.PTY{}, runner.StdinPipe()
				c.Output.Stdout.Tee = said
			})
			p, err := r.Start(s.ctx, cmd)
			if errors.Is(err, runner.ErrUnsupported) {
				s.tb.Skip("no terminals here")
			}
			s.Expect(err).NotTo(gomega.HaveOccurred())
			s.tb.Cleanup(func() { _ = p.Close() })
			s.Eventually(said.heard).WithTimeout(patience).Should(gomega.Equal("name? "))
			s.say(p, "bob\n", said.heard, "name? age? ")
			s.say(p, "42\n", said.heard, "name? age? bye")
			s.Expect(p.Stdin().Close()).To(gomega.Succeed())
			res, err := p.Wait(s.ctx)
			s.Expect(err).NotTo(gomega.HaveOccurred())
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Exited(7)))
		}),
		of("interactive input that nobody can write to is closed by the verbs", func(s subject) {
			res := s.run(Behaviour{Stdout: []byte("out")}, func(c *runner.Cmd) { c.Stdin = runner.StdinPipe() })
			s.Expect(res.Outcome()).To(gomega.Equal(runner.Exited(0)))
			s.Expect(string(res.Stdout())).To(gomega.Equal("out"))
		}),
		of("a command with another input cannot be written to", func(s subject) {
			p := s.start(Behaviour{}, nil)
			_, err := p.Stdin().Write([]byte("lost"))
			s.Expect(err).To(gomega.MatchError(runner.ErrInvalid))
			s.Expect(p.Stdin().Close()).To(gomega.Succeed())
		}),
	}
}
