package fake_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/runner"
)

// These are plain tests because a synctest bubble needs a *testing.T of its own. Inside a bubble hours pass at once,
// and any wait that is not a timer or a channel of the bubble would hang it.

func TestPlayTakesTheTimeOfItsScript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := fake.Play(context.Background(), runner.Command("tool"), fake.Script{Chunks: []fake.Chunk{
			{After: time.Hour, Data: []byte("one ")},
			{After: 2 * time.Hour, Data: []byte("two")},
			{After: 3 * time.Hour},
		}})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(6*time.Hour - 1)
		synctest.Wait()
		if _, settled := p.Result(); settled {
			t.Fatal("settled before its time")
		}
		<-time.After(1)
		synctest.Wait()
		res, settled := p.Result()
		if !settled {
			t.Fatal("not settled at its time")
		}
		if res.Duration() != 6*time.Hour || string(res.Stdout()) != "one two" || !res.Success() {
			t.Fatalf("%v with %q", res, res.Stdout())
		}
	})
}

func TestInputStartsTheClockOfWhatFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cmd := runner.Command("tool")
		cmd.Stdin = runner.StdinPipe()
		p, err := fake.Play(context.Background(), cmd, fake.Script{Chunks: []fake.Chunk{
			{Reads: []byte("go"), After: time.Hour, Data: []byte("gone")},
		}})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(5 * time.Hour)
		if _, err := p.Stdin().Write([]byte("go")); err != nil {
			t.Fatal(err)
		}
		res, err := p.Wait(context.Background())
		if err != nil || res.Duration() != 6*time.Hour || string(res.Stdout()) != "gone" {
			t.Fatalf("%v, %v with %q", err, res, res.Stdout())
		}
	})
}

func TestPendingScriptTimesOutOnTheFakeClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cmd := runner.Command("tool")
		cmd.Timeout = 24 * time.Hour
		r := fake.New()
		r.On("tool").Reply(fake.After(23*time.Hour), fake.Stdout("late"), fake.Pending())
		started := time.Now()
		res, err := runner.Run(context.Background(), r, cmd)
		if err != nil {
			t.Fatal(err)
		}
		if res.Outcome() != runner.TimedOut || res.Duration() != cmd.Timeout || time.Since(started) != cmd.Timeout {
			t.Fatalf("%v, by the clock %v", res, time.Since(started))
		}
		if string(res.Stdout()) != "late" {
			t.Fatalf("stdout %q", res.Stdout())
		}
	})
}

func TestHeldPipesAreGivenUpOnTheFakeClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := fake.Play(context.Background(), runner.Command("tool"), fake.Script{
			Chunks: []fake.Chunk{{After: time.Hour, Data: []byte("x")}}, PipesHeld: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		res, err := p.Wait(context.Background())
		if err != nil || !res.PipesHeld() || res.Duration() != time.Hour || string(res.Stdout()) != "x" {
			t.Fatalf("%v %v", res, err)
		}
	})
}
