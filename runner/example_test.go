package runner_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/boombox-go/boombox/runner"
)

// A run's end is data: an exit code or a timeout is no error of Run.
func ExampleRun() {
	cmd := runner.Command("sh", "-c", "echo out; echo err >&2; exit 3")
	cmd.Timeout = 10 * time.Second
	res, err := runner.Run(context.Background(), runner.Contained{}, cmd)
	if err != nil {
		fmt.Println(err) // it could not be started, or it was cancelled
		return
	}
	fmt.Println(res.Outcome())
	fmt.Printf("%s%s", res.Stdout(), res.Stderr())
	fmt.Println(res.Check())
	// Output:
	// exited 3
	// out
	// err
	// runner: "sh" exited 3
}

// Output is for tools that are asked for one thing.
func ExampleOutput() {
	out, err := runner.Output(context.Background(), runner.Contained{}, runner.Command("echo", "one thing"))
	fmt.Printf("%q %v\n", out, err)

	_, err = runner.Output(context.Background(), runner.Contained{}, runner.Command("no-such-tool"))
	fmt.Println(errors.Is(err, runner.ErrNotFound))
	// Output:
	// "one thing" <nil>
	// true
}

// Probe is for tools that answer with their exit code.
func ExampleProbe() {
	for _, script := range []string{"test -d /", "test -f /", "exit 2"} {
		yes, err := runner.Probe(context.Background(), runner.Contained{}, runner.Command("sh", "-c", script))
		fmt.Println(yes, err)
	}
	// Output:
	// true <nil>
	// false <nil>
	// false runner: "sh" exited 2
}
