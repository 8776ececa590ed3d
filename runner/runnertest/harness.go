package runnertest

import (
	"syscall"
	"testing"

	"github.com/boombox-go/boombox/runner"
)

// Behaviour is what a command is to do. The zero value writes nothing and exits with code 0.
type Behaviour struct {
	// Stdout and Stderr are written first, Stdout before Stderr.
	Stdout, Stderr []byte
	// EchoStdin writes to standard output, after Stdout, what is read from standard input until its end.
	EchoStdin bool
	// Exchanges are a conversation, after Stdout and Stderr: for each, one line is read from standard input and then its
	// answer written to standard output. At the end standard input is read to its end.
	Exchanges []Exchange
	// Sizes are those that its terminal ([runner.PTY]) is given while it runs. It writes the size that it has at first, as
	// "ROWS COLS" and a line end of a terminal, "\r\n", after Stdout and Stderr; and so each of these when it has it.
	Sizes []runner.PTY
	// Pending keeps the command running, after it has written, until it is killed.
	Pending bool
	// Code is the exit code.
	Code int
	// Signal, if not 0, ends the command instead of an exit: SIGKILL, which the command sends to itself.
	Signal syscall.Signal
	// StartError, if not "", makes the start fail: [runner.StartNotFound], StartNotExecutable or StartBadDir.
	StartError runner.StartKind
	// Starts is how often the command is going to be started; 0 means once.
	Starts int
}

// Exchange is a line that a command reads, without its newline, and what it then writes.
type Exchange struct{ Line, Answer string }

// Harness makes what is tested.
type Harness struct {
	// Prepare returns a Runner, and a command that behaves as b says when that Runner starts it. It gives every command
	// that it makes to configure, before the command is started: that sets Timeout, Output, Stdin and the like. A Runner
	// that replays records such a command first, with configure's settings, b.Starts times. What Prepare opens it closes
	// with tb.Cleanup.
	Prepare func(tb testing.TB, b Behaviour, configure func(*runner.Cmd)) (runner.Runner, *runner.Cmd)
	// Skip names cases that cannot apply to this kind of Runner, each with the reason.
	Skip map[string]string
}

// Case is one thing that every Runner does.
type Case struct {
	// Name says it in words.
	Name  string
	check func(tb testing.TB, h Harness)
}

// Run checks the case against h, or skips it with the harness's reason.
func (c Case) Run(tb testing.TB, h Harness) {
	tb.Helper()
	if reason, ok := h.Skip[c.Name]; ok {
		tb.Skip(reason)
	}
	c.check(tb, h)
}

// Run checks all cases against h, each as a subtest.
func Run(t *testing.T, h Harness) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, h) })
	}
}
