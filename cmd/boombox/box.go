package main

import (
	"strings"
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
	User         userGroup   `placeholder:"UID:GID" help:"Run as this user and group."`
	Require      guarantees  `placeholder:"GUARANTEE,..." help:"Refuse to start unless this host guarantees all of these (see doctor)."`
	Untrusted    bool        `help:"Refuse to start unless every protection for a program of unknown origin is in force."`
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
	cmd := f.command(argv)
	if err := f.unsupported(); err != nil {
		return nil, nil, out.end(err, notStarted(cmd.Limits))
	}
	return cmd, out, nil
}

// command makes the runner's command of the flags and argv.
func (f *boxFlags) command(argv []string) *runner.Cmd {
	cmd := runner.Command(argv[0], argv[1:]...)
	cmd.Dir = string(f.Dir)
	cmd.Env = f.environment()
	cmd.Timeout = time.Duration(f.Timeout)
	cmd.Grace = time.Duration(f.Grace)
	cmd.IdleTimeout = time.Duration(f.IdleTimeout)
	cmd.Require = contain.Guarantee(f.Require)
	cmd.Limits = contain.Limits{Memory: int64(f.MaxMemory), Processes: int(f.MaxProcesses), CPU: float64(f.CPU)}
	cmd.Output = runner.Both(runner.Stream{Policy: runner.Discard})
	if f.MaxOutput > 0 {
		cmd.Output = runner.Both(runner.Stream{Policy: runner.Fail, MaxBytes: int64(f.MaxOutput)})
	}
	return cmd
}

func (f *boxFlags) environment() runner.Env {
	env := runner.InheritEnv()
	switch {
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

// unsupported refuses the flags that this version cannot honour yet.
func (f *boxFlags) unsupported() error {
	if f.User.set {
		return refused("--user cannot be honoured: running as another user is not built yet; use setpriv or su around boombox")
	}
	if f.Untrusted {
		return untrusted(contain.Host())
	}
	return nil
}

// untrustedNeeds is what --untrusted promises of the group; the rest of it, not built yet, is told by untrusted.
const untrustedNeeds = contain.KillTree | contain.KillOnOwnerDeath | contain.CapMemory | contain.CapProcesses | contain.CapCPU

// untrusted refuses --untrusted, naming everything that is missing.
func untrusted(host contain.HostReport) error {
	missing := untrustedNeeds
	if best, ok := host.Best(); ok {
		missing &^= best.Guarantees
	}
	lacks := append(missing.Names(), "no-new-privileges", "no-core-dumps")
	return refused("--untrusted is refused, never weakened: missing here are %s (see boombox doctor)",
		strings.Join(lacks, ", "))
}

// wanted lists the caps that the flags ask for, as a report shows them before anything is known of them.
func wanted(l contain.Limits) []limitReport {
	caps := []limitReport{}
	add := func(kind contain.LimitKind, max float64) {
		if max > 0 {
			caps = append(caps, limitReport{Kind: string(kind), Max: max, Tripped: "unknown"})
		}
	}
	add(contain.LimitMemory, float64(l.Memory))
	add(contain.LimitProcesses, float64(l.Processes))
	add(contain.LimitCPU, l.CPU)
	return caps
}
