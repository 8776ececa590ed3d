package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/runner"
)

// Lines come while the run goes on. How it ended is told by Wait.
func ExampleProcess_Lines() {
	ctx := context.Background()
	p, err := runner.Contained{}.Start(ctx, runner.Command("sh", "-c", `printf 'one\ntwo\r\nthree'; exit 3`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	for line, err := range p.Lines(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s %q %q\n", line.Stream, line.Text, line.End)
	}
	res, err := p.Wait(ctx)
	fmt.Println(res.Outcome(), err)
	// Output:
	// stdout "one" "\n"
	// stdout "two" "\r\n"
	// stdout "three" ""
	// exited 3 <nil>
}

// A server is waited for by what it says, and a wait ends early when it is over. A fake shows both.
func ExampleProcess_WaitForLine() {
	ctx := context.Background()
	listens := func(l runner.Line) bool { return strings.HasPrefix(l.Text, "listening") }
	r := fake.New()
	r.On("server").Reply(fake.Lines("starting", "listening on 8080"), fake.Pending())
	r.On("broken").Reply(fake.Lines("starting"), fake.Exit(1))
	for _, name := range []string{"server", "broken"} {
		p, err := r.Start(ctx, runner.Command(name))
		if err != nil {
			fmt.Println(err)
			return
		}
		line, err := p.WaitForLine(ctx, listens)
		fmt.Printf("%q %t\n", line.Text, errors.Is(err, runner.ErrNotReady))
		_ = p.Close()
	}
	// Output:
	// "listening on 8080" false
	// "" true
}

// What is kept is redacted; the one who asked to see it all, by OnLine, does.
func ExampleStream_redact() {
	cmd := runner.Command("sh", "-c", "echo token=abc; echo done")
	cmd.Timeout = 10 * time.Second
	cmd.Output.Stdout.Redact = func(l runner.Line) string {
		if name, _, ok := strings.Cut(l.Text, "="); ok {
			return name + "=***"
		}
		return l.Text
	}
	cmd.Output.Stdout.OnLine = func(l runner.Line) { fmt.Println("seen", l.Text) }
	out, err := runner.Output(context.Background(), runner.Contained{}, cmd)
	fmt.Println(out, err)
	// Output:
	// seen token=abc
	// seen done
	// token=***
	// done <nil>
}
