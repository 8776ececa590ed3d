package runnertest

import (
	"fmt"
	"strings"

	"github.com/boombox-go/boombox/runner"
)

// Shell is a command that behaves as b on a system with a POSIX sh in the inherited PATH: for Runners that start
// processes, and for those that record them. A pending one ends by itself after a minute.
func Shell(b Behaviour) *runner.Cmd {
	switch b.StartError {
	case runner.StartNotFound:
		return runner.Command("boombox-no-such-program")
	case runner.StartNotExecutable:
		return runner.Command("/")
	case runner.StartBadDir:
		cmd := runner.Command("sh", "-c", ":")
		cmd.Dir = "/boombox-no-such-directory"
		return cmd
	}
	var script []string
	if len(b.Stdout) > 0 {
		script = append(script, "printf '"+octal(b.Stdout)+"'")
	}
	if len(b.Stderr) > 0 {
		script = append(script, "printf '"+octal(b.Stderr)+"' >&2")
	}
	if b.EchoStdin {
		script = append(script, "cat")
	}
	if len(b.Sizes) > 0 {
		script = append(script, "stty size")
	}
	for _, size := range b.Sizes {
		// A trap of SIGWINCH could come between a look at the size and the wait for it.
		script = append(script, fmt.Sprintf(`until test "$(stty size)" = "%d %d"; do sleep 0.02; done`, size.Rows, size.Cols), "stty size")
	}
	for _, e := range b.Exchanges {
		script = append(script, "read -r line", "printf '"+octal([]byte(e.Answer))+"'")
	}
	if len(b.Exchanges) > 0 {
		script = append(script, "cat >/dev/null")
	}
	switch {
	case b.Pending:
		script = append(script, "exec sleep 60")
	case b.Signal != 0:
		script = append(script, fmt.Sprintf("kill -%d $$", int(b.Signal)))
	default:
		script = append(script, fmt.Sprintf("exit %d", b.Code))
	}
	return runner.Command("sh", "-c", strings.Join(script, "; "))
}

// octal is b as a format of printf that holds no character with a meaning of its own.
func octal(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		fmt.Fprintf(&s, `\%03o`, c)
	}
	return s.String()
}
