package matchers_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/runner"
)

// held is a teardown as a real one is.
var held = runner.Teardown{
	Mechanism: contain.Cgroup2, Guarantees: contain.KillTree, Verified: true,
	Evidence: contain.Evidence{Limits: []contain.LimitEvidence{
		{Kind: contain.LimitProcesses, Max: 20, Effective: 20, Tripped: contain.NotTripped, Events: ptr(0)},
	}},
	Stats: contain.Stats{PeakProcesses: ptr(7)},
}

func ptr(n int64) *int64 { return &n }

// result is the Result of an instant script.
func result(s fake.Script, configure ...func(*runner.Cmd)) *runner.Result {
	cmd := runner.Command("/opt/bin/tool", "secret-argument")
	for _, c := range configure {
		c(cmd)
	}
	if s.Duration == 0 {
		s.Duration = 12 * time.Millisecond
	}
	p, err := fake.Play(context.Background(), cmd, s)
	if err != nil {
		panic(err)
	}
	res, settled := p.Result()
	if !settled {
		panic("not instant")
	}
	return res
}

// ended is the Result of a run in a cgroup.
func ended(o runner.Outcome, configure ...func(*runner.Cmd)) *runner.Result {
	return result(fake.Script{Outcome: o, Teardown: held}, configure...)
}

// wrote is the Result of a successful run with that output.
func wrote(stdout, stderr string, configure ...func(*runner.Cmd)) *runner.Result {
	return result(fake.Script{Teardown: held, Chunks: []fake.Chunk{
		{Stream: runner.Stdout, Data: []byte(stdout)}, {Stream: runner.Stderr, Data: []byte(stderr)},
	}}, configure...)
}

// live is a process that goes on until it is ended.
func live() *runner.Process {
	GinkgoHelper()
	p, err := fake.Play(context.Background(), runner.Command("/opt/bin/tool", "secret-argument"), fake.Script{Pending: true, Teardown: held})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(p.Close)
	return p
}

func timeout(d time.Duration) func(*runner.Cmd) { return func(cmd *runner.Cmd) { cmd.Timeout = d } }

// tree is a group as the matchers see one.
type tree struct {
	members   []contain.Member
	err       error
	mechanism contain.Mechanism
}

func (t tree) Members() ([]contain.Member, error) { return t.members, t.err }
func (t tree) Mechanism() contain.Mechanism       { return t.mechanism }

var (
	sleeper = contain.Member{PID: 4711, Parent: 1, Name: "sleep", State: 'S'}
	zombie  = contain.Member{PID: 4713, Parent: 4700, Name: "sh", State: 'Z'}
)
