package cassette

import (
	"bytes"

	"github.com/boombox-go/boombox/runner"
)

// Commands are the runs as commands that can be run again, with live values for tokens: [WithToken] and [WithPaths] apply. An entry is
// nil where that cannot be done, since a secret was redacted in the command itself. One whose input is interactive, or whose terminal was resized,
// wants to be talked to: by [Tape.Converse]. A run that timed out has its deadline again; of the
// environment nothing is known but names, and the input that was the caller's own is closed.
func (t *Tape) Commands(opts ...Option) ([]*runner.Cmd, error) {
	o, err := gather(opts)
	if err != nil {
		return nil, err
	}
	p := t.state()
	words, err := bind(p.tokens, o.values)
	if err != nil {
		return nil, err
	}
	list := make([]*runner.Cmd, len(p.runs))
	for i := range p.runs {
		list[i] = p.runs[i].command(words)
	}
	return list, nil
}

func (r *runText) command(words translator) *runner.Cmd {
	argv, dir, stdin := r.argv(), r.dir(), r.stream(secIn)
	hidden := func(s []byte) bool { return r.masked && bytes.Contains(s, []byte(placeholderStart)) }
	for i, arg := range argv {
		if hidden([]byte(arg)) {
			return nil
		}
		argv[i] = string(words.toLive([]byte(arg), nil))
	}
	if hidden([]byte(dir)) || hidden(stdin) {
		return nil
	}
	cmd := runner.Command(argv[0], argv[1:]...)
	if r.pty != noPTY {
		size := r.pty
		cmd.PTY = &size
	}
	cmd.Dir = string(words.toLive([]byte(dir), nil))
	switch {
	case r.interactive:
		cmd.Stdin = runner.StdinPipe()
	case len(stdin) > 0:
		cmd.Stdin = runner.StdinOf(words.toLive(stdin, nil))
	}
	switch r.end.outcome {
	case runner.TimedOut:
		cmd.Timeout = r.end.limit
	case runner.IdleTimedOut:
		cmd.IdleTimeout = r.end.limit
	}
	return cmd
}
