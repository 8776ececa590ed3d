package matchers_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// run is the Result of the one command that the examples make.
func run(r runner.Runner) *runner.Result {
	res, _ := runner.Run(ctx, r, runner.Command("tool"))
	return res
}

func ExampleHaveBeenCancelled() {
	g, r := example()
	r.On("tool").Reply(fake.Pending())
	within, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()

	_, err := runner.Run(within, r, runner.Command("tool"))
	g.Expect(err).To(HaveBeenCancelled())
	g.Expect(err).To(HaveBeenCancelled(context.DeadlineExceeded))
	// Output:
}

func ExampleHaveBeenReplayed() {
	g, _ := example()
	deck, err := cassette.Open("../fixtures/cassettes/outcomes.cassette", cassette.WithReplayOnly())
	if err != nil {
		fmt.Println(err)
		return
	}
	g.Expect(runner.Run(ctx, deck, runner.Command("tool", "fail"))).To(HaveBeenReplayed())
	// Output:
}

func ExampleHaveOutcome() {
	g, r := example()
	r.On("tool").Reply(fake.Pending())
	cmd := runner.Command("tool")
	cmd.IdleTimeout = 10 * time.Millisecond

	g.Expect(runner.Run(ctx, r, cmd)).To(HaveOutcome(runner.IdleTimedOut))
	// Output:
}

func ExampleBeHermetic() {
	g, r := example()
	// A real run takes fixtures.Argv("inside") for its command; this is what that writes.
	r.On("tool").Reply(fake.Lines("env PATH", "env EDITOR", "fd 0", "fd 1", "fd 2", "fd 5", "stdin null", "dir /tmp"))

	g.Expect(run(r)).To(BeHermetic("PATH").In("/tmp"))
	// Output:
	// Expected run of `tool` to be hermetic
	//     got:        it is not, in 2 points
	//     variables:  EDITOR
	//     open fds:   5
	//     contained:  no process ran, so nothing was held
	//     hint:       runner.CleanEnv and runner.AllowEnv keep the caller's environment out
}

func ExampleHaveDuration() {
	g, r := example()
	r.On("tool").Reply(fake.After(2 * time.Millisecond))
	g.Expect(run(r)).To(HaveDuration(BeNumerically(">=", 2*time.Millisecond)))
	// Output:
}

func ExampleHaveStdoutLines() {
	g, r := example()
	r.On("tool").Reply(fake.Lines("main", "feature/x"))
	g.Expect(run(r)).To(HaveStdoutLines("main", HavePrefix("feature/")))
	g.Expect(run(r)).To(HaveStdoutLines(ContainElement("main")))
	g.Expect(run(r)).To(HaveStdoutLines("main", "feature/y"))
	// Output:
	// Expected stdout of `tool` to have the 2 lines given
	//     got:        15 bytes in 2 lines
	//     run:        it exited with code 0
	//     differs:    line 2: wanted "feature/y"
	//           1  "main\n"
	//           2  "feature/x\n"
}

func ExampleHaveOutput() {
	g, r := example()
	r.On("tool").Reply(fake.Lines("done"), fake.Stderr("deprecated\n"))
	g.Expect(run(r)).To(HaveOutput(ContainSubstring("deprecated")))
	// Output:
}

func ExampleHaveTruncated() {
	g, r := example()
	r.On("tool").Reply(fake.Stdout("12345"))
	cmd := runner.Command("tool")
	cmd.Output.Stdout = runner.Stream{Policy: runner.Head, MaxBytes: 4}
	g.Expect(runner.Run(ctx, r, cmd)).To(HaveTruncated(runner.Stdout))
	// Output:
}

func ExampleReplayAs() {
	g, r := example()
	r.On("tool").Reply(fake.Lines("same"))
	g.Expect(run(r)).To(ReplayAs(run(r)))
	// Output:
}

func ExampleMatchResult() {
	g, r := example()
	r.On("tool").Reply(fake.Stderr("conflict\n"), fake.Exit(1))
	g.Expect(run(r)).To(MatchResult(ResultFields{Exit: 1, Stderr: ContainSubstring("conflict")}))
	// Output:
}

func ExampleHaveMembers() {
	g, _ := example()
	list := []contain.Member{{PID: 4711, Name: "sleep", State: 'S'}}
	g.Expect(list).To(HaveMembers(1)) // or a *contain.Group
	// Output:
}

func ExampleHaveLeakedProcesses() {
	g, _ := example()
	list := []contain.Member{{PID: 4711, Parent: 1, Name: "sleep", State: 'S'}, {PID: 4712, Parent: 1, Name: "gpg-agent", State: 'S'}}
	g.Expect(list).NotTo(HaveLeakedProcesses("gpg-agent"))
	// Output:
	// Expected the list not to have leaked processes, but it has 1
	//     ignored:    1
	//       pid 4711 `sleep`, parent 1, state S
}

func ExampleHaveEnvNames() {
	g, _ := example()
	cmd := runner.Command("tool")
	cmd.Env = runner.CleanEnv().Set("MODE", "fast").Set("PATH", "/bin")
	g.Expect(cmd).To(HaveEnvNames("MODE", "PATH"))
	// Output:
}

func ExampleExposeSecrets() {
	g, _ := example()
	token := NewSecret("api token", "hunter2hunter2")
	g.Expect(runner.Command("tool", "hunter2hunter2")).NotTo(ExposeSecrets(token))
	g.Expect(errors.New("cannot log in with hunter2hunter2").Error()).NotTo(ExposeSecrets(token))
	// Output:
	// Expected the value not to expose secrets, but it does (values withheld)
	//       secret 1 ("api token", 14 bytes) in the text at byte 19, as it is
}

func ExampleHaveMisses() {
	g, r := example()
	_, _ = runner.Run(ctx, r, runner.Command("tool"))
	g.Expect(r).To(HaveMisses(ConsistOf(MatchError(fake.ErrUnscripted))))
	// Output:
}

func ExampleHaveInteractions() {
	g, _ := example()
	g.Expect("../fixtures/cassettes/git-session.cassette").To(HaveInteractions(5))
	// Output:
}

func ExampleAsSession() {
	g, r := example()
	r.On("server").Reply(fake.LinesEvery(time.Millisecond, "loading", "ready"), fake.Exit(3))

	session, err := AsSession(ctx, r, runner.Command("server"))
	if err != nil {
		fmt.Println(err)
		return
	}
	g.Eventually(session).Should(gbytes.Say("ready"))
	g.Eventually(session).Should(gexec.Exit(3))
	g.Expect(session).To(HaveExited(3))
	// Output:
}

func ExampleTranscript() {
	_, r := example()
	r.On("tool").Reply(fake.Scripted(fake.Script{Outcome: runner.Exited(3), Duration: time.Second, Chunks: []fake.Chunk{{Data: []byte("token=hunter2\n")}}}))
	fmt.Println(Transcript(run(r)))
	// Output:
	// run of `tool`: it exited with code 3
	//     time:       took 1s
	//     contained:  no process ran, so nothing was held
	//     output:     stdout 14 bytes, stderr 0 bytes (not shown)
}
