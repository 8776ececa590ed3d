package runner_test

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("a client", func() {
	It("adds each call's arguments to its base, which it does not change", func(ctx SpecContext) {
		base := runner.Command("tool", "-C", "dir")
		base.Timeout = time.Hour
		base.Env = runner.CleanEnv().Set("MODE", "test")
		r := fake.New()
		r.On("tool", "-C", "dir", "name").Reply(fake.Lines("boombox"))
		r.On("tool", "-C", "dir", "is-clean").Reply(fake.Exit(1))
		r.On("tool", "-C", "dir", "log").Reply(fake.Lines("one", "two"))
		tool := runner.Client{Runner: r, Base: base}

		Expect(tool.Output(ctx, "name")).To(Equal("boombox"))
		Expect(tool.Probe(ctx, "is-clean")).To(BeFalse())
		res, err := tool.Run(ctx, "is-clean", "-v")
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveExited(1))
		var lines []string
		for line, err := range tool.Lines(ctx, "log") {
			Expect(err).NotTo(HaveOccurred())
			lines = append(lines, line.Text)
		}
		Expect(lines).To(Equal([]string{"one", "two"}))
		Expect(base.Argv()).To(Equal([]string{"tool", "-C", "dir"}))
		for _, cmd := range r.Calls() {
			Expect(cmd.Timeout).To(Equal(time.Hour))
			Expect(cmd.Env.Names()).To(Equal([]string{"MODE"}))
		}
		Expect(tool.Command("x").Env.Reveal()).To(Equal(base.Env.Reveal()), "nothing pierces a clean environment")
		Expect(r.Calls()[2].Argv()).To(Equal([]string{"tool", "-C", "dir", "is-clean", "-v"}))
	})
})

var _ = Describe("Lines", func() {
	It("ends with the error of a run that does not succeed, after all of its lines", func(ctx SpecContext) {
		var lines []string
		var last error
		for line, err := range runner.Lines(ctx, runner.Contained{}, shell("echo one; echo two >&2; exit 3")) {
			if last = err; err == nil {
				lines = append(lines, line.Text)
			}
		}
		Expect(lines).To(ConsistOf("one", "two"))
		Expect(last).To(MatchError(`runner: "sh" exited 3`))
	})

	It("has one error where nothing starts", func(ctx SpecContext) {
		var errs []error
		for _, err := range runner.Lines(ctx, runner.Contained{}, runner.Command("no-such-tool")) {
			errs = append(errs, err)
		}
		Expect(errs).To(HaveLen(1))
		Expect(errs[0]).To(MatchError(runner.ErrNotFound))
	})

	It("leaves nothing of a run whose loop is left early", func(ctx SpecContext) {
		spy := &keeping{Runner: runner.Contained{}}
		for line, err := range runner.Lines(ctx, spy, fixture("sleep")) {
			Expect(err).NotTo(HaveOccurred())
			Expect(line.Text).To(HavePrefix("ready"))
			break
		}
		res, over := spy.last.Result()
		Expect(over).To(BeTrue())
		Expect(res).To(HaveBeenCancelled())
		Expect(res).To(HaveReapedTree())
	})

	It("does not call a cancel a natural end, nor a natural end a cancel", func(ctx SpecContext) {
		run, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		cause := errors.New("enough")
		var last error
		for _, err := range runner.Lines(run, runner.Contained{}, fixture("sleep")) {
			last = err
			cancel(cause)
		}
		Expect(last).To(And(MatchError(runner.ErrCancelled), MatchError(cause)))

		run, late := context.WithCancelCause(ctx)
		defer late(nil)
		for _, err := range runner.Lines(run, replies(fake.Lines("one")), runner.Command("tool")) {
			Expect(err).NotTo(HaveOccurred())
			late(cause)
		}
	})
})

// keeping keeps the last Process that it started.
type keeping struct {
	runner.Runner
	last *runner.Process
}

func (k *keeping) Start(ctx context.Context, cmd *runner.Cmd) (p *runner.Process, err error) {
	k.last, err = k.Runner.Start(ctx, cmd)
	return k.last, err
}

var _ = Describe("JSON", func() {
	type answer struct{ Name string }

	It("decodes what the tool says", func(ctx SpecContext) {
		r := replies(fake.Stdout(`{"name": "boombox"}` + "\n"))
		Expect(runner.JSON[answer](ctx, r, runner.Command("tool"))).To(Equal(answer{"boombox"}))
	})

	DescribeTable("tells where an answer is wrong, and not what it is", func(ctx SpecContext, out string, offset int) {
		v, err := runner.JSON[answer](ctx, replies(fake.Stdout(out)), runner.Command("tool"))
		Expect(v).To(BeZero())
		Expect(err).To(MatchError(runner.ErrDecode))
		Expect(err.Error()).NotTo(ContainSubstring("4711"))
		wrong, ok := errors.AsType[*runner.DecodeError](err)
		Expect(ok).To(BeTrue())
		Expect(wrong.Offset).To(BeEquivalentTo(offset))
	},
		Entry("of the wrong type", `{"name": 4711}`, 13),
		Entry("that is no JSON", `4711x`, 5),
		Entry("that is cut", `{"name": "4711`, 14),
		Entry("that is empty", ``, 0),
	)

	It("is not asked about a run that failed", func(ctx SpecContext) {
		_, err := runner.JSON[answer](ctx, replies(fake.Exit(1)), runner.Command("tool"))
		Expect(err).To(MatchError(runner.ErrUnsuccessful))
	})
})
