package fake_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/runner"
)

// Every way to end can be asked for.
func ExampleEnd() {
	r := fake.New()
	r.OnSequence("tool").
		Reply(fake.Idle()).
		Reply(fake.Overflow()).
		Reply(fake.End(runner.TimedOut)).
		Reply(fake.Refuse(errors.New("the disk is full")))

	for range 3 {
		res, err := runner.Run(ctx, r, runner.Command("tool"))
		fmt.Println(res.Outcome(), err)
	}
	_, err := runner.Run(ctx, r, runner.Command("tool"))
	fmt.Println(err)
	// Output:
	// idle_timed_out <nil>
	// overflowed <nil>
	// timed_out <nil>
	// the disk is full
}

// Waits are by package time, so that in a testing/synctest bubble they pass at once.
func ExampleLinesEvery() {
	r := fake.New()
	r.On("build").Reply(fake.LinesEvery(time.Millisecond, "compiling", "linking"), fake.After(time.Millisecond), fake.Exit(1))

	res, err := runner.Run(ctx, r, runner.Command("build"))
	fmt.Printf("%s%v %v\n", res.Stdout(), res.Outcome(), err)
	fmt.Println(res.Duration() >= 3*time.Millisecond)
	// Output:
	// compiling
	// linking
	// exited 1 <nil>
	// true
}

// A conversation goes on when the input that it waits for has come.
func ExampleReads() {
	r := fake.New()
	r.On("ask").Reply(fake.Stdout("name? "), fake.Reads("bob\n"), fake.Lines("hello bob"), fake.ReadsEOF())

	cmd := runner.Command("ask")
	cmd.Stdin = runner.StdinPipe()
	p, err := r.Start(ctx, cmd)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = p.Stdin().Write([]byte("bob\n"))
	fmt.Println(err, p.Stdin().Close())
	res, err := p.Wait(ctx)
	fmt.Printf("%s%v %v\n", res.Stdout(), res.Outcome(), err)
	// Output:
	// <nil> <nil>
	// name? hello bob
	// exited 0 <nil>
}

// A program that draws anew waits for the new size of its terminal.
func ExampleResized() {
	r := fake.New()
	r.On("top").Reply(fake.Stdout("24 lines\n"), fake.Resized(132, 43), fake.Stdout("43 lines\n"))

	cmd := runner.Command("top")
	cmd.PTY = &runner.PTY{}
	p, err := r.Start(ctx, cmd)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Resize(132, 43))
	res, err := p.Wait(ctx)
	fmt.Printf("%s%v %v\n", res.Stdout(), res.Outcome(), err)
	// Output:
	// <nil>
	// 24 lines
	// 43 lines
	// exited 0 <nil>
}

// What no reply says, a whole script does.
func ExampleScripted() {
	r := fake.New()
	r.On("daemon").Reply(fake.Scripted(fake.Script{PipesHeld: true, Duration: time.Hour}))

	res, err := runner.Run(ctx, r, runner.Command("daemon"))
	fmt.Println(res.PipesHeld(), res.Duration(), err)
	// Output: true 1h0m0s <nil>
}

// A double keeps what it could not answer, whatever became of the error.
func ExampleRunner_Misses() {
	r := fake.New()
	r.On("git")
	r.On("git", "push")

	_, _ = runner.Run(ctx, r, runner.Command("svn"))
	fmt.Println(r.Misses())
	fmt.Println(r.Shadowed())
	// Output:
	// [fake: unscripted call of "svn" with 0 arguments: none of 2 rules is for this program]
	// [rule 2: "git" with 1 argument is shadowed by rule 1: "git" with 0 arguments]
}
