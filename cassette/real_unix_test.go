//go:build unix

package cassette_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// framedServer answers JSON that is framed by its length, as language servers do, until it is told to exit.
const framedServer = `import json, sys
i, o = sys.stdin.buffer, sys.stdout.buffer
while True:
    head = i.readline()
    if not head:
        break
    i.readline()
    call = json.loads(i.read(int(head.split(b":")[1])))
    if call["method"] == "exit":
        break
    body = json.dumps({"id": call["id"], "result": call["method"]}, separators=(",", ":")).encode()
    o.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    o.flush()
`

// shared makes a cassette and its side files what a checkout has: for everybody.
func shared(path string) {
	GinkgoHelper()
	Expect(os.Chmod(path, 0o644)).To(Succeed())
	used, _, err := cassette.SideFiles(path)
	Expect(err).NotTo(HaveOccurred())
	for _, file := range used {
		Expect(os.Chmod(filepath.Dir(file), 0o755)).To(Succeed())
		Expect(os.Chmod(file, 0o644)).To(Succeed())
	}
}

// world is what the real commands work in: a fresh directory, and a server of ours.
type world struct{ dir, url string }

// realCommand is one command of the table. program is looked for before.
type realCommand struct {
	name, program string
	make          func(world) *runner.Cmd
}

func sh(name, script string, changes ...func(*runner.Cmd)) realCommand {
	return real(name, func(world) []string { return []string{"sh", "-c", script} }, changes...)
}

func real(name string, argv func(world) []string, changes ...func(*runner.Cmd)) realCommand {
	return realCommand{name, argv(world{})[0], func(w world) *runner.Cmd {
		words := argv(w)
		cmd := runner.Command(words[0], words[1:]...)
		cmd.Dir = w.dir
		for _, change := range changes {
			change(cmd)
		}
		return cmd
	}}
}

func words(list ...string) func(world) []string { return func(world) []string { return list } }

func input(text string) func(*runner.Cmd) {
	return func(c *runner.Cmd) { c.Stdin = runner.StdinString(text) }
}

// pty gives a command a terminal.
func pty(cols, rows uint16) func(*runner.Cmd) {
	return func(c *runner.Cmd) { c.PTY = &runner.PTY{Cols: cols, Rows: rows} }
}

// shellOnTerminal talks to a shell on a terminal, which becomes as large as it is told.
func shellOnTerminal(ctx context.Context, r runner.Runner, larger runner.PTY) (*runner.Result, error) {
	GinkgoHelper()
	cmd := terminal(100, 30, "sh", "-i")
	cmd.Stdin = runner.StdinPipe()
	cmd.Env = runner.AllowEnv("PATH").Set("PS1", "> ").Set("TERM", "dumb")
	p, hear := watched(ctx, r, cmd)
	say := func(text, want string) {
		GinkgoHelper()
		_, err := io.WriteString(p.Stdin(), text)
		Expect(err).NotTo(HaveOccurred())
		hear(want)
	}
	hear("> ")
	say("stty size\n", "30 100\r\n> ")
	Expect(p.Resize(larger.Cols, larger.Rows)).To(Succeed())
	say("stty size\n", "43 132\r\n> ")
	say("test -t 2 && printf '\\033[1mbold\\033[0m\\n' >&2\n", "bold\x1b[0m\r\n> ")
	say("exit 3\n", "")
	return p.Wait(ctx)
}

func timeout(d time.Duration) func(*runner.Cmd) { return func(c *runner.Cmd) { c.Timeout = d } }

func capture(s runner.Stream) func(*runner.Cmd) {
	return func(c *runner.Cmd) { c.Output = runner.Both(s) }
}

// hermetic keeps git away from whatever the machine has configured.
func hermetic(c *runner.Cmd) {
	for key, value := range map[string]string{
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "n", "GIT_AUTHOR_EMAIL": "e", "GIT_COMMITTER_NAME": "n",
		"GIT_COMMITTER_EMAIL": "e", "GIT_AUTHOR_DATE": "2020-01-02T03:04:05Z", "GIT_COMMITTER_DATE": "2020-01-02T03:04:05Z", "LC_ALL": "C",
	} {
		c.Env = c.Env.Set(key, value)
	}
}

