package runner_test

import (
	"context"
	"errors"
	"fmt"

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
