package runner_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/runner"
)

// A command is made of a name and arguments, and says in its fields how it is to be run. Printers do not show it.
func ExampleCommand() {
	cmd := runner.Command("curl", "--header", "Authorization: secret", "https://example.org")
	cmd.Timeout = 10 * time.Second
	fmt.Println(cmd)
	// Output: command "curl" with 3 args
}

// CommandLine is the one way to see a command as a person would type it.
func ExampleCmd_CommandLine() {
	fmt.Println(runner.Command("echo", "two words", "it's").CommandLine())
	// Output: echo 'two words' 'it'\''s'
}

// With adds arguments to a copy.
func ExampleCmd_With() {
	git := runner.Command("git", "-C", "repo")
	fmt.Println(git.With("status").Argv(), git.Argv())
	// Output: [git -C repo status] [git -C repo]
}

// Validate says what makes no sense, and nothing is started.
func ExampleCmd_Validate() {
	cmd := runner.Command("tool")
	cmd.Timeout = -time.Second
	fmt.Println(cmd.Validate())
	// Output: runner: invalid command "tool": Timeout: it is negative
}

// Untrusted takes every protection. One of them is given up by name.
func ExampleUntrusted() {
	cmd := runner.Untrusted("./downloaded")
	cmd.Limits.CPU = 0
	fmt.Println(cmd.Timeout, cmd.NoNewPrivileges, cmd.Require)
	// Output: 30s true kill-tree,kill-on-owner-death
}

// Resolve says which file a start would execute, without one.
func ExampleResolve() {
	path, err := runner.Resolve(runner.Command("sh"))
	fmt.Println(filepath.Base(path), err)
	_, err = runner.Resolve(runner.Command("no-such-tool"))
	fmt.Println(err)
	// Output:
	// sh <nil>
	// runner: cannot start "no-such-tool": program not found: not in the PATH of its environment
}

// LookPath looks in the PATH of an environment, which need not be ours.
func ExampleLookPath() {
	_, err := runner.LookPath(runner.CleanEnv(), "sh")
	fmt.Println(err)
	// Output: runner: cannot start "sh": program not found: not in the PATH of its environment
}

// An environment is a value: a change makes another.
func ExampleEnv() {
	env := runner.CleanEnv().Set("LANG", "C").Set("TOKEN", "secret")
	fmt.Println(env.Names(), env.Remove("TOKEN").Reveal())
	// Output: [LANG TOKEN] [LANG=C]
}

// AllowEnv lets through what it names of our environment, as it is when the command starts.
func ExampleAllowEnv() {
	_ = os.Setenv("BOOMBOX_EXAMPLE", "allowed")
	defer os.Unsetenv("BOOMBOX_EXAMPLE")
	fmt.Println(runner.AllowEnv("BOOMBOX_EXAMPLE", "BOOMBOX_ABSENT").Reveal())
	// Output: [BOOMBOX_EXAMPLE=allowed]
}

// Input may be text, lines, a file, a reader, or a pipe that is written to while the command runs.
func ExampleStdin() {
	cmd := runner.Command("sort")
	cmd.Stdin = runner.StdinLines("b", "a")
	fmt.Println(runner.Output(context.Background(), runner.Contained{}, cmd))

	cmd.Stdin = runner.StdinStream(strings.NewReader("d\nc\n"))
	fmt.Println(runner.Output(context.Background(), runner.Contained{}, cmd))
	// Output:
	// a
	// b <nil>
	// c
	// d <nil>
}

// What is kept of a stream is up to its policy; the totals are those of all that came.
func ExampleBoth() {
	cmd := runner.Command("sh", "-c", "printf 0123456789")
	cmd.Output = runner.Both(runner.Stream{Policy: runner.Tail, MaxBytes: 4})
	res, err := runner.Run(context.Background(), runner.Contained{}, cmd)
	fmt.Println(string(res.Stdout()), res.StdoutTotal(), res.StdoutTruncated(), err)
	// Output: 6789 10 true <nil>
}

// A stream may go to a file, beyond what is kept of it.
func ExampleNewFile() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	cmd := runner.Command("echo", "to the file")
	cmd.Output.Stdout = runner.Stream{Policy: runner.Discard, File: runner.NewFile(filepath.Join(dir, "out"))}
	_, err = runner.Run(context.Background(), runner.Contained{}, cmd)
	text, _ := os.ReadFile(filepath.Join(dir, "out"))
	fmt.Printf("%s%v\n", text, err)
	// Output:
	// to the file
	// <nil>
}

// AppendFile adds to a file that may be there.
func ExampleAppendFile() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	log := filepath.Join(dir, "log")
	for _, word := range []string{"once", "twice"} {
		cmd := runner.Command("echo", word)
		cmd.Output.Stdout.File = runner.AppendFile(log)
		if _, err := runner.Run(context.Background(), runner.Contained{}, cmd); err != nil {
			fmt.Println(err)
		}
	}
	text, _ := os.ReadFile(log)
	fmt.Printf("%s", text)
	// Output:
	// once
	// twice
}

// An Observer is told what becomes of runs, of real ones and of doubles.
func ExampleObserved() {
	starts := make(eachStart, 1)
	r := runner.Observed(fake.DryRun(nil), starts)
	_, _ = runner.Run(context.Background(), r, runner.Command("/usr/bin/tool", "argument"))
	fmt.Println(<-starts)
	// Output: tool
}

// Transient tells refusals that may pass from those that will not.
func ExampleTransient() {
	_, err := runner.Run(context.Background(), runner.Contained{}, runner.Command("no-such-tool"))
	fmt.Println(runner.Transient(err))
	// Output: false
}

// Settle makes a run of what is known beforehand, for a Runner of one's own.
func ExampleSettle() {
	p := runner.Settle(runner.Command("tool"), runner.Finished{Outcome: runner.Exited(0), Stdout: []byte("known\n")})
	res, err := p.Wait(context.Background())
	fmt.Printf("%s%v\n", res.Stdout(), err)
	// Output:
	// known
	// <nil>
}
