package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/runner"
)

// pending is a Process that says that it listens, and goes on until it is ended.
func pending() *runner.Process {
	r := fake.New()
	r.On("server").Reply(fake.Lines("listening"), fake.Pending())
	p, err := r.Start(context.Background(), runner.Command("server"))
	if err != nil {
		panic(err)
	}
	return p
}

// Events begin with the start and end with the Result.
func ExampleProcess_Events() {
	p, err := runner.Contained{}.Start(context.Background(), runner.Command("sh", "-c", "echo one; exit 3"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	for event, err := range p.Events(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch event.Kind {
		case runner.EventLine:
			fmt.Println(event.Kind, event.Line.Text)
		case runner.EventEnded:
			fmt.Println(event.Kind, event.Result.Outcome())
		default:
			fmt.Println(event.Kind)
		}
	}
	// Output:
	// started
	// line one
	// ended exited 3
}

// With StdinPipe one talks to a command while it runs.
func ExampleProcess_Stdin() {
	ctx := context.Background()
	cmd := runner.Command("cat")
	cmd.Stdin = runner.StdinPipe()
	p, err := runner.Contained{}.Start(ctx, cmd)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	fmt.Fprintln(p.Stdin(), "a question")
	for line, err := range p.Lines(ctx) {
		fmt.Println(line.Text, err)
		break
	}
	_ = p.Stdin().Close()
	res, err := p.Wait(ctx)
	fmt.Println(res.Outcome(), err)
	// Output:
	// a question <nil>
	// exited 0 <nil>
}

// A wait is bounded by its context alone, and ends early when the run is over.
func ExampleProcess_Wait() {
	p := pending()
	short, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err := p.Wait(short)
	fmt.Println(err, "- and it runs on")
	fmt.Println(p.Close())
	// Output:
	// context deadline exceeded - and it runs on
	// <nil>
}

// Cancel gives a cause, which the error of the run keeps.
func ExampleProcess_Cancel() {
	p := pending()
	p.Cancel(errors.New("not needed any more"))
	res, err := p.Wait(context.Background())
	fmt.Println(res.Outcome(), err)
	// Output: cancelled runner: "server" was cancelled: not needed any more
}

// Kill ends the whole tree. What the run comes to is data.
func ExampleProcess_Kill() {
	p := pending()
	_ = p.Kill()
	res, err := p.Wait(context.Background())
	fmt.Println(res.Outcome(), err)
	// Output: signalled SIGKILL <nil>
}

// Signal goes to the child itself.
func ExampleProcess_Signal() {
	p := pending()
	_ = p.Signal(syscall.SIGTERM)
	res, _ := p.Wait(context.Background())
	sig, ok := res.Outcome().Signal()
	fmt.Println(sig == syscall.SIGTERM, ok)
	// Output: true true
}

// WaitFor asks whatever tells that a run is ready, until it is.
func ExampleProcess_WaitFor() {
	p := pending()
	defer p.Close()
	asked := 0
	err := p.WaitFor(context.Background(), func(context.Context) error {
		if asked++; asked < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	fmt.Println(asked, err)
	// Output: 3 <nil>
}

// A file, a port, a socket or an HTTP answer is waited for alike.
func ExampleProcess_WaitForFile() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	cmd := runner.Command("sh", "-c", "echo made > made; sleep 20")
	cmd.Dir = dir
	p, err := runner.Contained{}.Start(context.Background(), cmd)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	fmt.Println(p.WaitForFile(context.Background(), filepath.Join(dir, "made")))
	// Output: <nil>
}

// A server is ready when its port accepts.
func ExampleProcess_WaitForPort() {
	cmd := runner.Command("server", "--port", "8080")
	p, err := runner.Contained{}.Start(context.Background(), cmd)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := p.WaitForPort(ctx, "127.0.0.1:8080"); err != nil {
		fmt.Println(err) // it is over, or it took too long
	}
}

// A server that says how it is.
func ExampleProcess_WaitForHTTP() {
	p, err := runner.Contained{}.Start(context.Background(), runner.Command("server"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	if err := p.WaitForHTTP(context.Background(), "http://127.0.0.1:8080/health"); err != nil {
		fmt.Println(err)
	}
}

// A daemon that listens on a socket.
func ExampleProcess_WaitForSocket() {
	p, err := runner.Contained{}.Start(context.Background(), runner.Command("daemon"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	if err := p.WaitForSocket(context.Background(), "/run/daemon.sock"); err != nil {
		fmt.Println(err)
	}
}

// A terminal may change its size while the program runs.
func ExampleProcess_Resize() {
	cmd := runner.Command("sh", "-c", "read go; stty size")
	cmd.PTY = &runner.PTY{Cols: 80, Rows: 24}
	cmd.Stdin = runner.StdinPipe()
	p, err := runner.Contained{}.Start(context.Background(), cmd)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	_ = p.Resize(120, 40)
	fmt.Fprintln(p.Stdin(), "go")
	for line := range p.Lines(context.Background()) {
		if line.Text != "go" { // a terminal echoes what is typed
			fmt.Println(line.Text)
		}
	}
	// Output: 40 120
}

// Each yields what is done as soon as it is.
func ExampleBatch_Each() {
	r := fake.New()
	r.On("tool", "slow").Reply(fake.After(50*time.Millisecond), fake.Exit(1))
	r.On("tool", "fast").Reply(fake.Exit(0))
	cmds := []*runner.Cmd{runner.Command("tool", "slow"), runner.Command("tool", "fast")}
	for item := range (runner.Batch{AtOnce: 2}).Each(context.Background(), r, cmds) {
		fmt.Println(item.Index, item.Result.Outcome())
	}
	// Output:
	// 1 exited 0
	// 0 exited 1
}
