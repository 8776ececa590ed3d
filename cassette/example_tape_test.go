package cassette_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/runner"
)

// written is a cassette that was written by hand: Reseal gives it its trailer.
func written(runs string) *cassette.Tape {
	file, err := cassette.Reseal([]byte("cassette 1\n" + runs))
	if err != nil {
		panic(err)
	}
	tape, err := cassette.Parse(file)
	if err != nil {
		panic(err)
	}
	return tape
}

// cloned is a cassette of one run.
func cloned() *cassette.Tape {
	return written("run\n  argv \"git\"\n  argv \"clone\"\n  out \"receiving\\n\"\n  out \"done\\n\"\n  exit 0\n  tape 1000o10 1000o5\n")
}

var clone = runner.Command("git", "clone")

func ExampleForTest() {
	// func TestBranch(t *testing.T)
	_ = func(t *testing.T) {
		deck := cassette.ForTest(t) // or OpenForTest(t, "testdata/shared.cassette")
		out, err := runner.Output(t.Context(), deck, runner.Command("git", "branch", "--show-current"))
		if err != nil || out != "main" {
			t.Fatal(out, err)
		}
		// A miss, or a run that was not called for, fails the test; what was recorded is saved if it passed.
	}
	_ = func(t *testing.T) {
		_ = cassette.OpenForTest(t, "testdata/shared.cassette", cassette.WithReplayOnly())
	}
	fmt.Println(filepath.Base(cassette.PathFor("TestBranch")))
	// Output: TestBranch-27eae3ef.cassette
}

// A deck says what it does and why, and keeps account.
func ExampleDeck_Check() {
	deck, err := cassette.Open("../fixtures/cassettes/outcomes.cassette", cassette.WithReplayOnly())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer deck.Close()
	mode, origin := deck.Mode()
	fmt.Println(mode, origin, deck.Recording())

	_, _ = runner.Run(context.Background(), deck, runner.Command("tool", "nobody", "recorded", "this"))
	changes, err := deck.Changes() // of mode verify
	fmt.Println(len(deck.Misses()), len(deck.Unplayed()) > 0, deck.Check() != nil, len(changes), err)
	// Output:
	// replay by default false
	// 1 true true 0 <nil>
}

// A true recording is changed into the failure that a test needs.
func ExampleTape_Derive() {
	for _, fault := range []cassette.Fault{
		cassette.FaultExit(128),
		cassette.FaultSignal(syscall.SIGTERM),
		cassette.FaultKill(10),
		cassette.FaultTruncate(runner.Stdout, 3),
		cassette.FaultDelay(time.Hour), // of which an instant replay knows nothing
		cassette.FaultStart(runner.StartNotFound),
	} {
		broken, err := cloned().Derive(1, fault)
		if err != nil {
			fmt.Println(err)
			return
		}
		player, err := cassette.NewPlayer(broken)
		if err != nil {
			fmt.Println(err)
			return
		}
		res, err := runner.Run(context.Background(), player, clone)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%v %q\n", res.Outcome(), res.Stdout())
	}
	// Output:
	// exited 128 "receiving\ndone\n"
	// signalled SIGTERM "receiving\ndone\n"
	// signalled SIGKILL "receiving\n"
	// exited 0 "rec"
	// exited 0 "receiving\ndone\n"
	// runner: cannot start "git": program not found
}

// Output comes in other pieces than it was recorded in, to find a parser that relies on them.
func ExampleChunking() {
	for _, chunking := range []cassette.Chunking{cassette.ChunksOf(4), cassette.ChunksByLine(), cassette.RandomChunks(1)} {
		player, err := cassette.NewPlayer(cloned(), cassette.WithChunking(chunking))
		if err != nil {
			fmt.Println(err)
			return
		}
		out, err := runner.Output(context.Background(), player, clone)
		fmt.Printf("%q %v\n", out, err)
	}
	// Output:
	// "receiving\ndone" <nil>
	// "receiving\ndone" <nil>
	// "receiving\ndone" <nil>
}

// A test moves the clock of its recordings on by hand.
func ExampleNewStepper() {
	clock := cassette.NewStepper()
	player, err := cassette.NewPlayer(cloned(), cassette.WithStepper(clock))
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := player.Start(context.Background(), clone)
	if err != nil {
		fmt.Println(err)
		return
	}
	clock.Advance(time.Second)
	_, over := p.Result()
	fmt.Println(clock.Elapsed(), over)
	clock.Advance(time.Second)
	res, err := p.Wait(context.Background())
	fmt.Println(clock.Elapsed(), res.Outcome(), err)
	// Output:
	// 1s false
	// 2s exited 0 <nil>
}

func ExampleParsePace() {
	pace, err := cassette.ParsePace("2x")
	fmt.Println(pace == cassette.Scaled(2), err)
	// Output: true <nil>
}

func ExampleParseMode() {
	mode, err := cassette.ParseMode("record")
	fmt.Println(mode == cassette.Record, err)
	_, err = cassette.ParseMode("rekord")
	fmt.Println(err != nil)
	// Output:
	// true <nil>
	// true
}

