package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/examples/agent"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// What a tool can do wrong, without a process.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name  string
		reply []fake.Reply
		want  string
	}{
		{"success", []fake.Reply{fake.Lines("3 files")}, "lint: exited 0\n3 files\n"},
		{"failure", []fake.Reply{fake.Stderr("no such file\n"), fake.Exit(2)}, "lint: exited 2\non standard error:\nno such file\n"},
		{"no such tool", []fake.Reply{fake.StartError(runner.StartNotFound)}, `there is no tool "lint"`},
		{"too long", []fake.Reply{fake.Timeout()}, "lint: killed after 30s\n"},
		{"too much memory", []fake.Reply{fake.Scripted(fake.Script{Outcome: runner.Signalled(9), Teardown: runner.Teardown{
			Evidence: contain.Evidence{Limits: []contain.LimitEvidence{{Kind: contain.LimitMemory, Tripped: contain.HasTripped}}},
		}})}, "lint: signalled SIGKILL, and it hit its limit of memory\n"},
		{"a flood", []fake.Reply{fake.Stdout(strings.Repeat("x", 5000))},
			"lint: exited 0\n" + strings.Repeat("x", 4096) + "\n(only the end of its output is shown)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := fake.New(t)
			r.On("lint", "--all").Reply(c.reply...)
			answer, err := agent.Tools{Runner: r}.Call(t.Context(), "lint", "--all")
			g := gomega.NewWithT(t)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(answer).To(gomega.Equal(c.want))
		})
	}
}

func TestCancelled(t *testing.T) {
	r := fake.New(t)
	r.On("lint").Reply(fake.Pending())
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err := agent.Tools{Runner: r}.Call(ctx, "lint")
	gomega.NewWithT(t).Expect(err).To(HaveBeenCancelled())
}

// A tool gets nothing of our environment, and none of the caps is missing.
func TestTheToolIsHeld(t *testing.T) {
	t.Setenv("API_KEY", "hunter2-is-not-shown")
	spy := fake.Spy(fake.DryRun(nil))
	if _, err := (agent.Tools{Runner: spy}).Call(t.Context(), "lint", "--all"); err != nil {
		t.Fatal(err)
	}
	g := gomega.NewWithT(t)
	g.Expect(spy).To(HaveCalled("lint", "--all").Times(1))
	cmd := spy.Calls()[0]
	g.Expect(cmd).To(HaveEnvNames("PATH"))
	g.Expect(cmd.Limits).To(gomega.And(
		gomega.HaveField("Memory", gomega.BeNumerically(">", 0)), gomega.HaveField("Processes", gomega.BeNumerically(">", 0)),
		gomega.HaveField("CPU", gomega.BeNumerically(">", 0)),
	))
	g.Expect(cmd.Require.Has(contain.KillTree | contain.KillOnOwnerDeath)).To(gomega.BeTrue())
}

// The real thing, where this host can hold it: what the tool leaves in the background dies with it.
func TestLive(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: no process")
	}
	run := &keeping{Runner: runner.Contained{}}
	mark := NewMark()
	tools := agent.Tools{
		Runner: run,
		Adjust: func(cmd *runner.Cmd) {
			cmd.Timeout = 2 * time.Second
			mark.Put(cmd)
		},
	}
	answer, err := tools.Call(t.Context(), "sh", "-c", "sleep 60 & echo started; sleep 60")
	if errors.Is(err, runner.ErrUnsupported) {
		t.Skip("this host cannot hold an untrusted program: ", err)
	}
	g := gomega.NewWithT(t)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(answer).To(gomega.Equal("sh: killed after 2s\nstarted\n"))
	g.Expect(run.process).To(gomega.And(HaveReapedTree(), EnforceLimit(contain.LimitMemory), EnforceLimit(contain.LimitProcesses)))
	g.Expect(run.process).NotTo(HaveEscapees(mark))
}

// keeping keeps the process that the code under test starts.
type keeping struct {
	runner.Runner
	process *runner.Process
}

func (k *keeping) Start(ctx context.Context, cmd *runner.Cmd) (p *runner.Process, err error) {
	k.process, err = k.Runner.Start(ctx, cmd)
	return k.process, err
}
