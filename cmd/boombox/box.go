package main

import (
	"time"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/runner"
)

// boxFlags are the flags of run and record. None is ever ignored: what cannot be honoured is refused.
type boxFlags struct {
	Timeout      positive    `placeholder:"DURATION" help:"Kill the whole tree after this long, such as 30s (status 124)."`
	Grace        positive    `placeholder:"DURATION" help:"Ask with SIGTERM this long before a kill. By default the kill comes at once."`
	IdleTimeout  positive    `placeholder:"DURATION" help:"Kill the whole tree when it writes nothing for this long (status 123)."`
	MaxMemory    size        `placeholder:"SIZE" help:"Cap the memory of the whole tree, such as 512MiB."`
	MaxProcesses count       `placeholder:"N" help:"Cap the processes of the whole tree."`
	CPU          cores       `name:"cpu" placeholder:"CORES" help:"Cap the processor time of the whole tree, such as 1.5 cores."`
	MaxOutput    size        `placeholder:"SIZE" help:"End the run when one stream writes more, such as 8MiB (status 125)."`
	EnvClear     bool        `help:"Start with an empty environment."`
	InheritEnv   names       `placeholder:"NAME" help:"Start with an empty environment, but keep NAME. Can be repeated."`
	Env          assignments `placeholder:"KEY=VALUE" help:"Set one variable. Can be repeated."`
	Dir          text        `placeholder:"DIR" help:"Run in this directory."`
	User         userGroup   `placeholder:"UID:GID" help:"Run as this user and group, in no other group. It takes root."`
	Require      guarantees  `placeholder:"GUARANTEE,..." help:"Refuse to start unless this host guarantees all of these (see doctor)."`
	Untrusted    bool        `help:"For a program of unknown origin: empty environment but for PATH, 30s, 8MiB of output, 512MiB, 64 processes, one core, no new privileges, no core dumps, nothing left even if we are killed; or no start."`
	Report       text        `placeholder:"FILE" help:"Write a JSON report of the run to FILE, or - for standard error."`
}

// prepare makes the command of the flags and words, and opens the report. Whatever the flags rule out is refused here.
func (f *boxFlags) prepare(words command) (*runner.Cmd, *reportFile, error) {
	argv, err := words.argv()
	if err != nil {
		return nil, nil, err
	}
	out, err := openReport(string(f.Report))
	if err != nil {
		return nil, nil, err
	}
	return f.command(argv), out, nil
}

// command makes the runner's command of the flags and argv. What --untrusted sets, the other flags change.
func (f *boxFlags) command(argv []string) *runner.Cmd {
	cmd := runner.Command(argv[0], argv[1:]...)
	cmd.Output = runner.Both(runner.Stream{Policy: runner.Discard})
	if f.Untrusted {
		cmd = runner.Untrusted(argv[0], argv[1:]...)
	}
	cmd.Dir = string(f.Dir)
	cmd.Credential = f.User.Credential
	cmd.Env = f.environment()
	cmd.Grace = time.Duration(f.Grace)
	cmd.IdleTimeout = time.Duration(f.IdleTimeout)
	cmd.Require |= contain.Guarantee(f.Require) | outliving()
	if f.Timeout > 0 {
		cmd.Timeout = time.Duration(f.Timeout)
	}
	if f.MaxMemory > 0 {
		cmd.Limits.Memory = int64(f.MaxMemory)
	}
	if f.MaxProcesses > 0 {
		cmd.Limits.Processes = int(f.MaxProcesses)
	}
	if f.CPU > 0 {
		cmd.Limits.CPU = float64(f.CPU)
	}
	if f.MaxOutput > 0 {
		cmd.Output = runner.Both(runner.Stream{Policy: runner.Fail, MaxBytes: int64(f.MaxOutput)})
	}
	return cmd
}

// outliving is what keeps the tree from outliving a boombox that is killed, where the host has it. It is asked for, so that
// no program starts before it holds: a group that does not ask gets its warden a moment later.
func outliving() contain.Guarantee { return contain.Host().Guarantees() & contain.KillOnOwnerDeath }

func (f *boxFlags) environment() runner.Env {
	env := runner.InheritEnv()
	switch {
	case f.Untrusted && !f.EnvClear:
		env = runner.AllowEnv(append([]string{"PATH"}, f.InheritEnv...)...)
	case len(f.InheritEnv) > 0:
		env = runner.AllowEnv(f.InheritEnv...)
	case f.EnvClear:
		env = runner.CleanEnv()
	}
	for _, kv := range f.Env {
		env = env.Set(kv[0], kv[1])
	}
	return env
}

// wanted lists the caps that the flags ask for, as a report shows them before anything is known of them.
func wanted(l contain.Limits) []limitReport {
	list := []limitReport{}
	for _, kind := range []contain.LimitKind{contain.LimitMemory, contain.LimitProcesses, contain.LimitCPU} {
		if most := l.Of(kind); most > 0 {
			list = append(list, limitReport{Kind: string(kind), Max: most, Tripped: contain.TripUnknown.String()})
		}
	}
	return list
}
