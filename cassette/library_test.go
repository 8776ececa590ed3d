package cassette_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/contain"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// libraryRoot is where the committed cassettes are, for the unit tests of every package.
const libraryRoot = "../fixtures/cassettes"

// library makes the committed cassettes, from nothing but what stands here: BOOMBOX_REGENERATE=1 go test ./cassette
// writes them.
func library() map[string][]byte {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	const repo = "/tmp/session/repo"
	blob := []byte("\x89BLOB\r\n\x1a\x00\xff\xfe\x00\x01\x02\x03\x80\x81\r")
	session := []cassette.Sample{
		{
			Argv: []string{"git", "init", repo}, Outcome: runner.Exited(0), Exit: ms(9),
			Out: []byte("Initialized empty Git repository in " + repo + "/.git/\n"),
		},
		{
			Argv: []string{"git", "commit", "-F", "-"}, Dir: repo, Env: []string{"GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"},
			Stdin: []byte("first commit\n"), Out: []byte("[main (root-commit) 3f2c41d] first commit\n 1 file changed, 1 insertion(+)\n create mode 100644 café.txt\n"),
			Outcome: runner.Exited(0), Exit: ms(14),
		},
		{
			Argv: []string{"git", "log", "--oneline"}, Dir: repo, Out: []byte("3f2c41d first commit\n"), Outcome: runner.Exited(0), Exit: ms(3),
		},
		{
			Argv: []string{"git", "rev-parse", "--verify", "HEAD~1"}, Dir: repo, Err: []byte("fatal: Needed a single revision\n"),
			Outcome: runner.Exited(128), Exit: ms(3),
		},
		{
			Argv: []string{"git", "cat-file", "blob", "HEAD:blob"}, Dir: repo, Out: blob, Outcome: runner.Exited(0), Exit: ms(3),
		},
	}
	killed := &contain.ExitStatus{Signal: syscall.SIGKILL}
	outcomes := []cassette.Sample{
		{Argv: []string{"tool", "succeed"}, Out: []byte("done\n"), Outcome: runner.Exited(0)},
		{Argv: []string{"tool", "fail"}, Err: []byte("tool: no such file\n"), Outcome: runner.Exited(3)},
		{Argv: []string{"tool", "crash"}, Outcome: runner.Signalled(syscall.SIGSEGV), Status: &contain.ExitStatus{Signal: syscall.SIGSEGV, Core: true}},
		{Argv: []string{"tool", "hang"}, Out: []byte("begun\n"), Outcome: runner.TimedOut, Limit: time.Second, Status: killed, Exit: time.Second},
		{Argv: []string{"tool", "stall"}, Outcome: runner.IdleTimedOut, Limit: ms(250), Status: &contain.ExitStatus{}, Exit: ms(250)},
		{Argv: []string{"tool", "flood"}, Out: bytes.Repeat([]byte("y\n"), 8), Dropped: [2]int64{65520}, Outcome: runner.Overflowed, Status: killed},
		{Argv: []string{"tool", "chatter"}, Out: []byte("last line\n"), Dropped: [2]int64{90}, Tail: [2]bool{true}, Outcome: runner.Exited(0)},
		{Argv: []string{"tool", "daemonise"}, Out: []byte("started\n"), Outcome: runner.Exited(0), Held: true},
		{Argv: []string{"tool", "wait"}, Outcome: runner.Cancelled, Status: killed, Exit: ms(40)},
		{Argv: []string{"gone"}, Failure: &runner.StartError{Kind: runner.StartNotFound, Err: syscall.ENOENT}},
		{Argv: []string{"/"}, Failure: &runner.StartError{Kind: runner.StartNotExecutable, Err: syscall.EACCES}},
		{Argv: []string{"tool"}, Dir: "/gone", Failure: &runner.StartError{Kind: runner.StartBadDir, Err: syscall.ENOENT}},
	}
	streams := []cassette.Sample{
		{
			Argv: []string{"progress"}, Out: []byte("fetching\r\x1b[2Kfetched 3\r\n"), Err: []byte("10%\r50%\r100%\n"), Outcome: runner.Exited(0),
			Chunks: []cassette.SampleChunk{
				{After: ms(5), Stream: runner.Stdout, N: 9},
				{After: ms(20), Stream: runner.Stderr, N: 4},
				{After: ms(20), Stream: runner.Stderr, N: 4},
				{Stream: runner.Stdout, N: 15},
				{After: ms(10), Stream: runner.Stderr, N: 5},
			}, Exit: ms(5),
		},
		{Argv: []string{"echo", "", "a b", "\"quoted\"", "back\\slash", "\xff\xfe", "naïve 日本語 🎵", "\u202etxt.exe"}, Out: []byte("no newline at the end"), Outcome: runner.Exited(0)},
		{Argv: []string{"cat"}, Stdin: blob, Out: blob, Err: []byte("mostly text, \xff once\n"), Outcome: runner.Exited(0)},
		{Argv: []string{"ask"}, Inherit: true, Outcome: runner.Exited(1)},
		{Argv: []string{"echo", "<tmp:1>"}, Out: []byte("<tmp:1>\n"), Outcome: runner.Exited(0)},
	}
	return map[string][]byte{
		"git-session.cassette": cassette.File(session, cassette.WithToken("tmp", "/tmp/session")),
		"outcomes.cassette":    cassette.File(outcomes),
		"streams.cassette":     cassette.File(streams),
	}
}

