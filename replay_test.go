package boombox_test

import (
	"context"
	"path/filepath"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/internal/suite"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("a session of real children, recorded and replayed", Label("replay"), func() {
	// The session: what a version control tool says, succeeding and failing, in bytes that are no text; and how else a
	// run may end.
	session := func(dir string) []*runner.Cmd {
		child := func(name string, args ...string) *runner.Cmd {
			argv := fixtures.Argv(name, args...)
			cmd := runner.Command(argv[0], argv[1:]...)
			cmd.Dir = dir
			return cmd
		}
		fed := child("cat")
		fed.Stdin = runner.StdinOf([]byte("fed \xff\x00 to it"))
		late := child("sleep")
		late.Timeout = 500 * time.Millisecond
		noisy := child("flood", "4096")
		noisy.Output.Stdout.MaxBytes = 100
		return []*runner.Cmd{
			child("tool", "init"),
			child("tool", "commit", "-m", "first"),
			child("tool", "log"),
			child("tool", "rev-parse", "no-such-branch"),
			child("tool", "cat-file", "blob", "HEAD"),
			child("streams", fixtures.Out("o\xff"), fixtures.Err("e\r\n"), "exit:3"),
			fed,
			late,
			noisy,
		}
	}
	play := func(ctx context.Context, r runner.Runner, cmds []*runner.Cmd) []*runner.Result {
		GinkgoHelper()
		results := make([]*runner.Result, 0, len(cmds))
		for _, cmd := range cmds {
			res, err := runner.Run(ctx, r, cmd)
			Expect(err).NotTo(HaveOccurred())
			results = append(results, res)
		}
		return results
	}

	It("keeps which caps were hit", func(ctx SpecContext) {
		suite.Require(contain.CapMemory)
		path := filepath.Join(GinkgoT().TempDir(), "capped.cassette")
		argv := fixtures.Argv("hog", "32")
		hog := runner.Command(argv[0], argv[1:]...)
		hog.Limits = contain.Limits{Memory: 16 << 20}
		hit := And(EnforceLimit(contain.LimitMemory), HaveHitLimit(contain.LimitMemory), BeSignaled(syscall.SIGKILL))

		rec, err := cassette.NewRecorder(path, runner.Contained{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(rec.Close)
		Expect(play(ctx, rec, []*runner.Cmd{hog})[0]).To(hit)
		Expect(rec.Save()).To(Succeed())

		tape, err := cassette.Load(path)
		Expect(err).NotTo(HaveOccurred())
		for _, pace := range []cassette.Pace{cassette.Instant, cassette.RealTime} {
			player, err := cassette.NewPlayer(tape, cassette.WithPace(pace))
			Expect(err).NotTo(HaveOccurred())
			replayed := play(ctx, player, []*runner.Cmd{hog})[0]
			Expect(replayed).To(HaveBeenReplayed())
			Expect(replayed).To(And(hit, Not(EnforceLimit(contain.LimitProcesses))))
			Expect(player.Close()).To(Succeed())
		}
	})

	It("gives the same bytes and outcomes, without a process", func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		path := filepath.Join(GinkgoT().TempDir(), "session.cassette")

		rec, err := cassette.NewRecorder(path, runner.Contained{}, cassette.WithToken("tmp", dir))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(rec.Close)
		recorded := play(ctx, rec, session(dir))
		Expect(rec.Save()).To(Succeed())

		// Another directory, and nothing to be found in it or in PATH.
		GinkgoT().Setenv("PATH", "")
		elsewhere := GinkgoT().TempDir()
		tape, err := cassette.Load(path)
		Expect(err).NotTo(HaveOccurred())
		player, err := cassette.NewPlayer(tape, cassette.WithToken("tmp", elsewhere))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(player.Close)
		began := time.Now()
		replayed := play(ctx, player, session(elsewhere))

		for i, was := range recorded {
			is := replayed[i]
			Expect(is).To(And(ReplayAs(was), HaveBeenReplayed()), "run %d", i+1)
			Expect(was).NotTo(HaveBeenReplayed())
		}
		Expect(player.Check()).To(Succeed())
		Expect(time.Since(began)).To(BeNumerically("<", 500*time.Millisecond), "a replayed timeout takes no time")
	})

	It("answers a call that was not recorded with a miss, and starts nothing", func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		path := filepath.Join(GinkgoT().TempDir(), "session.cassette")
		rec, err := cassette.NewRecorder(path, runner.Contained{}, cassette.WithToken("tmp", dir))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(rec.Close)
		play(ctx, rec, session(dir)[:1])
		Expect(rec.Save()).To(Succeed())

		tape, err := cassette.Load(path)
		Expect(err).NotTo(HaveOccurred())
		player, err := cassette.NewPlayer(tape, cassette.WithToken("tmp", dir))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(player.Close)
		_, err = runner.Run(ctx, player, session(dir)[1])
		Expect(err).To(MatchError(cassette.ErrMiss))
		Expect(err).NotTo(MatchError(runner.ErrNotFound))
		Expect(player.Check()).To(MatchError(cassette.ErrMiss), "a miss fails the test even if the code swallowed it")
	})
})