func ExampleCompare() {
	failed, _ := cloned().Derive(1, cassette.FaultExit(128))
	changes, err := cassette.Compare(cloned(), failed)
	fmt.Println(changes[0].Class, changes[0].Fields, err)
	// Output: outcome [outcome] <nil>
}

// Both sides may change what they like, but not the same run in different ways.
func ExampleMerge() {
	failed, _ := cloned().Derive(1, cassette.FaultExit(128))
	killed, _ := cloned().Derive(1, cassette.FaultSignal(syscall.SIGKILL))

	merged, err := cassette.Merge(cloned(), cloned(), failed)
	fmt.Println(merged.Checksum() == failed.Checksum(), err)
	_, err = cassette.Merge(cloned(), killed, failed)
	fmt.Println(err)
	// A merge driver of git has three files and no more.
	file, err := cassette.MergeFiles(cloned().Marshal(), cloned().Marshal(), failed.Marshal())
	fmt.Println(string(file) == string(failed.Marshal()), err)
	// Output:
	// true <nil>
	// cassette: both sides change the same run: run 1 (line 2), of "git"
	// true <nil>
}

// Findings and problems tell places, and never what stands there.
func ExampleTape_Scan() {
	leaky := written("run\n  argv \"deploy\"\n  argv \"hunter2-hunter2\"\n  exit 0\n")
	secret := cassette.WithSecret("token", "hunter2-hunter2")
	findings, err := leaky.Scan(secret)
	fmt.Println(len(findings), findings[0].Place, findings[0].Number, err)

	clean, err := leaky.Scrub(secret)
	if err != nil {
		fmt.Println(err)
		return
	}
	findings, err = clean.Scan(secret)
	fmt.Println(len(findings), err)
	// Output:
	// 1 argument 1 <nil>
	// 0 <nil>
}

func ExampleLint() {
	file := string(cloned().Marshal())
	fmt.Println(len(cassette.Lint([]byte(file))))
	for _, problem := range cassette.Lint([]byte(strings.Replace(file, "done", "over", 1))) {
		fmt.Println(problem.Line > 0, problem.Text != "")
	}
	// With the path of the file, its side files are looked at as well.
	fmt.Println(len(cassette.LintAt([]byte(file), "testdata/clone.cassette")))
	// Output:
	// 0
	// true true
	// 0
}

func ExampleTape_Export() {
	var out strings.Builder
	err := cloned().Export(&out, cassette.JSONLines)
	fmt.Println(strings.Count(out.String(), "\n") > 3, err)
	n, err := cloned().WriteTo(&out)
	fmt.Println(n == int64(len(cloned().Marshal())), err)
	// Output:
	// true <nil>
	// true <nil>
}

// What is recorded can be run again.
func ExampleTape_Commands() {
	tape := cloned()
	commands, err := tape.Commands()
	fmt.Println(tape.Len(), commands[0].Argv(), len(tape.Tokens()), err)
	// Output: 1 [git clone] 0 <nil>
}

// A recorded conversation is held again, with a program that may say something else by now.
func ExampleTape_Converse() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ask := fake.New()
	ask.On("ask").Reply(fake.Stdout("name? "), fake.Reads("bob\n"), fake.Lines("hello bob"), fake.ReadsEOF())
	recorder, err := cassette.NewRecorder(filepath.Join(dir, "x.cassette"), ask)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer recorder.Close()
	cmd := runner.Command("ask")
	cmd.Stdin = runner.StdinPipe()
	p, err := recorder.Start(context.Background(), cmd)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = p.Stdin().Write([]byte("bob\n"))
	_ = p.Stdin().Close()
	_, _ = p.Wait(context.Background())
	tape, err := recorder.Tape()
	if err != nil {
		fmt.Println(err)
		return
	}

	commands, err := tape.Commands()
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := tape.Converse(context.Background(), ask, 1, commands[0])
	fmt.Printf("%s%v %v\n", res.Stdout(), res.Outcome(), err)
	// Output:
	// name? hello bob
	// exited 0 <nil>
}

// What a recorder would write can be looked at before.
func ExampleRecorder_Tape() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "x.cassette")
	player, _ := cassette.NewPlayer(cloned()) // or nil, to run commands for real
	recorder, err := cassette.NewRecorder(path, player)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = runner.Run(context.Background(), recorder, clone)

	tape, err := recorder.Tape()
	fmt.Println(tape.Len(), recorder.Undeclared(), err)
	fmt.Println(recorder.Save(), recorder.Close())
	used, orphaned, err := cassette.SideFiles(path)
	fmt.Println(len(used), len(orphaned), err, cassette.RemoveOrphans(path))
	file, _ := os.ReadFile(path)
	again, err := cassette.ParseAt(file, path)
	fmt.Println(again.Checksum() == tape.Checksum(), err)
	// Output:
	// 1 [] <nil>
	// <nil> <nil>
	// 0 0 <nil> <nil>
	// true <nil>
}

// A recording of processkit is taken over, and what is not is told.
func ExampleImport() {
	tape, skipped, err := cassette.Import([]byte(`{"version": 4, "entries": []}`))
	fmt.Println(tape.Len(), skipped, err)
	// Output: 0 [] <nil>
}
