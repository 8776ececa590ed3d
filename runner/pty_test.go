//go:build unix

package runner_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// onTerminal is a script with a terminal.
func onTerminal(script string) *runner.Cmd {
	cmd := shell(script)
	cmd.PTY = &runner.PTY{}
	return cmd
}

// said is what a terminal shows, in lines.
func said(text string) []string { return strings.Split(strings.TrimSuffix(text, "\r\n"), "\r\n") }

var _ = Describe("a terminal", func() {
	output := func(ctx SpecContext, r runner.Runner, cmd *runner.Cmd) []string {
		GinkgoHelper()
		res, err := runner.Run(ctx, r, cmd)
		Expect(err).NotTo(HaveOccurred())
		Expect(res.Check()).To(Succeed())
		Expect(res).To(HaveStderr(""))
		Expect(res.PipesHeld()).To(BeFalse())
		Expect(res).NotTo(HaveTruncated(runner.Stdout))
		Expect(res).To(HaveReapedTree())
		return said(string(res.Stdout()))
	}

	It("is all three of the child's streams, and they come as one; without it none is one", func(ctx SpecContext) {
		script := "for fd in 0 1 2; do test -t $fd && echo $fd; done; echo error >&2"
		Expect(output(ctx, runner.Contained{}, onTerminal(script))).To(Equal([]string{"0", "1", "2", "error"}))
		res, err := runner.Run(ctx, runner.Contained{}, shell(script))
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveStdout(""))
	})

	It("has a size, and another when it is resized", func(ctx SpecContext) {
		cmd := onTerminal("trap 'stty size; exit 0' WINCH; stty size; sleep 20 & wait")
		p, err := runner.Contained{}.Start(ctx, cmd)
		Expect(err).NotTo(HaveOccurred())
		for line, err := range p.Lines(ctx) {
			Expect(err).NotTo(HaveOccurred())
			Expect(line.Text).To(Equal("24 80"))
			break
		}
		Expect(p.Resize(132, 43)).To(Succeed())
		res, err := p.Wait(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(said(string(res.Stdout()))).To(Equal([]string{"24 80", "43 132"}))
		Expect(p.Resize(1, 1)).To(MatchError(os.ErrProcessDone))

		cmd = onTerminal("stty size")
		cmd.PTY = &runner.PTY{Cols: 20, Rows: 10}
		Expect(output(ctx, runner.Contained{}, cmd)).To(Equal([]string{"10 20"}))
	})

	It("turns the byte of Ctrl-C into SIGINT, which without one is a byte", func(ctx SpecContext) {
		for _, terminal := range []*runner.PTY{{}, nil} {
			cmd := shell("trap 'echo interrupted; exit 7' INT; exec 3<&0; echo ready; cat <&3 >/dev/null & wait; echo read")
			cmd.PTY, cmd.Stdin = terminal, runner.StdinPipe()
			p, err := runner.Contained{}.Start(ctx, cmd)
			Expect(err).NotTo(HaveOccurred())
			for range p.Lines(ctx) {
				break // ready
			}
			_, err = p.Stdin().Write([]byte{3})
			Expect(err).NotTo(HaveOccurred())
			if terminal == nil {
				Expect(p.Stdin().Close()).To(Succeed())
			}
			res, err := p.Wait(ctx)
			Expect(err).NotTo(HaveOccurred())
			if terminal == nil {
				Expect(res).To(HaveStdout("ready\nread\n"))
			} else {
				Expect(said(string(res.Stdout()))).To(Equal([]string{"ready", "interrupted"}))
				Expect(res).To(HaveExited(7))
			}
		}
	})

	It("is typed to, without an echo, and then typed the end of the input", func(ctx SpecContext) {
		file := filepath.Join(GinkgoT().TempDir(), "input")
		Expect(os.WriteFile(file, []byte("typed\n"), 0o600)).To(Succeed())
		for _, in := range []runner.Stdin{
			runner.StdinString("typed\n"), runner.StdinFrom(file), runner.StdinStream(strings.NewReader("typed\n")),
		} {
			cmd := onTerminal("cat; echo over")
			cmd.Stdin = in
			Expect(output(ctx, runner.Contained{}, cmd)).To(Equal([]string{"typed", "over"}), in.String())
		}
		cmd := onTerminal("cat; echo over")
		Expect(output(ctx, runner.Contained{}, cmd)).To(Equal([]string{"over"}), "closed")
		cmd.Stdin = runner.StdinString("no newline")
		Expect(output(ctx, runner.Contained{}, cmd)).To(Equal([]string{"no newlineover"}))
	})

	It("is written to while the child runs, until Close types the end", func(ctx SpecContext) {
		cmd := onTerminal("while read line; do echo got $line; done; echo over")
		cmd.Stdin = runner.StdinPipe()
		p, err := runner.Contained{}.Start(ctx, cmd)
		Expect(err).NotTo(HaveOccurred())
		_, err = p.Stdin().Write([]byte("one\n"))
		Expect(err).NotTo(HaveOccurred())
		for line := range p.Lines(ctx) {
			Expect(line.Text).To(Equal("got one"))
			break
		}
		Expect(p.Stdin().Close()).To(Succeed())
		res, err := p.Wait(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(said(string(res.Stdout()))).To(Equal([]string{"got one", "over"}))
	})

	It("shows all of a long output, to its end", func(ctx SpecContext) {
		cmd := fixture("lines", "20000")
		cmd.PTY = &runner.PTY{}
		lines := output(ctx, runner.Contained{}, cmd)
		Expect(lines).To(HaveLen(20000))
		Expect(lines[19999]).To(Equal("line 20000"))
	})

	It("gives what was written right before nobody had it any more", func() {
		// A reader that takes the kernel's first word for it loses about one in a thousand of these.
		for range 10_000 {
			ours, childs, err := pty.Open()
			Expect(err).NotTo(HaveOccurred())
			r, err := runner.NewTerminalReader(ours)
			Expect(err).NotTo(HaveOccurred())
			Expect(ours.Close()).To(Succeed())
			wrote := make(chan error, 1)
			go func() {
				_, err := childs.WriteString("x")
				wrote <- errors.Join(err, childs.Close())
			}()
			var all []byte
			for err = nil; err != io.EOF; {
				piece := make([]byte, 16)
				var n int
				n, err = r.Read(piece)
				all = append(all, piece[:n]...)
				if err != nil && err != io.EOF {
					Expect(err).To(MatchError(os.ErrDeadlineExceeded))
				}
			}
			Expect(<-wrote).To(Succeed())
			Expect(r.Close()).To(Succeed())
			Expect(string(all)).To(Equal("x"))
		}
	})

	It("ends a child that reads nothing, whatever waits to be typed", func(ctx SpecContext) {
		cmd := onTerminal("sleep 20")
		cmd.Stdin = runner.StdinString(strings.Repeat("line\n", 100_000))
		cmd.Timeout = 200 * time.Millisecond
		res, err := runner.Run(ctx, runner.Contained{}, cmd)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveTimedOut())
		Expect(res).To(HaveReapedTree())
	})

	It("does not outlive its tree, nor does a descendant on it", func(ctx SpecContext) {
		res, err := runner.Run(ctx, runner.Contained{}, onTerminal("trap '' HUP; sleep 20 & echo started"))
		Expect(err).NotTo(HaveOccurred())
		Expect(said(string(res.Stdout()))).To(Equal([]string{"started"}))
		Expect(res).To(HaveReapedTree())
		Expect(res.SettledAfter()).To(BeNumerically("<", 15*time.Second))
	})

	It("controls the session on every rung that this host has, with a stage as well", func(ctx SpecContext) {
		script := "trap 'echo interrupted; exit 0' INT; stty size </dev/tty; sleep 20 & wait"
		interrupted := func(r runner.Runner, confine bool) ([]string, error) {
			cmd := onTerminal(script)
			cmd.Stdin, cmd.NoCoreDumps = runner.StdinPipe(), confine
			p, err := r.Start(ctx, cmd)
			if err != nil {
				return nil, err
			}
			for range p.Lines(ctx) {
				break // the size
			}
			_, err = p.Stdin().Write([]byte{3})
			Expect(err).NotTo(HaveOccurred())
			res, err := p.Wait(ctx)
			return said(string(res.Stdout())), err
		}
		tried := 0
		for _, m := range []contain.Mechanism{contain.Cgroup2, contain.PIDNamespace, contain.Subreaper, contain.ProcessGroup} {
			g, err := contain.New(contain.Options{Mechanism: m})
			if err != nil {
				continue
			}
			tried++
			r := runner.Contained{Group: g}
			Expect(interrupted(r, false)).To(Equal([]string{"24 80", "interrupted"}), string(m))
			if lines, err := interrupted(r, true); err == nil {
				Expect(lines).To(Equal([]string{"24 80", "interrupted"}), string(m))
			} else {
				Expect(err).To(MatchError(runner.ErrUnsupported), string(m))
			}
			Expect(g.Close()).To(Succeed())
		}
		Expect(tried).NotTo(BeZero())
		Expect(runner.Output(ctx, runner.Contained{}, shell("stty size </dev/tty"))).Error().To(HaveOccurred(), "without a terminal there is none")
	})

	It("is one stream in scripts and cassettes", func(ctx SpecContext) {
		cmd := runner.Command("tool")
		cmd.PTY = &runner.PTY{}
		for _, before := range []time.Duration{0, time.Millisecond} {
			r := fake.New()
			r.On().Reply(fake.After(before), fake.Stdout("out "), fake.Stderr("err "), fake.Stdout("out"))
			res, err := runner.Run(ctx, r, cmd)
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveStdout("out err out"))
			Expect(res).To(HaveStderr(""))
		}
		file := filepath.Join(GinkgoT().TempDir(), "terminal.cassette")
		recorder, err := cassette.NewRecorder(file, runner.Contained{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(recorder.Close)
		script := "echo out; echo error >&2; test -t 1 && echo terminal"
		want := output(ctx, recorder, onTerminal(script))
		Expect(want).To(Equal([]string{"out", "error", "terminal"}))
		Expect(recorder.Save()).To(Succeed())
		player, err := cassette.Open(file)
		Expect(err).NotTo(HaveOccurred())
		res, err := runner.Run(ctx, player, onTerminal(script))
		Expect(err).NotTo(HaveOccurred())
		Expect(said(string(res.Stdout()))).To(Equal(want))
	})

	It("can be that of the last stage of a pipeline, and of no other", func(ctx SpecContext) {
		p := runner.Pipe(shell("echo through"), onTerminal("cat; test -t 1 && echo terminal"))
		res, err := p.Run(ctx, runner.Contained{})
		Expect(err).NotTo(HaveOccurred())
		Expect(said(string(res.Last().Stdout()))).To(Equal([]string{"through", "terminal"}))
		_, err = runner.Pipe(onTerminal("echo"), shell("cat")).Run(ctx, runner.Contained{})
		Expect(err).To(MatchError(runner.ErrInvalid))
	})

	It("refuses what does not go with it", func(ctx SpecContext) {
		inherit := onTerminal("exit")
		inherit.Stdin = runner.InheritStdin()
		apart := onTerminal("exit")
		apart.Output.Stderr.Policy = runner.Discard
		for _, cmd := range []*runner.Cmd{inherit, apart} {
			_, err := runner.Contained{}.Start(ctx, cmd)
			Expect(err).To(MatchError(runner.ErrInvalid))
		}
		p, err := runner.Contained{}.Start(ctx, fixture("sleep"))
		Expect(err).NotTo(HaveOccurred())
		Expect(p.Resize(1, 1)).To(MatchError(runner.ErrInvalid))
		Expect(p.Close()).To(Succeed())
	})

	It("leaves nothing of a start that fails, and of input that cannot be opened", func(ctx SpecContext) {
		lost := runner.Command("no-such-tool")
		blind := onTerminal("exit")
		blind.Stdin = runner.StdinFrom("/no/such")
		broken := runner.Command(filepath.Join(GinkgoT().TempDir(), "broken"))
		Expect(os.WriteFile(broken.Argv()[0], []byte("#!/no/such/interpreter\n"), 0o700)).To(Succeed())
		reader := strings.NewReader("unread")
		for _, cmd := range []*runner.Cmd{lost, blind, broken} {
			cmd.PTY = &runner.PTY{}
			if cmd != blind {
				cmd.Stdin = runner.StdinStream(reader)
			}
			before := terminalsAndPipes()
			_, err := runner.Contained{}.Start(ctx, cmd)
			Expect(err).To(HaveOccurred())
			Expect(terminalsAndPipes()).To(Equal(before))
			Expect(reader.Len()).To(Equal(6))
		}
	})

	It("that cannot be had does nothing to who was spared in the group before", func(ctx SpecContext) {
		g, err := contain.New(contain.Options{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(g.Close)
		deaf := fixture("sigtermignorer", "life=60s")
		find := marked(deaf)
		p, err := runner.Contained{Group: g}.Start(ctx, deaf)
		Expect(err).NotTo(HaveOccurred())
		_, err = p.WaitForLine(ctx, func(l runner.Line) bool { return strings.HasPrefix(l.Text, "ready") })
		Expect(err).NotTo(HaveOccurred())
		Expect(g.Ask(ctx, 50*time.Millisecond)).To(HaveField("Spared", true))
		broken := runner.Command(filepath.Join(GinkgoT().TempDir(), "broken"))
		Expect(os.WriteFile(broken.Argv()[0], []byte("#!/no/such/interpreter\n"), 0o700)).To(Succeed())
		broken.PTY = &runner.PTY{}
		for range 3 {
			_, err := runner.Contained{Group: g}.Start(ctx, broken)
			Expect(err).To(MatchError(runner.ErrNotExecutable))
		}
		Expect(p.Settled()).NotTo(BeClosed())
		Expect(find()).To(HaveSurvivors())
		Expect(g.Close()).To(Succeed())
		Expect(find()).NotTo(HaveSurvivors(), "and it is the group's still")
	}, NodeTimeout(time.Minute))

	It("hangs up with a child that is killed", func(ctx SpecContext) {
		p, err := runner.Contained{}.Start(ctx, onTerminal("echo ready; sleep 20"))
		Expect(err).NotTo(HaveOccurred())
		for range p.Lines(ctx) {
			break
		}
		Expect(p.Kill()).To(Succeed())
		res, err := p.Wait(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(BeSignaled(syscall.SIGKILL))
		Expect(res.PipesHeld()).To(BeFalse())
	})
})

// terminalsAndPipes is how many descriptors of ours lead to terminals and pipes; 0 where that cannot be seen.
func terminalsAndPipes() (n int) {
	fds, _ := os.ReadDir("/proc/self/fd")
	for _, fd := range fds {
		target, err := os.Readlink("/proc/self/fd/" + fd.Name())
		if err == nil && (strings.HasPrefix(target, "/dev/pt") || strings.HasPrefix(target, "pipe:")) {
			n++
		}
	}
	return n
}
