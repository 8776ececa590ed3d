package runner

import (
	"context"
	"strings"
	"syscall"
	"time"
	"unicode"
)

// Pipeline runs commands side by side, each reading what the one before writes, without a shell. Make it with [Pipe].
//
//	p := runner.Pipe(runner.Command("git", "log"), runner.Command("grep", "fix"), runner.Command("wc", "-l"))
//	p.Stages[1].Unchecked = true // to find nothing is no failure
//	count, err := p.Output(ctx, runner.Contained{})
//
// Each stage is a command like any other: it has its own tree, Timeout, Limits and standard error. Between two stages of
// the real runner the bytes go through a pipe of the system, unseen: what a stage passes on is neither captured nor
// counted ([Result.StdoutPiped]). Where somebody asks to see it, by the stage's Output.Stdout or its IdleTimeout, and
// with every other Runner, they go through memory, a chunk at a time, with the same results: a recorder records each
// stage, and a player answers each. It reads the whole input of a stage before it starts that, so a recording takes a
// first stage that ends.
//
// All stages are started, in order, and the pipeline is over when all are. It is cut short by the first checked stage
// that fails: whoever writes to it is ended, as by its next write, with SIGPIPE; whoever reads from it finds the end of
// its input and has a second to deal with what it has got; then all that is left is killed.
//
// A Runner without processes must read a [StdinStream] to its end, as package fake does. A recorder does so too: it refuses
// a stage whose input has no end.
type Pipeline struct {
	// Stages are the commands, the first writer first. A later one has no Stdin of its own.
	Stages []Stage
	// Timeout ends all stages that run still when it runs out, counted from the start, as their own Timeout would. 0 means
	// none; a negative value is refused.
	Timeout time.Duration
}

// Stage is one command of a [Pipeline].
type Stage struct {
	Cmd *Cmd
	// Unchecked forgives the stage any exit code, and an end by SIGPIPE. A start that fails, a timeout, an overflow and
	// any other signal fail the pipeline all the same.
	Unchecked bool
}

// Pipe is the pipeline of cmds, each of them checked.
func Pipe(cmds ...*Cmd) *Pipeline {
	p := &Pipeline{}
	for _, cmd := range cmds {
		p.Stages = append(p.Stages, Stage{Cmd: cmd})
	}
	return p
}

// Run runs the pipeline. As with [Run], exit codes, signals and timeouts are data, which [PipelineResult.Check] judges.
// err is a [*PipelineError] when a stage could not be started or its tree not be ended, and a [*CancelError] when ctx
// ended first; the result says what the stages had come to. It is nil only if nothing was tried.
func (p *Pipeline) Run(ctx context.Context, r Runner) (*PipelineResult, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, NotStarted(ctx, p.Stages[0].Cmd)
	}
	return newPipelineRun(p, r).run(ctx)
}

// Output runs the pipeline, requires that it succeeded and that nothing of the last stage's standard output was dropped,
// and returns that output without trailing white space.
func (p *Pipeline) Output(ctx context.Context, r Runner) (string, error) {
	res, err := p.Run(ctx, r)
	if err != nil {
		return "", err
	}
	if err := res.Check(); err != nil {
		return "", err
	}
	last := res.Last()
	if last.StdoutTruncated() {
		return "", res.blame(len(p.Stages)-1, &ExitError{result: last, truncated: true})
	}
	return strings.TrimRightFunc(string(last.Stdout()), unicode.IsSpace), nil
}

func (p *Pipeline) validate() error {
	if len(p.Stages) == 0 {
		return &InvalidError{Field: "Pipeline.Stages", Reason: "there are none"}
	}
	for i, s := range p.Stages {
		switch {
		case s.Cmd == nil:
			return &InvalidError{Field: "Pipeline.Stages", Reason: "one has no command"}
		case i > 0 && s.Cmd.Stdin.Kind() != StdinClosed:
			return s.Cmd.invalid("Stdin", "it reads what the stage before it writes")
		case i < len(p.Stages)-1 && s.Cmd.PTY != nil:
			return s.Cmd.invalid("PTY", "only the last stage of a pipeline can have a terminal")
		}
		if err := s.Cmd.Validate(); err != nil {
			return err
		}
	}
	if p.Timeout < 0 {
		return p.Stages[0].Cmd.invalid("Pipeline.Timeout", "it is negative")
	}
	return nil
}

