package fake_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/runner"
	"github.com/boombox-go/boombox/runner/runnertest"
)

// behave is a reply that does what b says.
func behave(tb testing.TB, b runnertest.Behaviour, cmd *runner.Cmd) []fake.Reply {
	parts := []fake.Reply{fake.Stdout(b.Stdout), fake.Stderr(b.Stderr), fake.Exit(b.Code)}
	if b.EchoStdin {
		input, err := cmd.Stdin.Open()
		if err != nil {
			tb.Error(err)
			return nil
		}
		defer func() { _ = input.Close() }()
		all, err := io.ReadAll(input)
		if err != nil {
			tb.Error(err)
		}
		parts = append(parts, fake.Stdout(all))
	}
	if len(b.Sizes) > 0 {
		cols, rows := cmd.PTY.Size()
		parts = append(parts, fake.Stdout(fmt.Sprintf("%d %d\r\n", rows, cols)))
	}
	for _, size := range b.Sizes {
		parts = append(parts, fake.Resized(size.Cols, size.Rows), fake.Stdout(fmt.Sprintf("%d %d\r\n", size.Rows, size.Cols)))
	}
	for _, e := range b.Exchanges {
		parts = append(parts, fake.Reads(e.Line+"\n"), fake.Stdout(e.Answer))
	}
	if len(b.Exchanges) > 0 {
		parts = append(parts, fake.ReadsEOF())
	}
	if b.Signal != 0 {
		parts = append(parts, fake.Signal(b.Signal))
	}
	if b.Pending {
		parts = append(parts, fake.Pending())
	}
	if b.StartError != "" {
		parts = append(parts, fake.StartError(b.StartError))
	}
	return parts
}

var _ = Describe("the scripted runner conforms", func() {
	harness := func(before ...fake.Reply) runnertest.Harness {
		return runnertest.Harness{
			Prepare: func(tb testing.TB, b runnertest.Behaviour, configure func(*runner.Cmd)) (runner.Runner, *runner.Cmd) {
				cmd := runner.Command("/usr/bin/tool", "argument")
				configure(cmd)
				r := fake.New()
				r.On("tool", "argument").ReplyFunc(func(cmd *runner.Cmd) []fake.Reply { return append(before, behave(tb, b, cmd)...) })
				return r, cmd
			},
		}
	}
	for _, c := range runnertest.Cases() {
		It(c.Name+", at once", func() { c.Run(GinkgoTB(), harness()) })
		It(c.Name+", in time", func() { c.Run(GinkgoTB(), harness(fake.After(time.Millisecond))) })
	}
})
