package matchers_test

import (
	"context"
	"fmt"
	"syscall"
	"time"

	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// example is a Gomega that prints its failures, and a runner to make runs with.
func example() (Gomega, *fake.Runner) {
	g := NewGomega(func(message string, _ ...int) { fmt.Println(message) })
	return g, fake.New()
}

var ctx = context.Background()

func ExampleHaveSucceeded() {
	g, r := example()
	r.On("git", "status").Reply(fake.Lines("On branch main"))

	g.Expect(runner.Run(ctx, r, runner.Command("git", "status"))).To(HaveSucceeded())
	g.Expect(runner.Run(ctx, r, runner.Command("git", "status"))).To(HaveSucceeded().Quietly())
	// Output:
}

func ExampleHaveExited() {
	g, r := example()
	r.On("grep").Reply(fake.Scripted(fake.Script{
		Outcome: runner.Exited(2), Duration: 4 * time.Millisecond,
		Chunks: []fake.Chunk{{Stream: runner.Stderr, Data: []byte("grep: no such file\n")}},
	}))

	res, _ := runner.Run(ctx, r, runner.Command("grep", "x", "missing"))
	g.Expect(res).To(HaveExited(2))
	g.Expect(res).To(HaveExited(BeNumerically(">", 1)))
	g.Expect(res).To(HaveExited(1))
	// Output:
	// Expected run of `grep` to have exited with code 1
	//     got:        it exited with code 2
	//     time:       took 4ms
	//     contained:  no process ran, so nothing was held
	//     output:     stdout 0 bytes, stderr 19 bytes (not shown)
	//     hint:       HaveStderr shows what it wrote to standard error
}

func ExampleBeSignaled() {
	g, r := example()
	r.On("server").Reply(fake.Pending())

	p, _ := r.Start(ctx, runner.Command("server"))
	_ = p.Signal(syscall.SIGTERM)
	g.Eventually(p).Should(BeSignaled(syscall.SIGTERM))
	// Output:
}

func ExampleHaveTimedOut() {
	g, r := example()
	r.On("hang").Reply(fake.Pending())

	cmd := runner.Command("hang")
	cmd.Timeout = 50 * time.Millisecond
	g.Expect(runner.Run(ctx, r, cmd)).To(HaveTimedOut().At(50 * time.Millisecond).Within(time.Second))
	// Output:
}

func ExampleHaveStdout() {
	g, r := example()
	r.On("git", "branch").Reply(fake.Lines("main", "topic"))

	res, _ := runner.Run(ctx, r, runner.Command("git", "branch"))
	g.Expect(res).To(HaveStdout("main\ntopic\n"))
	g.Expect(res).To(HaveStdout(ContainSubstring("topic")))
	g.Expect(res).To(HaveStdout("main\ntropic\n"))
	// Output:
	// Expected stdout of `git` to equal the 12 bytes in 2 lines given
	//     got:        11 bytes in 2 lines
	//     run:        it exited with code 0
	//     differs:    at byte 6 (line 2, column 2)
	//                  (- wanted, + got)
	//           1  "main\n"
	//     -     2  "tropic\n"
	//     +     2  "topic\n"
}

func ExampleStreamMatcher_Redacted() {
	g, r := example()
	r.On("vault").Reply(fake.Lines("hunter2"))

	res, _ := runner.Run(ctx, r, runner.Command("vault", "read"))
	g.Expect(res).To(HaveStdout("hunter3\n").Redacted())
	// Output:
	// Expected stdout of `vault` to equal the 8 bytes in 1 line given
	//     got:        8 bytes in 1 line
	//     run:        it exited with code 0
	//     differs:    at byte 6 (line 1, column 7)
}

func ExampleHaveStderr() {
	g, r := example()
	r.On("make").Reply(fake.Stderr("warning: clock skew\n"))

	g.Expect(runner.Run(ctx, r, runner.Command("make"))).To(HaveStderr(HavePrefix("warning:")))
	// Output:
}

func ExampleHaveOverflowed() {
	g, r := example()
	r.On("yes").Reply(fake.Lines("y", "y", "y"))

	cmd := runner.Command("yes")
	cmd.Output.Stdout.MaxBytes = 4
	g.Expect(runner.Run(ctx, r, cmd)).To(HaveOverflowed(runner.Stdout))
	// Output:
}

// recorded is what a recording says of a tree.
var recorded = fake.Scripted(fake.Script{Teardown: runner.Teardown{
	Mechanism: contain.Cgroup2, Guarantees: contain.KillTree, Verified: true,
}})

func ExampleBeContainedBy() {
	g, r := example()
	r.On("build").Reply(recorded)

	g.Expect(runner.Run(ctx, r, runner.Command("build"))).To(BeContainedBy(contain.Cgroup2, contain.JobObject))
	// Output:
}

func ExampleHaveReapedTree() {
	g, r := example()
	r.On("build").Reply(recorded)

	g.Expect(runner.Run(ctx, r, runner.Command("build"))).To(HaveReapedTree())
	// Output:
}

func ExampleHaveSurvivors() {
	g, _ := example()
	members := []contain.Member{{PID: 4711, Parent: 1, Name: "sleep", State: 'S'}}

	g.Expect(members).NotTo(HaveSurvivors())
	// Output:
	// Expected the list not to have survivors, but it has 1
	//       pid 4711 `sleep`, parent 1, state S
}

func ExampleBeFullyPlayed() {
	g, r := example()
	r.On("git", "add")
	r.On("git", "commit")

	_, _ = runner.Run(ctx, r, runner.Command("git", "add", "."))
	g.Expect(r).To(BeFullyPlayed())
	// Output:
	// Expected the playbook to be fully played
	//     unplayed:   1
	//       rule 2: "git" with 1 argument: 0 of its 1 replies played
	//     misses:     0
	//     hint:       the code under test no longer makes these calls: remove them, or find out why
}