// flushPatience is how long the other stages have, when one has failed, to deal with what reached them.
const flushPatience = time.Second

// pipelineRun is one run of a pipeline. Its loop alone touches it; what happens elsewhere comes as an event.
type pipelineRun struct {
	runner Runner
	began  time.Time
	limit  time.Duration
	stages []stageRun
	events chan pipelineEvent
	// asked is how many stages were asked to start, open how many of those are not over.
	asked, open int
	// stopped is set when no further stage is to be started. end is what is then done to each that runs, nil as long as
	// they may end by themselves.
	stopped bool
	end     func(*Process)
	// flush ends the patience with those that run on after a failure.
	flush <-chan time.Time
	// starts is what the starts are bounded by.
	starts context.Context
	stop   context.CancelCauseFunc
}

type stageRun struct {
	StageResult
	cmd     *Cmd
	process *Process
	// in and out lead from the stage before, and to the one after; nil at the ends.
	in, out *link
}

type pipelineEvent struct {
	stage int
	what  stageEvent
	// process and err are what a start gave.
	process *Process
	err     error
}

type stageEvent int

const (
	stageStarted stageEvent = iota
	// stageWrites: the stage writes although its start has not returned. The next one has to read.
	stageWrites
	stageSettled
	// stageUnread: the stage writes, and its reader is gone.
	stageUnread
)

func newPipelineRun(p *Pipeline, r Runner) *pipelineRun {
	run := &pipelineRun{
		runner: r, limit: p.Timeout, stages: make([]stageRun, len(p.Stages)),
		// Each stage sends each kind of event once, and nobody is there to take the last ones.
		events: make(chan pipelineEvent, 4*len(p.Stages)),
	}
	for i, s := range p.Stages {
		run.stages[i].cmd = s.Cmd
		run.stages[i].StageResult = StageResult{Program: s.Cmd.Program(), Unchecked: s.Unchecked}
	}
	return run
}

func (run *pipelineRun) run(ctx context.Context) (*PipelineResult, error) {
	run.began = time.Now()
	run.starts, run.stop = context.WithCancelCause(ctx)
	defer run.stop(nil)
	var deadline <-chan time.Time
	if run.limit > 0 {
		timer := time.NewTimer(run.limit)
		defer timer.Stop()
		deadline = timer.C
	}
	done := ctx.Done()
	run.ask()
	for run.open > 0 {
		select {
		case e := <-run.events:
			run.handle(e)
		case <-done:
			done = nil
			run.endAll(func(p *Process) { p.Cancel(context.Cause(ctx)) })
		case <-deadline:
			run.endAll(func(p *Process) { p.expire() })
		case <-run.flush:
			run.endAll(func(p *Process) { _ = p.Kill() })
		}
	}
	for i := range run.stages {
		if out := run.stages[i].out; out != nil {
			out.close()
		}
	}
	return run.result(ctx)
}

// ask asks the next stage to start.
func (run *pipelineRun) ask() {
	i := run.asked
	run.asked++
	run.open++
	s := &run.stages[i]
	var err error
	if i+1 < len(run.stages) {
		next := &run.stages[i+1]
		s.out, err = newLink(run.runner, s.cmd, next.cmd, func(what stageEvent) { run.events <- pipelineEvent{stage: i, what: what} })
		next.in = s.out
	}
	if err != nil {
		err = &StartError{Program: s.Program, Kind: StartOther, Err: bare(err)}
		run.events <- pipelineEvent{stage: i, what: stageStarted, err: err}
		return
	}
	go func() {
		p, err := startLinked(run.starts, run.runner, s.cmd, s.in, s.out)
		run.events <- pipelineEvent{stage: i, what: stageStarted, process: p, err: err}
	}()
}

