package runner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/boombox-go/boombox/contain"
)

// Resolve is the file that a start of cmd would execute now, and nothing is started: the error is the one with which
// [Contained] would refuse it, an [*InvalidError], an [*UnsupportedError] or a [*StartError]. Guarantees, limits and input
// are not looked at.
//
// The program is chosen, and Dir looked into, as whom we are, whoever [Cmd.Credential] is: what that user may execute the
// kernel alone knows, who has more to go by than the mode of a file. A start as a user who may not execute what was chosen
// is refused, with [StartNotExecutable] or [StartBadDir]; the lookup does not go on for another program.
func Resolve(cmd *Cmd) (path string, err error) {
	if err := cmd.Validate(); err != nil {
		return "", err
	}
	spec, err := cmd.spec()
	return spec.Path, err
}

// LookPath is the file that name stands for in env, as [Command] finds it: a name without a path separator is looked up
// in env's own PATH, absolute entries only. The error is a [*StartError] of kind [StartNotFound] or [StartNotExecutable].
func LookPath(env Env, name string) (path string, err error) {
	cmd := Command(name)
	cmd.Env = env
	return Resolve(cmd)
}

// spec is the command as package contain takes it, but for the standard streams: or why it cannot be started.
func (c *Cmd) spec() (contain.Spec, error) {
	if c.StopSignal != 0 && !canAskToEnd {
		return contain.Spec{}, &UnsupportedError{Program: c.program, Field: "StopSignal", Reason: "no signal asks a process to end here"}
	}
	env := c.Env.resolve()
	spec := contain.Spec{
		Argv: c.argv, Env: env.seal(), Dir: c.Dir, Files: c.Files,
		NewSession: c.NewSession, NoNewPrivileges: c.NoNewPrivileges, NoCoreDumps: c.NoCoreDumps,
		Credential: c.Credential, Umask: c.Umask, Rlimits: c.Rlimits, Nice: c.Nice, IOPriority: c.IOPriority,
		CPUAffinity: c.CPUAffinity, OOMScoreAdj: c.OOMScoreAdj, Terminal: c.PTY != nil,
	}
	argv := c.argv.Reveal()
	if name := c.Arg0.Reveal(); len(name) > 0 {
		spec.Argv = contain.Seal(append(name, argv[1:]...)...)
	}
	if lack := spec.Unsupported(); lack != nil {
		if lack.Field == "Terminal" {
			lack.Field = "PTY"
		}
		return contain.Spec{}, &UnsupportedError{Program: c.program, Field: lack.Field, Reason: lack.Reason}
	}
	if err := checkDir(c.Dir); err != nil {
		return contain.Spec{}, c.failed(StartBadDir, err)
	}
	var err error
	if spec.Path, err = resolveProgram(argv[0], env); err != nil {
		return contain.Spec{}, c.failed(programKind(err), err)
	}
	return spec, nil
}

func (c *Cmd) failed(kind StartKind, err error) error {
	return &StartError{Program: c.Program(), Kind: kind, Err: bare(err)}
}

// checkDir reports why dir cannot be a working directory. Without it, the system blames the program.
func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return syscall.ENOTDIR
	}
	return searchable(dir)
}

// resolveProgram finds the file to execute. The name is looked up in the PATH of env, absolute entries alone: what a
// relative one, or an empty one, means depends on where we stand, and never on what the command asked for. A file in
// PATH that cannot be executed is passed over, and is the answer only if nothing better comes. A directory that we may
// not look into says nothing about the program.
func resolveProgram(name string, env envList) (string, error) {
	if hasSeparator(name) {
		path, err := filepath.Abs(name)
		if err != nil {
			return "", err
		}
		return executable(path, env)
	}
	missing := errNotFound
	for _, dir := range filepath.SplitList(env.lookup("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path, err := executable(filepath.Join(dir, name), env)
		switch {
		case err == nil:
			return path, nil
		case path != "" && errors.Is(err, syscall.EACCES):
			missing = err
		}
	}
	return "", missing
}

var errNotFound = errors.New("not in the PATH of its environment")

// programKind sorts the reasons why a program cannot be executed.
func programKind(err error) StartKind {
	switch {
	case errors.Is(err, errNotFound), errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return StartNotFound
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOEXEC), errors.Is(err, syscall.EISDIR):
		return StartNotExecutable
	default:
		return StartOther
	}
}

// errInterpreter is what ENOENT means for a program that is there: the interpreter or loader that it names is not.
var errInterpreter = errors.New("the interpreter that it names is missing")