// endings are the ways in which a command can end and write.
var endings = []realCommand{
	sh("success", "true"), sh("failure", "exit 1"), sh("code 255", "exit 255"), sh("code 127", "exit 127"),
	sh("SIGTERM", "kill -TERM $$"), sh("SIGKILL", "kill -KILL $$"), sh("SIGPIPE", "kill -PIPE $$"), sh("SIGUSR1", "kill -USR1 $$"),
	sh("a handled signal", "trap 'echo caught; exit 7' TERM; kill -TERM $$"),
	sh("a timeout", "echo begun; sleep 20", timeout(200*time.Millisecond)),
	sh("a timeout that the shell outlives", "trap '' TERM; echo begun; sleep 20", timeout(200*time.Millisecond), func(c *runner.Cmd) { c.Grace = 50 * time.Millisecond }),
	sh("a timeout that ends well", "trap 'exit 0' TERM; echo begun; while :; do sleep 0.01; done", timeout(300*time.Millisecond), func(c *runner.Cmd) { c.Grace = 5 * time.Second }),
	sh("an idle timeout", "echo begun; sleep 20", func(c *runner.Cmd) { c.IdleTimeout = 200 * time.Millisecond }),
	sh("stdout", "echo out"), sh("stderr", "echo err >&2"), sh("both", "echo out; echo err >&2"),
	sh("no newline", "printf x"), sh("one NUL", `printf '\0'`), sh("bytes that are no text", `printf '\377\376\001\r\n'`),
	sh("escapes of a terminal", `printf '\033[31mred\033[0m\rover\n'`), sh("text beyond ASCII", `printf 'caf\303\251 \342\200\256x\n'`),
	sh("half a character", `printf '\303'`), sh("empty lines", `printf '\n\n\n'`), sh("line ends of DOS", `printf 'a\r\nb\r\n'`),
	sh("a placeholder that is none", "echo '<redacted:x:1> <tmp:1>'"),
	sh("a flood that fails", "yes | head -c 300000", capture(runner.Stream{MaxBytes: 100_000})),
	sh("a flood of which the head is kept", "yes | head -c 3000000", capture(runner.Stream{Policy: runner.Head, MaxBytes: 1000})),
	sh("a flood of which the tail is kept", "seq 300000", capture(runner.Stream{Policy: runner.Tail, MaxBytes: 1000})),
	sh("a flood that is discarded", "yes | head -c 3000000", capture(runner.Stream{Policy: runner.Discard})),
	sh("a long line", "head -c 100000 /dev/zero | tr '\\0' x"),
	sh("many lines", "seq 20000"), sh("binary", "seq 5000 | gzip -nc"),
	sh("held pipes", "echo done; sleep 20 & exit 0"),
	sh("input", "cat", input("one\ntwo")), sh("input that is no text", "cat", input("\xff\x00\r\n")), sh("no input", "cat"),
	sh("input that nobody reads", "exit 0", input(strings.Repeat("x", 1<<20))),
	sh("input that is half read", "head -c 3", input("abcdef")),
	sh("a variable", `echo "$GREETING"`, func(c *runner.Cmd) { c.Env = c.Env.Set("GREETING", "hello") }),
	sh("the directory", "pwd -P"),
	sh("a terminal", "stty size; test -t 0 && test -t 1 && test -t 2 && echo terminal; echo error >&2", pty(100, 30)),
	sh("no terminal", "test -t 1 && echo terminal"),
	real("the name of a terminal", words("tty"), pty(80, 24)), real("the name of none", words("tty")),
	real("a terminal for python", words("python3", "-c", "import os, sys; print(sys.stdout.isatty(), tuple(os.get_terminal_size()))"), pty(132, 43)),
	real("columns and colours", words("ls", "--color=auto", "-C", "/"), pty(40, 24)),
	real("a terminal inside a terminal", words("script", "-qec", "stty size", "/dev/null"), pty(70, 20)),
	real("typed input", words("cat"), pty(80, 24), input("one\ntwo\n")), real("typed input without an end of line", words("cat"), pty(80, 24), input("one")),
	sh("a signal on a terminal", "kill -TERM $$", pty(80, 24)),
	sh("a timeout on a terminal", "echo begun; sleep 20", pty(80, 24), timeout(300*time.Millisecond)),
	sh("many lines on a terminal", "seq 20000", pty(80, 24)),
	sh("a flood on a terminal of which the tail is kept", "seq 300000", pty(80, 24), func(c *runner.Cmd) {
		c.Output.Stdout = runner.Stream{Policy: runner.Tail, MaxBytes: 1000}
	}),
	real("a missing program on a terminal", words("no-such-program-here"), pty(80, 24)),
	real("a missing program", words("no-such-program-here")),
	real("a directory as program", words("/")),
	real("a missing directory", words("sh", "-c", "true"), func(c *runner.Cmd) { c.Dir = "/no/such/directory" }),
	real("arguments that are no text", words("printf", "%s|", "", "a b", "\xff\xfe", "\"q\"", "\\", "\n", "-")),
}

