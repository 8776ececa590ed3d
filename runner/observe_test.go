package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/runner"
)

// watcher keeps what it observes.
type watcher struct {
	mu   sync.Mutex
	seen []runner.Observation
}

func (w *watcher) Observe(seen runner.Observation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, seen)
}

// kinds is what was observed, and forgets it.
func (w *watcher) kinds() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var kinds []string
	for _, seen := range w.seen {
		kinds = append(kinds, seen.Kind.String())
	}
	w.seen = nil
	return kinds
}

var _ = Describe("an observer", func() {
	It("is told of a real run before anybody sees that it is settled", func(ctx SpecContext) {
		w := &watcher{}
		res, err := runner.Run(ctx, runner.Observed(runner.Contained{}, w), shell("echo out; echo error >&2; exit 3"))
		Expect(err).NotTo(HaveOccurred())
		Expect(w.seen).To(HaveLen(2))
		started, settled := w.seen[0], w.seen[1]
		Expect(started.Kind).To(Equal(runner.ObservedStart))
		Expect(started.PID).To(BeNumerically(">", 1))
		Expect(settled.Kind).To(Equal(runner.ObservedEnd))
		Expect(settled.PID).To(Equal(started.PID))
		Expect(settled.Run).To(Equal(started.Run))
		Expect(settled.Program).To(Equal("sh"))
		Expect(settled.Outcome).To(Equal(runner.Exited(3)))
		Expect(settled.Duration).To(Equal(res.Duration()))
		Expect(settled.StdoutBytes).To(BeEquivalentTo(4))
		Expect(settled.StderrBytes).To(BeEquivalentTo(6))
		Expect(settled.Mechanism).To(Equal(res.Teardown().Mechanism))
	})

	It("is told that a run was killed, and why", func(ctx SpecContext) {
		w := &watcher{}
		cmd := fixture("sleep")
		cmd.Timeout = 50 * time.Millisecond
		_, err := runner.Run(ctx, runner.Observed(runner.Contained{}, w), cmd)
		Expect(err).NotTo(HaveOccurred())
		Expect(w.seen[1].Outcome).To(Equal(runner.TimedOut))
		Expect(w.kinds()).To(Equal([]string{"started", "killed", "settled"}))
	})

	DescribeTable("is told of a refusal in a word", func(ctx context.Context, cmd *runner.Cmd, word string) {
		w := &watcher{}
		_, err := runner.Run(ctx, runner.Observed(runner.Contained{}, w), cmd)
		Expect(err).To(HaveOccurred())
		Expect(w.seen).To(HaveLen(1))
		Expect(w.seen[0].Refusal).To(Equal(word))
		Expect(w.kinds()).To(Equal([]string{"refused"}))
	},
		Entry("not found", context.Background(), runner.Command("no-such-tool"), "not-found"),
		Entry("invalid", context.Background(), runner.Command(""), "invalid"),
	)

	It("sees doubles, cassettes and every stage of a pipeline alike", func(ctx SpecContext) {
		w := &watcher{}
		_, err := runner.Run(ctx, runner.Observed(fake.DryRun(nil), w), runner.Command("tool"))
		Expect(err).NotTo(HaveOccurred())
		Expect(w.kinds()).To(Equal([]string{"started", "settled"}))

		file := filepath.Join(GinkgoT().TempDir(), "observed.cassette")
		recorder, err := cassette.NewRecorder(file, runner.Observed(runner.Contained{}, w))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(recorder.Close)
		Expect(runner.Output(ctx, recorder, shell("echo x"))).To(Equal("x"))
		Expect(recorder.Save()).To(Succeed())
		Expect(w.kinds()).To(Equal([]string{"started", "settled"}))
		player, err := cassette.Open(file)
		Expect(err).NotTo(HaveOccurred())
		Expect(runner.Output(ctx, runner.Observed(player, w), shell("echo x"))).To(Equal("x"))
		Expect(w.seen[1].Replayed).To(BeTrue())
		Expect(w.kinds()).To(Equal([]string{"started", "settled"}))

		res, err := runner.Pipe(shell("echo x"), shell("cat")).Run(ctx, runner.Observed(runner.Contained{}, w))
		Expect(err).NotTo(HaveOccurred())
		Expect(res.Stages()[0].Result.StdoutPiped()).To(BeTrue(), "the bytes still go through a pipe of the system")
		Expect(w.kinds()).To(ConsistOf("started", "settled", "started", "settled"))
	})

	It("is told of a kill that was only recorded, too", func(ctx SpecContext) {
		w := &watcher{}
		_, err := runner.Run(ctx, runner.Observed(replies(fake.Timeout()), w), runner.Command("tool"))
		Expect(err).NotTo(HaveOccurred())
		Expect(w.kinds()).To(Equal([]string{"started", "killed", "settled"}))
	})

	It("that panics changes nothing", func(ctx SpecContext) {
		r := runner.Observed(runner.Contained{}, observerFunc(func(runner.Observation) { panic("no") }))
		Expect(runner.Output(ctx, r, shell("echo x"))).To(Equal("x"))
	})

	It("is one of several", func(ctx SpecContext) {
		inner, outer := &watcher{}, &watcher{}
		r := runner.Observed(runner.Observed(fake.DryRun(nil), inner), outer)
		_, err := runner.Run(ctx, r, runner.Command("tool"))
		Expect(err).NotTo(HaveOccurred())
		Expect(inner.kinds()).To(Equal([]string{"started", "settled"}))
		Expect(outer.kinds()).To(Equal([]string{"started", "settled"}))
	})
})