func (run *pipelineRun) handle(e pipelineEvent) {
	s := &run.stages[e.stage]
	switch e.what {
	case stageStarted:
		if e.err != nil {
			s.Err = e.err
			run.over(e.stage)
			run.fail(e.stage)
			return
		}
		s.process = e.process
		_ = s.process.Stdin().Close() // nobody else can
		go func() {
			<-e.process.Settled()
			run.events <- pipelineEvent{stage: e.stage, what: stageSettled}
		}()
		switch {
		case run.end != nil:
			run.endStage(s)
		case run.stopped:
			run.breakUpTo(e.stage + 1)
		}
		run.askAfter(e.stage)
	case stageWrites:
		run.askAfter(e.stage)
	case stageUnread:
		if s.live() && run.end == nil {
			s.hangUp()
		}
	case stageSettled:
		s.Result, _ = s.process.Result()
		s.Err = s.Result.failure()
		run.over(e.stage)
	}
	// A failure cuts the pipeline short when all stages had their chance, or what is started would depend on who was faster.
	if run.asked < len(run.stages) || run.stopped {
		return
	}
	for i := range run.stages {
		if s := &run.stages[i]; s.process == nil && s.Err == nil {
			return
		}
	}
	for i := range run.stages {
		s := &run.stages[i]
		switch {
		case s.Result == nil || !s.failed():
		case s.victim():
			run.breakUpTo(i) // and whoever did not read has more to say
		default:
			run.fail(i)
			return
		}
	}
}

// askAfter asks for the stage after i, unless that was done.
func (run *pipelineRun) askAfter(i int) {
	if i == run.asked-1 && run.asked < len(run.stages) && !run.stopped {
		run.ask()
	}
}

// over closes the links of a stage that has ended or never began.
func (run *pipelineRun) over(i int) {
	run.open--
	s := &run.stages[i]
	if s.out != nil {
		s.out.closeWrite()
	}
	if s.in == nil {
		return
	}
	if s.process != nil {
		if _, real := s.process.PID(); !real {
			return // the double reads on
		}
	}
	s.in.closeRead()
}

// fail cuts the pipeline short because stage i has failed.
func (run *pipelineRun) fail(i int) {
	if run.stopped {
		return
	}
	run.stopped = true
	run.breakUpTo(i)
	run.flush = time.After(flushPatience)
}

// breakUpTo ends the stages before i: what they write can reach nobody. One that has ended by itself, though we have not
// been told yet, is not torn down: a stage that ended because of it may be heard of first.
func (run *pipelineRun) breakUpTo(i int) {
	for j := range run.stages[:i] {
		if s := &run.stages[j]; s.live() && !s.TornDown && !s.process.ended() {
			s.TornDown = true
			s.breakPipe()
		}
	}
}

// endAll ends what is left, and starts no more.
func (run *pipelineRun) endAll(end func(*Process)) {
	run.stopped, run.end = true, end
	run.stop(errCutShort)
	for i := range run.stages {
		s := &run.stages[i]
		if s.live() {
			run.endStage(s)
		} else if s.process == nil && s.in != nil {
			s.in.closeRead() // who writes must not wait for a start that does not come
		}
	}
}

func (run *pipelineRun) endStage(s *stageRun) {
	s.TornDown = s.TornDown || run.flush != nil && !s.process.ended()
	run.end(s.process)
}

func (s *stageRun) live() bool { return s.process != nil && s.Result == nil }

// breakPipe does to the stage what the system does to a process that writes to a pipe which nobody reads, before it
// writes.
func (s *stageRun) breakPipe() {
	if err := s.process.Signal(syscall.SIGPIPE); err != nil {
		_ = s.process.Kill()
	}
}

// hangUp lets the stage find out by itself that nobody reads what it writes: not every program is ended by a SIGPIPE that
// somebody sends, those written in Go are not. A double cannot find out.
func (s *stageRun) hangUp() {
	if _, real := s.process.PID(); !real {
		s.breakPipe()
	} else if s.process.live != nil {
		_ = s.process.live().pumps[Stdout].reader.Close()
	}
}

// ended reports whether the child has ended, whoever knows of it yet.
func (p *Process) ended() bool {
	if p.live == nil {
		return true
	}
	_, ended := p.live().backend.Poll()
	return ended
}

// expire ends the run as if its own Timeout had run out.
func (p *Process) expire() {
	if p.live != nil {
		p.live().end(TimedOut, nil)
	}
}