// tools are the real tools whose recording is shared.
var tools = []realCommand{
	real("git init", words("git", "init", "-q", "-b", "main", "repo"), hermetic),
	real("git empty commit", words("git", "-C", "repo", "commit", "-q", "--allow-empty", "-m", "first"), hermetic),
	real("git log", words("git", "-C", "repo", "log", "--oneline"), hermetic),
	real("git status", words("git", "-C", "repo", "status", "--porcelain=v2", "--branch"), hermetic),
	real("git failure", words("git", "-C", "repo", "rev-parse", "--verify", "HEAD~7"), hermetic),
	real("git object", words("git", "-C", "repo", "hash-object", "--stdin"), hermetic, input("blob\x00\xff")),
	real("git outside", words("git", "log"), hermetic),
	real("tar create", words("tar", "--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "-cf", "-", "a.txt")),
	real("tar list", words("tar", "-tf", "no-such.tar"), hermetic),
	real("sqlite3", words("sqlite3", ":memory:"), input("create table t(a,b); insert into t values(1,'x'),(2,'y'); select * from t;\n")),
	real("sqlite3 failure", words("sqlite3", ":memory:", "select nothing from nowhere")),
	real("jq", words("jq", "-c", ".a|map(.+1)"), input(`{"a":[1,2,3]}`)),
	real("jq failure", words("jq", "."), input("{")),
	real("python3", words("python3", "-c", "import sys; print('out'); sys.stderr.write('err\\n'); sys.exit(3)")),
	real("python3 traceback", words("python3", "-c", "1/0")),
	real("curl", func(w world) []string { return []string{"curl", "-sS", w.url + "/hello"} }),
	real("curl with a header", func(w world) []string {
		return []string{"curl", "-sS", "-H", "Authorization: Bearer t0ken-of-nobody-1", w.url + "/echo"}
	}),
	real("curl failure", func(w world) []string { return []string{"curl", "-sS", "-f", w.url + "/missing"} }),
	real("go version", words("go", "version"), hermetic),
	real("go env", words("go", "env", "GOOS"), hermetic),
	real("go failure", words("go", "no-such-command"), hermetic),
	real("5 MiB that are no text", words("python3", "-c", "import sys; sys.stdout.buffer.write(bytes(range(256))*20480)")),
	real("sort", words("sort", "-n"), input("10\n9\n1\n")),
	real("awk", words("awk", "{s+=$1} END {print s}"), input("1\n2\n3\n")),
}

// newWorld makes a directory and a server for real commands.
func newWorld() world {
	GinkgoHelper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hello":
			_, _ = io.WriteString(w, "hello\n")
		case "/echo":
			_, _ = io.WriteString(w, "you sent "+r.Header.Get("Authorization")+"\n")
		default:
			http.NotFound(w, r)
		}
	}))
	DeferCleanup(server.Close)
	dir, err := filepath.EvalSymlinks(GinkgoT().TempDir())
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(filepath.Join(dir, "a.txt"), []byte("text\n"), 0o600)).To(Succeed())
	return world{dir, server.URL}
}

func (w world) tokens() []cassette.Option {
	return []cassette.Option{cassette.WithToken("tmp", w.dir), cassette.WithToken("server", w.url)}
}

// ended is all that a caller can see of a run.
type ended struct {
	Err                     string
	Outcome, Status         string
	Stdout, Stderr          string
	OutTotal, ErrTotal      int64
	OutTrunc, ErrTrunc      bool
	PipesHeld, Success      bool
	NotFound, NotExecutable bool
	BadDir                  bool
	Check                   string
}