type observerFunc func(runner.Observation)

func (f observerFunc) Observe(seen runner.Observation) { f(seen) }

var _ = Describe("a tally", func() {
	It("counts", func(ctx SpecContext) {
		var tally runner.Tally
		r := fake.New()
		r.On("exits").Reply(fake.Exit(1))
		r.On("times-out").Reply(fake.After(time.Millisecond), fake.Timeout())
		r.On("missing").Reply(fake.StartError(runner.StartNotFound))
		r.On("stays").Reply(fake.Pending())
		counted := runner.Observed(r, &tally)
		for _, name := range []string{"exits", "exits", "times-out", "missing"} {
			_, _ = runner.Run(ctx, counted, runner.Command(name))
		}
		p, err := counted.Start(ctx, runner.Command("stays"))
		Expect(err).NotTo(HaveOccurred())
		Expect(tally.Counts()).To(Equal(runner.Counts{
			Started: 4, Refused: 1, Live: 1, Killed: 1,
			Ended: map[runner.OutcomeKind]int{runner.KindExited: 2, runner.KindTimedOut: 1},
		}))
		Expect(p.Close()).To(Succeed())
		Expect(tally.Counts().Live).To(BeZero())
	})
})

var _ = Describe("a log", func() {
	It("has a record for each thing that happens to a run", func(ctx SpecContext) {
		var out bytes.Buffer
		r := runner.Logged(runner.Contained{}, slog.New(slog.NewJSONHandler(&out, nil)))
		cmd := fixture("sleep")
		cmd.Timeout = 50 * time.Millisecond
		_, err := runner.Run(ctx, r, cmd)
		Expect(err).NotTo(HaveOccurred())
		_, err = runner.Run(ctx, r, runner.Command("no-such-tool"))
		Expect(err).To(MatchError(runner.ErrNotFound))
		var records []map[string]any
		for decoder := json.NewDecoder(&out); decoder.More(); {
			var record map[string]any
			Expect(decoder.Decode(&record)).To(Succeed())
			records = append(records, record)
		}
		Expect(records).To(HaveExactElements(
			And(HaveKeyWithValue("msg", "command started"), HaveKeyWithValue("level", "INFO"), HaveKey("pid")),
			And(HaveKeyWithValue("msg", "command killed"), HaveKeyWithValue("level", "WARN"), HaveKeyWithValue("outcome", "timed_out")),
			And(HaveKeyWithValue("msg", "command settled"), HaveKeyWithValue("outcome", "timed_out"), HaveKey("stdout_bytes")),
			And(HaveKeyWithValue("msg", "command refused"), HaveKeyWithValue("refusal", "not-found"), HaveKeyWithValue("program", "no-such-tool")),
		))
	})
})
