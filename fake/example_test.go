package fake_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/runner"
)

var ctx = context.Background()

// branch is what an application does with a runner.
func branch(ctx context.Context, r runner.Runner) (string, error) {
	return runner.Output(ctx, r, runner.Command("git", "branch", "--show-current"))
}

func Example() {
	r := fake.New()
	r.On("git", "branch").Reply(fake.Lines("main"))

	name, err := branch(ctx, r)
	fmt.Println(name, err)
	fmt.Println(r.Calls()[0].Argv())
	// Output:
	// main <nil>
	// [git branch --show-current]
}

func ExampleRunner_On() {
	r := fake.New()
	r.On("git", "log").Reply(fake.Lines("first commit"))
	r.On("git").Reply(fake.Exit(1))

	res, _ := runner.Run(ctx, r, runner.Command("/usr/bin/git", "log", "--oneline"))
	fmt.Printf("%s%v\n", res.Stdout(), res.Outcome())
	res, _ = runner.Run(ctx, r, runner.Command("git", "logs"))
	fmt.Println(res.Outcome())
	// Output:
	// first commit
	// exited 0
	// exited 1
}

func ExampleUnscriptedError() {
	r := fake.New()
	r.On("git", "commit", "-m", "first")

	_, err := runner.Run(ctx, r, runner.Command("git", "commit", "--amend"))
	fmt.Println(err)
	fmt.Println(errors.Is(err, fake.ErrUnscripted), errors.Is(err, runner.ErrNotFound))
	// Output:
	// fake: unscripted call of "git" with 2 arguments: rule 1 of 1 is nearest, and differs in argument 2
	// true false
}

func ExampleRule_Reply() {
	r := fake.New()
	r.On("poll").Reply(fake.Lines("waiting")).Reply(fake.Lines("done"))

	for range 3 {
		out, _ := runner.Output(ctx, r, runner.Command("poll"))
		fmt.Println(out)
	}
	// Output:
	// waiting
	// done
	// done
}

func ExampleRule_When() {
	r := fake.New()
	r.On("make").When(func(cmd *runner.Cmd) bool { return cmd.Dir == "docs" }).Reply(fake.Lines("documents"))
	r.On("make").Reply(fake.Lines("everything"))

	cmd := runner.Command("make")
	cmd.Dir = "docs"
	out, _ := runner.Output(ctx, r, cmd)
	fmt.Println(out)
	// Output: documents
}

func ExampleRule_ReplyFunc() {
	r := fake.New()
	r.On("upper").ReplyFunc(func(cmd *runner.Cmd) []fake.Reply {
		input, err := cmd.Stdin.Open()
		if err != nil {
			return []fake.Reply{fake.Exit(1)}
		}
		defer func() { _ = input.Close() }()
		text, _ := io.ReadAll(input)
		return []fake.Reply{fake.Stdout(strings.ToUpper(string(text)))}
	})

	cmd := runner.Command("upper")
	cmd.Stdin = runner.StdinString("quiet")
	out, _ := runner.Output(ctx, r, cmd)
	fmt.Println(out)
	// Output: QUIET
}

func ExamplePending() {
	r := fake.New()
	r.On("server").Reply(fake.Lines("ready"), fake.Pending())

	p, _ := r.Start(ctx, runner.Command("server"))
	_ = p.Signal(syscall.SIGTERM)
	res, _ := p.Wait(ctx)
	fmt.Println(res.Outcome() == runner.Signalled(syscall.SIGTERM))

	cmd := runner.Command("server")
	cmd.Timeout = 20 * time.Millisecond
	res, _ = runner.Run(ctx, r, cmd)
	fmt.Println(res.Outcome())
	// Output:
	// true
	// timed_out
}

func ExampleStartError() {
	r := fake.New()
	r.On("git").Reply(fake.StartError(runner.StartNotFound))

	_, err := branch(ctx, r)
	fmt.Println(err)
	fmt.Println(errors.Is(err, runner.ErrNotFound))
	// Output:
	// runner: cannot start "git": program not found
	// true
}

func ExampleRunner_Unplayed() {
	r := fake.New()
	r.On("git", "add")
	r.On("git", "commit")

	_, _ = runner.Run(ctx, r, runner.Command("git", "add", "."))
	fmt.Println(r.Unplayed())
	// Output: [rule 2: "git" with 1 argument: 0 of its 1 replies played]
}

func ExamplePlay() {
	p, err := fake.Play(ctx, runner.Command("tool"), fake.Script{
		Chunks: []fake.Chunk{
			{Stream: runner.Stdout, Data: []byte("working\n")},
			{After: time.Millisecond, Stream: runner.Stderr, Data: []byte("warning\n")},
		},
		Outcome: runner.Exited(2),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := p.Wait(ctx)
	fmt.Printf("%v %v\n%s%s", res.Outcome(), err, res.Stdout(), res.Stderr())
	// Output:
	// exited 2 <nil>
	// working
	// warning
}

func ExampleRunner_OnSequence() {
	r := fake.New()
	r.OnSequence("poll").Reply(fake.Lines("waiting")).Reply(fake.Lines("done"))

	for range 3 {
		out, err := runner.Output(ctx, r, runner.Command("poll"))
		fmt.Println(out, err)
	}
	// Output:
	// waiting <nil>
	// done <nil>
	//  fake: unscripted call of "poll" with 0 arguments: rule 1 of 1 is for it, and has no reply left
}

func ExampleRunner_Fallback() {
	recorded := fake.New() // a cassette, say
	recorded.On("git").Reply(fake.Lines("main"))
	r := fake.New().Fallback(recorded)
	r.On("git", "push").Reply(fake.Exit(1))

	fmt.Println(branch(ctx, r))
	res, _ := runner.Run(ctx, r, runner.Command("git", "push"))
	fmt.Println(res.Outcome())
	// Output:
	// main <nil>
	// exited 1
}

func ExampleSpy() {
	spy := fake.Spy(fake.DryRun(nil)) // or runner.Contained{}
	_, _ = branch(ctx, spy)
	fmt.Println(spy.Calls(), spy.Calls()[0].Argv())
	// Output: [command "git" with 2 args] [git branch --show-current]
}

func ExampleDryRun() {
	r := fake.DryRun(func(cmd *runner.Cmd) { fmt.Println("would run:", cmd.CommandLine()) })
	_, err := branch(ctx, r)
	fmt.Println(err)
	// Output:
	// would run: git branch --show-current
	// <nil>
}

func ExampleDeny() {
	r := fake.Deny() // in a test: fake.Deny(t)
	_, err := branch(ctx, r)
	fmt.Println(err)
	// Output: fake: start of "git" with 2 arguments denied: this test is to start nothing
}
