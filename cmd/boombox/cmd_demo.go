package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/runner"
)

// demoCmd is the subcommand demo. It uses the public API alone, and so is an example of it.
type demoCmd struct{}

// Help is the text below the summary.
func (*demoCmd) Help() string {
	return "Everything happens in a temporary directory, which is removed at the end. What the demo says was measured: it " +
		"looks for escapees in /proc itself, and compares every byte that is replayed. The status is 0, or 125 when " +
		"something did not turn out as promised."
}

// demo is one showing.
type demo struct {
	*session
	dir string
}

// Run implements the subcommand.
func (*demoCmd) Run() error {
	s := newSession()
	defer s.stop()
	return s.end(showAll(s), &reportFile{}, report{})
}

func showAll(s *session) (err error) {
	dir, err := os.MkdirTemp("", "boombox-demo-")
	if err != nil {
		return refused("no temporary directory: %w", withoutDir(err))
	}
	defer func() {
		if removeErr := os.RemoveAll(dir); err == nil && removeErr != nil {
			err = refused("cannot remove the temporary directory: %w", withoutDir(removeErr))
		}
	}()
	// The path that programs see, where the temporary directory is a symbolic link.
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	d := &demo{s, dir}
	began := time.Now()
	if err := d.contain(); err != nil {
		return err
	}
	if err := d.record(); err != nil {
		return err
	}
	d.say("\nAll as promised, in %v.\n", time.Since(began).Round(time.Millisecond))
	return nil
}

// say prints at once. An output that is closed ends the demo as it ends a run.
func (d *demo) say(format string, args ...any) {
	if _, err := fmt.Fprintf(os.Stdout, format, args...); err != nil {
		d.cancel(broken("standard output", err))
	}
}

// contain is step 1: a tree that means to escape meets its deadline.
func (d *demo) contain() error {
	d.say("1. A tool starts three processes that leave it (by setsid, by setpgid and a double fork, and as a daemon) and\n" +
		"   hangs. Its deadline is 1s.\n")
	tool := newEscape()
	process, err := runner.Contained{}.Start(d.ctx, tool.cmd)
	if err != nil {
		return startError(err)
	}
	defer context.AfterFunc(d.ctx, func() { process.Cancel(context.Cause(d.ctx)) })()
	tool.awaitReady(process)
	before := tool.look()
	res, err := process.Wait(context.Background())
	if err != nil {
		return refused("%w", err)
	}
	after := tool.look()

	d.say("   before the deadline  %s\n", before)
	d.say("   outcome              %s after %v; all was over after %v\n", res.Outcome(),
		res.Duration().Round(time.Millisecond), res.SettledAfter().Round(time.Millisecond))
	held := res.Teardown()
	d.say("   held by              %s, which guarantees %s\n", held.Mechanism, held.Guarantees)
	d.say("   after                %s\n", after)
	if res.Outcome() != runner.TimedOut {
		return refused("the tool should have timed out")
	}
	return d.judge(tool, held, after)
}

// record is steps 2 to 5: a session is recorded, shown, replayed, and left.
func (d *demo) record() error {
	tool, err := d.chooseTool()
	if err != nil {
		return err
	}
	path := filepath.Join(d.dir, "session.cassette")
	d.say("\n2. A session with %s is recorded.\n", tool.name)
	lived, err := d.recordSession(tool, path)
	if err != nil {
		return err
	}
	tape, err := cassette.Load(path)
	if err != nil {
		return refused("%w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return refused("%w", withoutDir(err))
	}
	d.say("   saved: %d runs in %d bytes of text, file mode %04o\n", tape.Len(), info.Size(), info.Mode().Perm())

	d.say("\n3. This is what the cassette holds (boombox show; the file itself is as plain).\n%s",
		indented(rendered(tape)))

	player, err := cassette.NewPlayer(tape, cassette.WithToken("tmp", d.dir),
		cassette.WithHint("boombox record FILE -- PROG ARGS..."))
	if err != nil {
		return refused("%w", err)
	}
	d.say("\n4. The session is replayed with an empty PATH.\n")
	if err := d.replaySession(tool, player, lived); err != nil {
		return err
	}

	d.say("\n5. A call that was not recorded is a miss. It is never taken for \"not installed\", and no process is tried.\n")
	return d.missOne(tool, player)
}

// missOne makes a call that the cassette does not hold.
func (d *demo) missOne(tool demoTool, player *cassette.Player) error {
	_, err := runner.Run(d.ctx, player, tool.command("log", "--all"))
	miss, ok := asMiss(err)
	if !ok {
		return refused("a call that was not recorded was no miss")
	}
	d.say("%s", indented(miss.Explain()))
	return nil
}

// replaySession replays what was lived, and compares every byte.
func (d *demo) replaySession(tool demoTool, player *cassette.Player, lived []*runner.Result) error {
	first := tool.replayed(tool.session[0])
	if _, err := runner.Run(d.ctx, runner.Contained{}, first); err == nil {
		return refused("%s was found without a PATH", tool.name)
	} else {
		d.say("   for real   %s\n", line(err.Error()))
	}
	began := time.Now()
	for i, args := range tool.session {
		res, err := runner.Run(d.ctx, player, tool.replayed(args))
		if err != nil {
			return refused("%w", err)
		}
		live := lived[i]
		if !res.Replayed() || res.Outcome() != live.Outcome() ||
			!bytes.Equal(res.Stdout(), live.Stdout()) || !bytes.Equal(res.Stderr(), live.Stderr()) {
			return refused("run %d was not replayed as it was recorded", i+1)
		}
	}
	d.say("   replayed   %d of %d runs: the same bytes on the same streams and the same outcome, in %v, without a process\n",
		len(lived), len(tool.session), time.Since(began).Round(10*time.Microsecond))
	return nil
}

// indented sets text apart from what the demo itself says, and cuts lines that are wider than most terminals.
func indented(text string) string {
	const width = 110
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if len(line) > width {
			line = strings.ToValidUTF8(line[:width], "") + " ..."
		}
		b.WriteString("   " + line + "\n")
	}
	return b.String()
}
