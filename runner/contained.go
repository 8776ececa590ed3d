package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"time"

	"github.com/boombox-go/boombox/contain"
)

// Contained is the real [Runner]: it starts processes, each in a tree of its own that does not outlive its run. The
// zero value is ready to use. It is safe for concurrent use.
type Contained struct {
	// Group is where the trees live. By default each run has a private group, made with the command's Limits and
	// guarantees, which is closed with the run. A shared group has its own limits, fixed when it was made: a command
	// with Limits is refused there, and so is one that requires what the group does not guarantee. The group belongs to
	// the caller; a run that is still alive when it is closed ends as Signalled.
	Group *contain.Group
	// Require are guarantees without which any start is refused, beyond those of each command.
	Require contain.Guarantee
}

// Start starts cmd. What cannot be had is refused before anything starts: an [*UnsupportedError], which names the field, a
// [*contain.UnsupportedError], a [*contain.LimitError] or [contain.ErrClosed]. A command that cannot be started is a [*StartError], one that makes no
// sense an [*InvalidError], and a ctx that ends before the child is there a [*CancelError]. Whatever the error is,
// nothing is left, and a reader given as input is not used up.
func (c Contained) Start(ctx context.Context, cmd *Cmd) (*Process, error) {
	return c.startLinked(ctx, cmd, nil, nil)
}

// startLinked is Start with descriptors in place of what the command says of its input, and of the pipe that we read its
// standard output from. The caller keeps and closes them.
func (c Contained) startLinked(ctx context.Context, cmd *Cmd, stdin, stdout *os.File) (*Process, error) {
	if ctx.Err() != nil {
		return nil, NotStarted(ctx, cmd)
	}
	if err := cmd.Validate(); err != nil {
		return nil, err
	}
	l := launch{cmd: cmd, group: c.Group, linkIn: stdin, linkOut: stdout}
	p, err := l.start(ctx, c.Require)
	if err == nil {
		return p, nil
	}
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		err = NotStarted(ctx, cmd)
	}
	if left := l.undo(); left != nil {
		err = fmt.Errorf("%w; and its group could not be closed: %w", err, left)
	}
	return nil, err
}

// launch is one start. Whatever it opens is in it, so that undo finds it.
type launch struct {
	cmd     *Cmd
	group   *contain.Group
	private *contain.Group
	source  *stdinSource
	in      *feeder
	// stdin is our end of an interactive input.
	stdin   io.WriteCloser
	outputs [2]*pipeReader
	// linkIn and linkOut lead to other stages of a pipeline; nil for none.
	linkIn, linkOut *os.File
	// given are the child's ends of the pipes, and its input file.
	given []*os.File
	// files are those that the output goes to.
	files outputFiles
}

func (l *launch) start(ctx context.Context, require contain.Guarantee) (*Process, error) {
	spec, err := l.cmd.spec()
	if err != nil {
		return nil, err
	}
	if err := l.admit(require | l.cmd.Require); err != nil {
		return nil, err
	}
	if err := l.wire(&spec); err != nil {
		return nil, err
	}
	// Last, so that a start that fails earlier leaves no new file.
	if l.files, err = openFiles(l.cmd); err != nil {
		return nil, err
	}
	// The child may have run for a while when Start returns; the command's deadlines count that too.
	started := time.Now()
	child, err := l.group.Start(ctx, spec)
	if err != nil {
		return nil, l.refused(err, spec.Path)
	}
	l.letGo()
	if l.in != nil {
		l.in.start()
	}
	files := l.files
	l.files = outputFiles{}
	return attach(l.cmd, &realBackend{
		child: child, group: l.group, private: l.private, in: l.in, stdin: l.stdin, outputs: l.outputs,
		piped: l.linkOut != nil,
	}, started, files), nil
}

