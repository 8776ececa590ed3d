//go:build failing

package failing_test

import (
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// held is a teardown as a real run in a box has it.
var held = runner.Teardown{Mechanism: contain.Cgroup2, Guarantees: contain.KillTree, Verified: true}

func run(t *testing.T, script fake.Script, configure func(*runner.Cmd)) *runner.Result {
	t.Helper()
	r := fake.New()
	r.On("deploy").Reply(fake.Scripted(script))
	cmd := runner.Command("/usr/local/bin/deploy", "--token", "hunter2-is-not-shown")
	if configure != nil {
		configure(cmd)
	}
	res, err := runner.Run(t.Context(), r, cmd)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestTimeout(t *testing.T) {
	res := run(t, fake.Script{Outcome: runner.TimedOut, Status: &contain.ExitStatus{}, Teardown: held, Duration: 2 * time.Second},
		func(cmd *runner.Cmd) { cmd.Timeout = 2 * time.Second })
	gomega.NewWithT(t).Expect(res).To(HaveSucceeded())
}

func TestSignal(t *testing.T) {
	res := run(t, fake.Script{Outcome: runner.Signalled(9), Teardown: held, Duration: 40 * time.Millisecond}, nil)
	gomega.NewWithT(t).Expect(res).To(HaveExited(137))
}

func TestOutput(t *testing.T) {
	res := run(t, fake.Script{Teardown: held, Chunks: []fake.Chunk{{Data: []byte("build ok\ndeployed to stagign\n")}}}, nil)
	gomega.NewWithT(t).Expect(res).To(HaveStdout("build ok\ndeployed to staging\n"))
}

func TestSurvivor(t *testing.T) {
	res := run(t, fake.Script{Teardown: runner.Teardown{
		Mechanism: contain.ProcessGroup, Survivors: []contain.Member{{PID: 4711, Parent: 1, Name: "sleep", State: 'S'}},
	}}, nil)
	gomega.NewWithT(t).Expect(res).To(HaveReapedTree())
}

func TestFields(t *testing.T) {
	res := run(t, fake.Script{Outcome: runner.Exited(2), Teardown: held, Duration: 40 * time.Millisecond}, nil)
	gomega.NewWithT(t).Expect(res).To(MatchResult(ResultFields{Exit: 0, Stdout: "done\n", Reaped: true}))
}

func TestSecret(t *testing.T) {
	config := struct{ Token string }{"hunter2-is-not-shown"}
	gomega.NewWithT(t).Expect(config).NotTo(ExposeSecrets(NewSecret("deploy token", config.Token)))
}

func TestStubs(t *testing.T) {
	r := fake.New(t)
	r.On("git").Reply(fake.Lines("main"))
	r.On("git", "push").Reply(fake.Exit(1))
	_, _ = runner.Run(t.Context(), r, runner.Command("git", "push"))
	_, _ = runner.Run(t.Context(), r, runner.Command("svn", "commit", "-m", "hunter2-is-not-shown"))
}

func TestCassette(t *testing.T) {
	deck := cassette.ForTest(t)
	_, _ = runner.Run(t.Context(), deck, runner.Command("git", "log", "-1"))
}
