package runner_test

import (
	"context"
	"errors"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/runner"
)

// way is how a real child may be started.
type way struct {
	name string
	run  func(ctx context.Context, cmd *runner.Cmd) (*runner.Result, error)
	// shared: in a group that has its own limits.
	shared bool
	// refused are the fields that make no sense there.
	refused []string
}

// alone is the usual way.
var alone = way{name: "alone", run: func(ctx context.Context, cmd *runner.Cmd) (*runner.Result, error) {
	return runner.Run(ctx, runner.Contained{}, cmd)
}}

// ways are the others: in all of them a field does what it does alone.
var ways = []way{
	{name: "in a shared group", shared: true, run: func(ctx context.Context, cmd *runner.Cmd) (*runner.Result, error) {
		g, err := contain.New(contain.Options{Require: contain.Host().Guarantees() & contain.KillTree})
		if err != nil {
			return nil, err
		}
		defer g.Close()
		return runner.Run(ctx, runner.Contained{Group: g}, cmd)
	}},
	{name: "as the first stage of a pipeline", refused: []string{"PTY"}, run: func(ctx context.Context, cmd *runner.Cmd) (*runner.Result, error) {
		return stageOf(ctx, runner.Contained{}, 0, cmd, fixture("cat"))
	}},
	{name: "as the last stage of a pipeline", refused: []string{"Stdin"}, run: func(ctx context.Context, cmd *runner.Cmd) (*runner.Result, error) {
		return stageOf(ctx, runner.Contained{}, 1, fixture("exit"), cmd)
	}},
	{name: "as the last stage of a pipeline through memory", refused: []string{"Stdin"}, run: func(ctx context.Context, cmd *runner.Cmd) (*runner.Result, error) {
		return stageOf(ctx, fake.Spy(runner.Contained{}), 1, fixture("exit"), cmd)
	}},
	{name: "in a batch", run: func(ctx context.Context, cmd *runner.Cmd) (*runner.Result, error) {
		item := runner.Batch{}.Run(ctx, runner.Contained{}, []*runner.Cmd{fixture("exit"), cmd})[1]
		return item.Result, item.Err
	}},
	{name: "under a supervisor", run: func(ctx context.Context, cmd *runner.Cmd) (*runner.Result, error) {
		s, err := runner.Supervisor{Restart: runner.RestartNever}.Start(ctx, runner.Contained{}, cmd)
		if err != nil {
			return nil, err
		}
		return s.Wait(context.WithoutCancel(ctx))
	}},
}

// stageOf runs a pipeline. Of a stage whose output went straight on, the Result is that of the last one.
func stageOf(ctx context.Context, r runner.Runner, stage int, cmds ...*runner.Cmd) (*runner.Result, error) {
	res, err := runner.Pipe(cmds...).Run(ctx, r)
	if res == nil {
		return nil, err
	}
	if own := res.Stages()[stage].Result; own == nil || !own.StdoutPiped() || len(res.Last().Stdout()) == 0 {
		return own, err
	}
	return res.Last(), err
}

var _ = Describe("every field of a Cmd", func() {
	for _, w := range ways {
		for name, r := range rows() {
			It("is enforced "+w.name+", as it is alone, or refused: "+name, func(ctx SpecContext) {
				switch cmd := fixture("exit"); {
				case slices.Contains(w.refused, name):
					r.set(cmd)
					_, err := w.run(ctx, cmd)
					invalid, ok := errors.AsType[*runner.InvalidError](err)
					Expect(ok).To(BeTrue())
					Expect(invalid.Field).To(Equal(name))
				case lackingNow(name):
					r.set(cmd)
					_, err := w.run(ctx, cmd)
					Expect(err).To(beUnsupported(name))
				default:
					r.shown(ctx, w, r.set)
				}
			})
		}
	}
})
