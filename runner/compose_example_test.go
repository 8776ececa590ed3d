package runner_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/runner"
)

// What is worth another attempt is the caller's to say.
func ExampleRetry() {
	r := fake.New()
	r.OnSequence("fetch").Reply(fake.Exit(6)).Reply(fake.Exit(6)).Reply(fake.Lines("fetched"))

	unreachable := func(err error) bool {
		exit, ok := errors.AsType[*runner.ExitError](err)
		return ok && exit.Result().Outcome() == runner.Exited(6)
	}
	retry := runner.Retry{Attempts: 5, When: unreachable, Backoff: runner.Backoff{First: 1}}
	fmt.Println(retry.Output(context.Background(), r, runner.Command("fetch", "https://example.org")))
	// Output: fetched <nil>
}

// Run keeps the order of the commands; Each takes the results as they come.
func ExampleBatch() {
	var cmds []*runner.Cmd
	for _, script := range []string{"exit 0", "exit 1", "no-such-tool"} {
		cmds = append(cmds, runner.Command("sh", "-c", script+" 2>/dev/null"))
	}
	for _, item := range (runner.Batch{AtOnce: 2}).Run(context.Background(), runner.Contained{}, cmds) {
		fmt.Println(item.Index, item.Result.Outcome(), item.Err)
	}
	// Output:
	// 0 exited 0 <nil>
	// 1 exited 1 <nil>
	// 2 exited 127 <nil>
}

// A pipeline needs no shell, and says who is to blame.
func ExamplePipe() {
	p := runner.Pipe(
		runner.Command("printf", "b\\na\\n"),
		runner.Command("sort"),
		runner.Command("grep", "no such line"),
	)
	_, err := p.Output(context.Background(), runner.Contained{})
	fmt.Println(err)

	p.Stages[2].Unchecked = true // finding nothing is no failure
	fmt.Println(p.Output(context.Background(), runner.Contained{}))
	// Output:
	// runner: stage 3 of 3: "grep" exited 1
	//  <nil>
}

// A supervisor keeps a server running, and stops it.
func ExampleSupervisor() {
	r := fake.New()
	r.OnSequence("server").Reply(fake.Exit(1)).Reply(fake.Lines("listening"), fake.Pending())

	supervisor := runner.Supervisor{Backoff: runner.Backoff{First: 1}, MaxRestarts: 3}
	starts := make(eachStart, 2)
	s, err := supervisor.Start(context.Background(), runner.Observed(r, starts), runner.Command("server"))
	if err != nil {
		fmt.Println(err)
		return
	}
	<-starts
	<-starts // it was started again
	res, err := s.Stop(context.Background())
	fmt.Println(res.Outcome(), err)
	// Output: cancelled <nil>
}

// eachStart is told of every start.
type eachStart chan string

func (c eachStart) Observe(seen runner.Observation) {
	if seen.Kind == runner.ObservedStart {
		c <- seen.Program
	}
}

// git wraps one tool: its arguments become methods.
type git struct{ runner.Client }

func (g git) Branch(ctx context.Context) (string, error) {
	return g.Output(ctx, "branch", "--show-current")
}

func ExampleClient() {
	r := fake.New()
	r.On("git", "-C", "repo", "branch").Reply(fake.Lines("main"))
	g := git{runner.Client{Runner: r, Base: runner.Command("git", "-C", "repo")}}
	fmt.Println(g.Branch(context.Background()))
	// Output: main <nil>
}

// The loop ends with the error of a run that did not succeed.
func ExampleLines() {
	for line, err := range runner.Lines(context.Background(), runner.Contained{}, runner.Command("sh", "-c", "echo one; echo two; exit 3")) {
		fmt.Println(line.Text, err)
	}
	// Output:
	// one <nil>
	// two <nil>
	//  runner: "sh" exited 3
}

// JSON asks a tool that speaks it.
func ExampleJSON() {
	r := fake.New()
	r.On("tool").Reply(fake.Stdout(`{"version": "1.2"}`))
	about, err := runner.JSON[struct{ Version string }](context.Background(), r, runner.Command("tool", "about", "--json"))
	fmt.Println(about.Version, err)
	// Output: 1.2 <nil>
}

// The log of an observed Runner knows nothing that could be a secret.
func ExampleLogged() {
	out := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case "time", "run", "duration":
			return slog.Attr{}
		}
		return a
	}})
	r := runner.Logged(fake.DryRun(nil), slog.New(out))
	_, _ = runner.Run(context.Background(), r, runner.Command("curl", "--header", "Authorization: secret"))
	// Output:
	// level=INFO msg="command started" program=curl
	// level=INFO msg="command settled" program=curl outcome="exited 0" stdout_bytes=0 stderr_bytes=0 pipes_held=false replayed=false
}

// A program that asks whether it has a terminal finds one.
func ExamplePTY() {
	cmd := runner.Command("sh", "-c", "test -t 1 && stty size")
	cmd.PTY = &runner.PTY{Cols: 120, Rows: 40}
	fmt.Println(runner.Output(context.Background(), runner.Contained{}, cmd))
	// Output: 40 120 <nil>
}

// Detach is for what is meant to stay. What it returns names the process for good.
func ExampleDetach() {
	m, err := runner.Detach(context.Background(), runner.Command("true"))
	fmt.Println(m.PID > 0, err)

	cmd := runner.Command("daemon")
	cmd.Timeout = time.Hour
	_, err = runner.Detach(context.Background(), cmd)
	fmt.Println(err)
	// Output:
	// true <nil>
	// runner: Timeout of "daemon" cannot be had: a detached start gives it up
}

// A Tally counts runs.
func ExampleTally() {
	var tally runner.Tally
	r := runner.Observed(fake.DryRun(nil), &tally)
	_, _ = runner.Run(context.Background(), r, runner.Command("tool"))
	fmt.Println(tally.Counts().Started, tally.Counts().Ended[runner.KindExited])
	// Output: 1 1
}
