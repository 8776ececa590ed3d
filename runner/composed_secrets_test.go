package runner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/google/go-cmp/cmp"

	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/runner"
	"github.com/boombox-go/boombox/runner/runnertest"
)

// Each kind of secret has a sentinel of its own, so that a leak says what leaks.
const (
	secretArg, secretEnv, secretIn = "sentinel-4711-arg", "sentinel-4712-env", "sentinel-4713-in"
	secretOut, secretErr           = "sentinel-4714-out", "sentinel-4715-err"
)

var secrets = []string{secretArg, secretEnv, secretIn, secretOut, secretErr}

// secretive is a command that is given every secret, and says two.
func secretive(then string) *runner.Cmd {
	cmd := shell("echo " + secretOut + "; echo " + secretErr + " >&2; " + then).With(secretArg)
	cmd.Env = cmd.Env.Set("BOOMBOX_SENTINEL", secretEnv)
	cmd.Stdin = runner.StdinString(secretIn)
	return cmd
}

// differs is what go-cmp says of v and nothing, which is how matchers show it.
func differs(v any) (text string) {
	defer func() {
		if recover() != nil {
			text = "" // it has unexported fields, which go-cmp does not show
		}
	}()
	return cmp.Diff(nil, v)
}

var _ = Describe("what is composed of commands", func() {
	clean := func(what string, v any) {
		GinkgoHelper()
		Expect(runnertest.Leaks(v, secrets...)).To(BeEmpty(), what)
		for _, secret := range secrets {
			Expect(differs(v)).NotTo(ContainSubstring(secret), what)
		}
	}
	reader := func(cmd *runner.Cmd) *runner.Cmd {
		cmd.Stdin = runner.StdinStream(strings.NewReader(secretIn))
		return cmd
	}
	bad := func(cmd *runner.Cmd) *runner.Cmd {
		cmd.Timeout = -1
		return cmd
	}

	It("shows no secret in a result, a status or a description", func(ctx SpecContext) {
		var r runner.Runner = runner.Contained{}
		pipe := runner.Pipe(secretive("cat"), shell("cat"))
		clean("Pipeline", pipe)
		clean("Stage", pipe.Stages[0])
		piped, err := pipe.Run(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		clean("PipelineResult", piped)
		clean("StageResult", piped.Stages())

		items := runner.Batch{}.Run(ctx, r, []*runner.Cmd{secretive("exit 1"), runner.Command("/" + secretArg + "/tool")})
		clean("BatchItem", items)

		cmd := secretive("sleep 20")
		supervised, err := runner.Supervisor{}.Start(ctx, r, cmd)
		Expect(err).NotTo(HaveOccurred())
		clean("Supervised", supervised)
		clean("SupervisorStatus", supervised.Status())
		last, err := supervised.Stop(ctx)
		Expect(err).NotTo(HaveOccurred())
		clean("last Result", last)
		clean("SupervisorStatus at the end", supervised.Status())

		client := runner.Client{Runner: r, Base: cmd}
		clean("Client", client)
		clean("Command of a Client", client.Command(secretArg))
		clean("Retry", runner.Retry{Attempts: 2})
		clean("PTY", runner.PTY{})
	})

	It("shows no secret of a run that is followed, waited for, or has a terminal", func(ctx SpecContext) {
		var r runner.Runner = runner.Contained{}
		terminal := secretive("sleep 20").With()
		terminal.PTY = &runner.PTY{}
		for _, cmd := range []*runner.Cmd{secretive("sleep 20"), terminal} {
			p, err := r.Start(ctx, cmd)
			Expect(err).NotTo(HaveOccurred())
			said := 0
			for event, err := range p.Events(ctx) {
				Expect(err).NotTo(HaveOccurred())
				for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
					clean("Event", fmt.Sprintf(verb, event))
					clean("Line", fmt.Sprintf(verb, event.Line))
				}
				if event.Kind == runner.EventLine {
					if said++; said == 2 {
						break
					}
				}
			}
			Expect(said).To(Equal(2))
			clean("Process", p)
			short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			_, line := p.WaitForLine(short, func(runner.Line) bool { return false })
			for what, err := range map[string]error{
				"WaitForLine": line, "WaitForFile": p.WaitForFile(short, "/"+secretArg), "WaitForSocket": p.WaitForSocket(short, "/"+secretArg),
				"WaitForPort": p.WaitForPort(short, "127.0.0.1:1"), "WaitForHTTP": p.WaitForHTTP(short, "http://127.0.0.1:1/"+secretArg),
				"WaitFor": p.WaitFor(short, func(context.Context) error { return errors.New("not yet") }),
			} {
				Expect(err).To(MatchError(runner.ErrNotReady), what)
				clean(what, err)
			}
			cancel()
			Expect(p.Close()).To(Succeed())
			_, err = p.Wait(ctx)
			Expect(err).To(MatchError(runner.ErrCancelled))
			clean("CancelError", err)
		}
	})

	It("shows no secret in an error", func(ctx SpecContext) {
		var r runner.Runner = runner.Contained{}
		fails := func(what string, err error) {
			GinkgoHelper()
			Expect(err).To(HaveOccurred(), what)
			clean(what, err)
		}
		twice := runner.Retry{Attempts: 2, When: always, Backoff: atOnce}
		_, err := twice.Output(ctx, r, secretive("exit 3"))
		fails("RetryError", err)
		_, err = twice.Output(ctx, r, reader(secretive("exit")))
		fails("retry of a reader", err)

		_, err = runner.Pipe(secretive("exit 3"), shell("cat")).Output(ctx, r)
		fails("PipelineError", err)
		_, err = runner.Pipe(secretive("cat"), runner.Command("/"+secretArg+"/tool")).Run(ctx, r)
		fails("pipeline that cannot start", err)
		_, err = runner.Pipe(shell("exit"), secretive("exit")).Run(ctx, r)
		fails("pipeline with two inputs", err)
		run, cancel := context.WithCancel(ctx)
		cut := secretive("sleep 20")
		cut.Output.Stdout.Tee = teeFunc(func([]byte) { cancel() })
		_, err = runner.Pipe(cut, shell("cat")).Run(run, r)
		fails("cancelled pipeline", err)

		s, err := runner.Supervisor{MaxRestarts: 1, Backoff: atOnce}.Start(ctx, r, secretive("exit 3"))
		Expect(err).NotTo(HaveOccurred())
		_, err = s.Wait(ctx)
		fails("StormError", err)
		_, err = runner.Supervisor{}.Start(ctx, r, bad(secretive("exit")))
		fails("supervisor of nonsense", err)

		_, err = twice.Check(ctx, r, secretive("exit 3"))
		fails("RetryError of Check", err)
		_, err = twice.Probe(ctx, r, secretive("exit 3"))
		fails("RetryError of Probe", err)
		client := runner.Client{Runner: r, Base: secretive("exit 3")}
		_, err = client.Output(ctx, secretArg)
		fails("Client", err)
		_, err = client.Probe(ctx, secretArg)
		fails("Probe of a Client", err)
		for _, err := range client.Lines(ctx, secretArg) {
			if err != nil {
				fails("Lines of a Client", err)
			}
		}
		_, err = runner.Resolve(runner.Command("/" + secretArg + "/tool"))
		fails("Resolve", err)
		_, err = runner.LookPath(runner.CleanEnv().Set("PATH", "/"+secretEnv), "tool")
		fails("LookPath", err)
		for _, item := range (runner.Batch{}).Run(ctx, r, []*runner.Cmd{bad(secretive("exit")), runner.Command("/" + secretArg + "/tool")}) {
			fails("Batch", item.Err)
		}

		_, err = runner.JSON[int](ctx, r, secretive("exit"))
		fails("DecodeError", err)
		_, err = runner.JSON[int](ctx, replies(fake.Stdout(`"`+secretOut+`"`)), runner.Command("tool"))
		fails("DecodeError of a value", err)
		for _, err := range runner.Lines(ctx, r, secretive("exit 3")) {
			if err != nil {
				fails("Lines", err)
			}
		}
		_, err = runner.Detach(ctx, bad(secretive("exit")))
		fails("Detach of nonsense", err)
		_, err = runner.Detach(ctx, secretive("exit"))
		fails("Detach that is refused", err)
		_, err = runner.Detach(ctx, runner.Command("/"+secretArg+"/tool"))
		fails("Detach of nothing", err)

		terminal := secretive("sleep 20")
		terminal.PTY, terminal.Timeout = &runner.PTY{}, time.Second
		terminal.Output.Stderr.Policy = runner.Head
		_, err = runner.Output(ctx, r, terminal)
		fails("terminal with a stderr", err)
	})

	It("shows no secret in a log, an observation or a count", func(ctx SpecContext) {
		var text, object bytes.Buffer
		var tally runner.Tally
		w := &watcher{}
		r := runner.Observed(runner.Observed(runner.Contained{}, &tally), w)
		r = runner.Logged(r, slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true})))
		r = runner.Logged(r, slog.New(slog.NewJSONHandler(&object, &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true})))
		clean("Logged", r)
		slow := secretive("sleep 20")
		slow.Timeout = 200 * time.Millisecond
		lost := secretive("exit")
		lost.Dir = "/" + secretArg
		for _, cmd := range []*runner.Cmd{secretive("cat"), secretive("exit 3"), slow, lost, bad(secretive("exit")), runner.Command("/" + secretArg + "/tool")} {
			_, _ = runner.Run(ctx, r, cmd)
		}
		refused, cancel := context.WithCancelCause(ctx)
		cancel(errors.New(secretOut))
		_, _ = r.Start(refused, secretive("exit"))
		Expect(tally.Counts().Started).To(Equal(3))
		Expect(tally.Counts().Refused).To(Equal(4))
		clean("Observation", w.seen)
		clean("Counts", tally.Counts())
		for _, log := range []string{text.String(), object.String()} {
			Expect(strings.Count(log, "command settled")).To(Equal(3))
			for _, secret := range secrets {
				Expect(log).NotTo(ContainSubstring(secret))
			}
		}
	})

	It("is revealed by what is named for it, or the search would find nothing", func(ctx SpecContext) {
		cmd := secretive("exit")
		Expect(cmd.CommandLine()).To(ContainSubstring(secretArg))
		Expect(cmd.String()).To(Equal(`command "sh" with 3 args`))
		Expect(runnertest.Leaks(cmd.CommandLine(), secrets...)).NotTo(BeEmpty())
		Expect(differs(cmd.CommandLine())).To(ContainSubstring(secretArg))
	})
})
