package cassette_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/runner"
)

// A test opens its cassette, uses it as a Runner, and ends with Check. BOOMBOX_CASSETTE=record runs the commands for real and,
// once the test has passed, Save keeps them.
func ExampleOpen() {
	deck, err := cassette.Open("../fixtures/cassettes/outcomes.cassette", cassette.WithReplayOnly())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer deck.Close()
	ctx := context.Background()

	res, err := runner.Run(ctx, deck, runner.Command("tool", "fail"))
	fmt.Println(res.Outcome(), err)
	fmt.Printf("%s", res.Stderr())

	_, err = runner.Run(ctx, deck, runner.Command("gone"))
	fmt.Println(errors.Is(err, runner.ErrNotFound))
	// Output:
	// exited 3 <nil>
	// tool: no such file
	// true
}

// What differs from one recording to the next is registered as a token, and comes back as the live value.
func ExampleWithToken() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "example.cassette")

	// Any Runner can be recorded; tests without a process record a scripted one.
	tool := fake.New()
	tool.On("mktool", "/work/1").Reply(fake.Lines("made /work/1/out"))

	recorder, err := cassette.NewRecorder(path, tool, cassette.WithToken("dir", "/work/1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = runner.Run(context.Background(), recorder, runner.Command("mktool", "/work/1"))
	fmt.Println(err, recorder.Save(), recorder.Close())

	tape, err := cassette.Load(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%q %q\n", tape.Runs()[0].Argv(), tape.Runs()[0].Stdout())

	player, err := cassette.NewPlayer(tape, cassette.WithToken("dir", "/elsewhere"))
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := runner.Output(context.Background(), player, runner.Command("mktool", "/elsewhere"))
	fmt.Println(out, err)
	// Output:
	// <nil> <nil> <nil>
	// ["mktool" "<dir:1>"] "made <dir:1>/out\n"
	// made /elsewhere/out <nil>
}

// A miss says what is different without showing it, and explains it when asked to.
func ExampleMissError() {
	file, _ := cassette.Reseal([]byte("cassette 1\nrun\n  argv \"git\"\n  argv \"rev-parse\"\n  argv \"HEAD\"\n  out \"3f2c41d\\n\"\n  exit 0\n"))
	tape, _ := cassette.Parse(file)
	player, _ := cassette.NewPlayer(tape, cassette.WithHint("make record"))
	_, err := runner.Output(context.Background(), player, runner.Command("git", "rev-parse", "HEAD~3"))

	var miss *cassette.MissError
	if errors.As(err, &miss) {
		fmt.Println(miss)
		fmt.Print(miss.Explain())
	}
	// Output:
	// cassette: miss at call 1, of "git": mismatch; nearest is run 1 (unplayed): argument 2 differs (4 bytes recorded, 6 called) (mode replay, by NewPlayer; 1 run, 0 played); record anew with: make record
	// cassette: no recorded run answers this call (mismatch)
	//   called    git rev-parse HEAD~3
	//   cassette  (in memory) (mode replay, by NewPlayer), 1 run, 0 played, next unplayed is run 1
	//   nearest   run 1, line 2 (unplayed)
	//             git rev-parse HEAD
	//             argument 2 differs (4 bytes recorded, 6 called):
	//               recorded "HEAD"
	//               called   "HEAD~3"
	//   anew      make record
}