// admit finds the group, or refuses.
func (l *launch) admit(require contain.Guarantee) (err error) {
	limits := l.cmd.Limits
	if l.group == nil {
		l.private, err = contain.New(contain.Options{Require: require, Limits: limits, Lifetime: l.cmd.lifetime()})
		l.group = l.private
		return err
	}
	if missing := require &^ l.group.Guarantees(); missing != 0 {
		return &contain.UnsupportedError{Missing: missing, Best: l.group.Mechanism()}
	}
	if limits.IsZero() {
		return nil
	}
	return limitsElsewhere(limits, sharedLimits, sharedHint)
}

// lifetime is after how long nothing of the run may be left, whatever has become of us; 0 where no Timeout bounds it.
func (c *Cmd) lifetime() time.Duration {
	if c.Timeout <= 0 || c.Timeout+c.Grace > math.MaxInt64-lastResort || c.Timeout+c.Grace < 0 {
		return 0
	}
	return c.Timeout + c.Grace + lastResort
}

// lastResort is what a run has beyond its time until somebody else may end it: more than any teardown takes, and than a
// program is usually stopped for, by a debugger say.
const lastResort = 10 * time.Minute

// wire makes the pipes and opens the input.
func (l *launch) wire(spec *contain.Spec) (err error) {
	for id := range l.outputs {
		if l.cmd.PTY != nil && id == int(Stdout) {
			continue
		}
		var w *os.File
		if l.outputs[id], w, err = newOutput(); err != nil {
			return l.failed(StartOther, err)
		}
		l.given = append(l.given, w)
	}
	if l.cmd.PTY != nil {
		return l.wireTerminal(spec) // and what we read as standard error ends at once
	}
	spec.Stdout, spec.Stderr = l.given[Stdout], l.given[Stderr]
	if l.linkOut != nil {
		spec.Stdout = l.linkOut // what we read ends at once
	}
	if l.cmd.Output.Merge {
		spec.Stderr = spec.Stdout
	}
	if l.linkIn != nil {
		spec.Stdin = l.linkIn
		return nil
	}
	src := l.cmd.Stdin.source()
	if !src.claim() {
		return l.cmd.invalid("Stdin", "its reader was used before")
	}
	l.source = src
	switch src.kind {
	case StdinInherit:
		spec.Stdin = os.Stdin
	case StdinFile:
		if spec.Stdin, err = os.Open(src.path); err != nil {
			return l.failed(StartBadStdin, err)
		}
		l.given = append(l.given, spec.Stdin)
	case StdinInteractive:
		ours, childs, err := pipe(false)
		if err != nil {
			return l.failed(StartOther, err)
		}
		l.stdin, spec.Stdin = ours, childs
		l.given = append(l.given, childs)
	case StdinBytes, StdinReader:
		if spec.Stdin, l.in, err = newFeeder(src); err != nil {
			return l.failed(StartOther, err)
		}
		l.given = append(l.given, spec.Stdin)
	}
	return nil
}

// refused turns contain's account of a failed start into ours.
func (l *launch) refused(err error, path string) error {
	var step *contain.StartError
	if !errors.As(err, &step) {
		return err
	}
	switch step.Step {
	case contain.StepDir:
		return l.failed(StartBadDir, step.Err)
	case contain.StepExec:
		if _, missing := os.Stat(path); missing == nil && errors.Is(step.Err, fs.ErrNotExist) {
			return l.failed(StartNotExecutable, errInterpreter)
		}
		return l.failed(programKind(step.Err), step.Err)
	default:
		return l.failed(StartOther, step)
	}
}

func (l *launch) failed(kind StartKind, err error) error { return l.cmd.failed(kind, err) }

// letGo closes what the child has by now.
func (l *launch) letGo() {
	for _, f := range l.given {
		_ = f.Close()
	}
	l.given = nil
}

// undo closes everything. No child was started, and nothing of the input was taken.
func (l *launch) undo() error {
	l.letGo()
	l.files.undo()
	for _, r := range l.outputs {
		if r != nil {
			_ = r.Close()
		}
	}
	if l.in != nil {
		l.in.stop()
	}
	if l.stdin != nil {
		_ = l.stdin.Close()
	}
	if l.source != nil {
		l.source.release()
	}
	if l.private == nil {
		return nil
	}
	return l.private.Close()
}