func seen(res *runner.Result, err error) ended {
	e := ended{
		NotFound: errors.Is(err, runner.ErrNotFound), NotExecutable: errors.Is(err, runner.ErrNotExecutable), BadDir: errors.Is(err, runner.ErrBadDir),
	}
	if err != nil {
		e.Err = err.Error()
		return e
	}
	status, known := res.Status()
	e.Outcome, e.Stdout, e.Stderr = res.Outcome().String(), string(res.Stdout()), string(res.Stderr())
	if known {
		e.Status = fmt.Sprintf("%d %v %v", status.Code, status.Signal, status.Core)
	}
	e.OutTotal, e.ErrTotal, e.OutTrunc, e.ErrTrunc = res.StdoutTotal(), res.StderrTotal(), res.StdoutTruncated(), res.StderrTruncated()
	e.PipesHeld, e.Success = res.PipesHeld(), res.Success()
	if err := res.Check(); err != nil {
		e.Check = err.Error()
	}
	return e
}

// playable drops what a replay does not promise to repeat of a run that was cut short: how much had come when it was.
func (e ended) playable() ended {
	if e.Outcome == runner.Overflowed.String() {
		e.OutTotal, e.Status = 0, ""
	}
	return e
}

var _ = Describe("Real commands", func() {
	It("look the same live and replayed, field by field", func(ctx context.Context) {
		w := newWorld()
		path := tempFile()
		rec, err := cassette.NewRecorder(path, nil, w.tokens()...)
		Expect(err).NotTo(HaveOccurred())
		defer rec.Close()
		var played []realCommand
		var live []ended
		for _, c := range append(endings[:len(endings):len(endings)], tools...) {
			if _, err := exec.LookPath(c.program); err != nil && c.program != "no-such-program-here" && c.program != "/" {
				GinkgoWriter.Println("not here:", c.program)
				continue
			}
			played = append(played, c)
			live = append(live, seen(runner.Run(ctx, rec, c.make(w))))
		}
		Expect(rec.Save()).To(Succeed())
		Expect(len(played)).To(BeNumerically(">=", 45))
		Expect(contents(path)).NotTo(ContainSubstring("t0ken-of-nobody"))

		GinkgoT().Setenv("PATH", "")
		player := play(path, w.tokens()...)
		for i, c := range played {
			want := live[i]
			want.Stdout = strings.ReplaceAll(want.Stdout, "Bearer t0ken-of-nobody-1", "Bearer <redacted:authorization:1>")
			if want.Stdout != live[i].Stdout {
				want.OutTotal = int64(len(want.Stdout))
			}
			Expect(seen(runner.Run(ctx, player, c.make(w))).playable()).To(Equal(want.playable()), c.name)
		}
		Expect(player.Check()).To(Succeed())
	})

	It("of everyday tools are shared, and replay with none of them here", func(ctx context.Context) {
		path := filepath.Join(libraryRoot, "real", "tools.cassette")
		if os.Getenv("BOOMBOX_REGENERATE") != "" {
			w := newWorld()
			var cmds []*runner.Cmd
			for _, c := range tools {
				cmds = append(cmds, c.make(w))
			}
			recordTo(ctx, path, nil, w.tokens(), cmds...)
			Expect(os.Chmod(filepath.Dir(path), 0o755)).To(Succeed())
			shared(path)
		}
		GinkgoT().Setenv("PATH", "")
		w := world{"/elsewhere/directory", "http://127.0.0.1:1"}
		player := play(path, w.tokens()...)
		var out bytes.Buffer
		for _, c := range tools {
			res, err := runner.Run(ctx, player, c.make(w))
			Expect(err).NotTo(HaveOccurred(), c.name)
			out.Write(res.Stdout())
			Expect(res).To(HaveBeenReplayed())
		}
		Expect(player.Check()).To(Succeed())
		Expect(out.String()).To(And(ContainSubstring(" first\n"), ContainSubstring("1|x\n2|y\n"), ContainSubstring("[2,3,4]\n"), ContainSubstring("hello\n")))
		tape, err := cassette.Load(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(tape.Scan()).To(BeEmpty())
		Expect(cassette.LintAt(tape.Marshal(), path)).To(BeEmpty())
	})

	It("that are talked to on a terminal look the same live and replayed", func(ctx context.Context) {
		path := tempFile()
		rec, err := cassette.NewRecorder(path, nil)
		Expect(err).NotTo(HaveOccurred())
		defer rec.Close()
		live, err := shellOnTerminal(ctx, rec, runner.PTY{Cols: 132, Rows: 43})
		Expect(err).NotTo(HaveOccurred())
		Expect(live).To(HaveExited(3))
		Expect(rec.Save()).To(Succeed())
		before := contents(path)

		By("recorded once more, they leave the file as it is")
		Expect(rec.Close()).To(Succeed())
		again, err := cassette.NewRecorder(path, nil)
		Expect(err).NotTo(HaveOccurred())
		defer again.Close()
		_, err = shellOnTerminal(ctx, again, runner.PTY{Cols: 132, Rows: 43})
		Expect(err).NotTo(HaveOccurred())
		Expect(again.Save()).To(Succeed())
		Expect(contents(path)).To(Equal(before))

		GinkgoT().Setenv("PATH", "")
		player := play(path)
		replayed, err := shellOnTerminal(ctx, player, runner.PTY{Cols: 132, Rows: 43})
		Expect(seen(replayed, err)).To(Equal(seen(live, nil)))
		Expect(player.Check()).To(Succeed())
	})

	It("on a terminal are shared, and replay with none here", func(ctx context.Context) {
		path := filepath.Join(libraryRoot, "real", "terminal.cassette")
		larger := runner.PTY{Cols: 132, Rows: 43}
		size := func() *runner.Cmd {
			cmd := terminal(90, 20, "stty", "size")
			cmd.Stdin = runner.StdinString("")
			return cmd
		}
		if os.Getenv("BOOMBOX_REGENERATE") != "" {
			rec, err := cassette.NewRecorder(path, nil)
			Expect(err).NotTo(HaveOccurred())
			defer rec.Close()
			_, err = shellOnTerminal(ctx, rec, larger)
			Expect(err).NotTo(HaveOccurred())
			_, err = runner.Run(ctx, rec, size())
			Expect(err).NotTo(HaveOccurred())
			Expect(rec.Save()).To(Succeed())
			shared(path)
		}
		GinkgoT().Setenv("PATH", "")
		player := play(path)
		res, err := shellOnTerminal(ctx, player, larger)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveExited(3))
		Expect(res).To(HaveStdout("> 30 100\r\n> 43 132\r\n> \x1b[1mbold\x1b[0m\r\n> "))
		Expect(runner.Output(ctx, player, size())).To(Equal("20 90"))
		Expect(player.Check()).To(Succeed())
		tape, err := cassette.Load(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(tape.Scan()).To(BeEmpty())
		Expect(cassette.LintAt(tape.Marshal(), path)).To(BeEmpty())

		By("and notice another size, and that there is no terminal")
		_, err = shellOnTerminal(ctx, play(path), runner.PTY{Cols: 132, Rows: 44})
		Expect(missOf(err).Class).To(Equal(cassette.MissInput))
		_, err = runner.Run(ctx, play(path), runner.Command("stty", "size"))
		Expect(missOf(err).Class).To(Equal(cassette.MissMismatch))
	})

	It("that are talked to by frames are shared, and replay with no program here", func(ctx context.Context) {
		path := filepath.Join(libraryRoot, "real", "framed.cassette")
		frame := func(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }
		server := func() *runner.Cmd {
			cmd := runner.Command("python3", "-c", framedServer)
			cmd.Stdin = runner.StdinPipe()
			return cmd
		}
		one := frame(`{"id":1,"result":"initialize"}`)
		two := one + frame(`{"id":2,"result":"caf\u00e9"}`)
		steps := []step{{frame(`{"id":1,"method":"initialize"}`), one}, {frame(`{"id":2,"method":"café"}`), two}, {frame(`{"id":3,"method":"exit"}`), two}}
		if os.Getenv("BOOMBOX_REGENERATE") != "" {
			rec, err := cassette.NewRecorder(path, nil)
			Expect(err).NotTo(HaveOccurred())
			defer rec.Close()
			res, err := converse(ctx, rec, server(), steps...)
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveSucceeded())
			Expect(rec.Save()).To(Succeed())
			shared(path)
		}
		GinkgoT().Setenv("PATH", "")
		player := play(path)
		res, err := converse(ctx, player, server(), steps...)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveBeenReplayed())
		Expect(player.Check()).To(Succeed())

		By("and notice another question")
		steps[1].write = frame(`{"id":2,"method":"shutdown"}`)
		player = play(path)
		_, err = converse(ctx, player, server(), steps...)
		Expect(missOf(err).Class).To(Equal(cassette.MissInput))
	})
})
