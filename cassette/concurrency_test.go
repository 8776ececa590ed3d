package cassette_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("Concurrency", func() {
	It("is for one recorder and one player to bear, with 64 goroutines each", func(ctx context.Context) {
		const goroutines, calls = 64, 8
		path := tempFile()
		inner := fake.New()
		inner.On().ReplyFunc(func(cmd *runner.Cmd) []fake.Reply {
			return []fake.Reply{fake.Stdout(fmt.Sprint(cmd.Argv()[1:])), fake.Stderr("err")}
		})
		rec, err := cassette.NewRecorder(path, inner)
		Expect(err).NotTo(HaveOccurred())
		defer rec.Close()

		// Half of the calls have a key of their own, and half share one.
		storm := func(r runner.Runner) (wrong int64) {
			var all sync.WaitGroup
			var failures atomic.Int64
			for g := range goroutines {
				all.Go(func() {
					for i := range calls {
						arg := fmt.Sprint(g, i)
						if i%2 == 0 {
							arg = "shared"
						}
						out, err := runner.Output(ctx, r, runner.Command("tool", arg))
						if err != nil || out != "["+arg+"]" {
							failures.Add(1)
						}
					}
				})
			}
			all.Wait()
			return failures.Load()
		}
		Expect(storm(rec)).To(BeZero())
		Expect(rec.Save()).To(Succeed())
		player := play(path)
		Expect(player.Unplayed()).To(HaveLen(goroutines * calls))
		Expect(storm(player)).To(BeZero())
		Expect(player.Check()).To(Succeed())
		Expect(storm(player)).To(BeEquivalentTo(goroutines * calls))
		Expect(player.Misses()).To(HaveLen(goroutines * calls))
	})

	It("lets a recording be saved while further runs begin", func(ctx context.Context) {
		path := tempFile()
		inner := fake.New()
		inner.On().Reply(fake.Lines("x"))
		rec, err := cassette.NewRecorder(path, inner)
		Expect(err).NotTo(HaveOccurred())
		defer rec.Close()
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 20 {
					_, _ = runner.Run(ctx, rec, runner.Command("tool"))
				}
			})
		}
		for range 10 {
			if err := rec.Save(); err != nil {
				Expect(err).To(MatchError(cassette.ErrOpenRun))
			}
			_ = rec.String()
		}
		all.Wait()
		Expect(rec.Save()).To(Succeed())
		Expect(play(path).Unplayed()).To(HaveLen(160))
	})
})