var _ = Describe("The committed cassettes", func() {
	It("are what their generator makes", func() {
		for name, file := range library() {
			path := filepath.Join(libraryRoot, name)
			if os.Getenv("BOOMBOX_REGENERATE") == "1" {
				tape, err := cassette.Parse(file)
				Expect(err).NotTo(HaveOccurred())
				Expect(tape.Save(path)).To(Succeed())
				Expect(os.Chmod(path, 0o644)).To(Succeed()) // these are for everybody, as a checkout has them
			}
			Expect(contents(path)).To(Equal(string(file)), name)
		}
		Expect(names(libraryRoot)).To(HaveLen(len(library())+1), "and the folder of real tools")
	})

	It("replay a session with no program at all", func(ctx context.Context) {
		GinkgoT().Setenv("PATH", "")
		dir := GinkgoT().TempDir()
		player := play(filepath.Join(libraryRoot, "git-session.cassette"), cassette.WithToken("tmp", dir))
		git := func(stdin string, args ...string) (*runner.Result, error) {
			cmd := runner.Command("git", args...)
			if args[0] != "init" {
				cmd.Dir = dir + "/repo"
			}
			cmd.Stdin = runner.StdinString(stdin)
			return runner.Run(ctx, player, cmd)
		}
		res, err := git("", "init", dir+"/repo")
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveStdout("Initialized empty Git repository in " + dir + "/repo/.git/\n"))
		res, err = git("first commit\n", "commit", "-F", "-")
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveStdout(ContainSubstring("café.txt")))
		_, err = git("", "log", "--oneline")
		Expect(err).NotTo(HaveOccurred())
		res, err = git("", "rev-parse", "--verify", "HEAD~1")
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveExited(128))
		res, err = git("", "cat-file", "blob", "HEAD:blob")
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveStdout(HavePrefix("\x89BLOB\r\n\x1a\x00\xff")))
		Expect(player.Check()).To(Succeed())
	})

	It("replay every outcome", func(ctx context.Context) {
		player := play(filepath.Join(libraryRoot, "outcomes.cassette"))
		run := func(cmd *runner.Cmd) runner.Outcome {
			res, err := runner.Run(ctx, player, cmd)
			Expect(err).NotTo(HaveOccurred())
			return res.Outcome()
		}
		tool := func(verb string) *runner.Cmd { return runner.Command("tool", verb) }
		Expect(run(tool("succeed"))).To(Equal(runner.Exited(0)))
		Expect(run(tool("fail"))).To(Equal(runner.Exited(3)))
		Expect(run(tool("crash"))).To(Equal(runner.Signalled(syscall.SIGSEGV)))
		Expect(run(tool("hang"))).To(Equal(runner.TimedOut))
		Expect(run(tool("stall"))).To(Equal(runner.IdleTimedOut))
		flood, chatter := tool("flood"), tool("chatter")
		flood.Output.Stdout.MaxBytes = 16
		chatter.Output.Stdout = runner.Stream{Policy: runner.Tail, MaxBytes: 10}
		Expect(run(flood)).To(Equal(runner.Overflowed))
		Expect(run(chatter)).To(Equal(runner.Exited(0)))
		Expect(run(tool("daemonise"))).To(Equal(runner.Exited(0)))
		wait := tool("wait")
		wait.Timeout = time.Millisecond
		Expect(run(wait)).To(Equal(runner.TimedOut))
		for cmd, want := range map[*runner.Cmd]error{
			runner.Command("gone"): runner.ErrNotFound, runner.Command("/"): runner.ErrNotExecutable,
		} {
			_, err := runner.Run(ctx, player, cmd)
			Expect(err).To(MatchError(want))
		}
		lost := runner.Command("tool")
		lost.Dir = "/gone"
		_, err := runner.Run(ctx, player, lost)
		Expect(err).To(MatchError(runner.ErrBadDir))
		Expect(player.Check()).To(Succeed())
	})
})
