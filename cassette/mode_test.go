package cassette_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/fixtures"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("Open", func() {
	var (
		path  string
		inner *fake.Runner
	)
	BeforeEach(func() {
		path = tempFile()
		inner = fake.New()
		inner.On("tool").Reply(fake.Lines("live"))
		// The machine that runs this may be a CI service itself.
		GinkgoT().Setenv("CI", "")
		GinkgoT().Setenv(cassette.EnvMode, "")
	})
	tape := func() {
		GinkgoHelper()
		Expect(os.WriteFile(path, sealed("cassette 1\nrun\n  argv \"tool\"\n  out \"recorded\\n\"\n  exit 0\n"), 0o600)).To(Succeed())
	}
	// use opens the cassette, runs the tool once and saves.
	use := func(ctx context.Context, opts ...cassette.Option) (string, *cassette.Deck) {
		GinkgoHelper()
		deck, err := cassette.Open(path, append([]cassette.Option{cassette.WithRunner(inner)}, opts...)...)
		Expect(err).NotTo(HaveOccurred())
		out, err := runner.Output(ctx, deck, runner.Command("tool"))
		Expect(err).NotTo(HaveOccurred())
		Expect(deck.Save()).To(Succeed())
		Expect(deck.Check()).To(Succeed())
		Expect(deck.Close()).To(Succeed())
		return out, deck
	}

	It("replays by default, and cannot start anything", func(ctx context.Context) {
		tape()
		out, deck := use(ctx)
		Expect(out).To(Equal("recorded"))
		Expect(deck.Recording()).To(BeFalse())
		mode, origin := deck.Mode()
		Expect(mode).To(Equal(cassette.Replay))
		Expect(origin).To(Equal(cassette.FromDefault))
		Expect(inner.Calls()).To(BeEmpty())

		deck, err := cassette.Open(path, cassette.WithRunner(inner))
		Expect(err).NotTo(HaveOccurred())
		_, err = runner.Run(ctx, deck, runner.Command("tool", "unrecorded"))
		Expect(missOf(err).Origin).To(Equal(cassette.FromDefault))
		Expect(inner.Calls()).To(BeEmpty())
		Expect(deck.Misses()).To(HaveLen(1))
		Expect(deck.Unplayed()).To(HaveLen(1))
		Expect(deck.Check()).To(MatchError(cassette.ErrMiss))
	})

	It("takes a missing file for a miss, and says how to record it", func() {
		_, err := cassette.Open(path, cassette.WithHint("make record"))
		Expect(missOf(err).Class).To(Equal(cassette.MissNoCassette))
		Expect(errors.Is(err, fs.ErrNotExist)).To(BeFalse())
		Expect(err).To(MatchError("cassette: there is no cassette \"" + path + "\" (mode replay, by default); record it with: make record"))
		Expect(missOf(err).Explain()).To(ContainSubstring("make record"))
		Expect(names(filepath.Dir(path))).To(BeEmpty())
	})

	It("records once", func(ctx context.Context) {
		once := cassette.WithMode(cassette.Once)
		out, deck := use(ctx, once)
		Expect(out).To(Equal("live"))
		Expect(deck.Recording()).To(BeTrue())
		Expect(deck.Unplayed()).To(BeEmpty())
		Expect(deck.Misses()).To(BeEmpty())
		out, deck = use(ctx, once)
		Expect(out).To(Equal("live"))
		Expect(deck.Recording()).To(BeFalse())
		Expect(inner.Calls()).To(HaveLen(1))
	})

	It("records the whole file anew", func(ctx context.Context) {
		tape()
		out, deck := use(ctx, cassette.WithMode(cassette.Record))
		Expect(out).To(Equal("live"))
		Expect(deck.Recording()).To(BeTrue())
		Expect(contents(path)).NotTo(ContainSubstring("recorded"))
	})

	It("runs real commands when no runner is named", func(ctx context.Context) {
		deck, err := cassette.Open(path, cassette.WithMode(cassette.Record))
		Expect(err).NotTo(HaveOccurred())
		argv := fixtures.Argv("exit", "3")
		res, err := runner.Run(ctx, deck, runner.Command(argv[0], argv[1:]...))
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveExited(3))
		Expect(res).NotTo(HaveBeenReplayed())
		Expect(deck.Close()).To(Succeed())
	})

	It("lets the environment beat the option, and says so in every error", func(ctx context.Context) {
		tape()
		GinkgoT().Setenv(cassette.EnvMode, "record")
		out, deck := use(ctx, cassette.WithMode(cassette.Replay))
		Expect(out).To(Equal("live"))
		_, origin := deck.Mode()
		Expect(origin).To(Equal(cassette.FromEnv))

		By("but not a prohibition in code")
		_, err := cassette.Open(path, cassette.WithReplayOnly())
		Expect(err).To(MatchError(cassette.ErrMode))
		Expect(err).To(MatchError(`cassette: mode "record" (from BOOMBOX_CASSETTE) is refused: this cassette is for replay only, by WithReplayOnly in code`))

		GinkgoT().Setenv(cassette.EnvMode, "replay")
		Expect(os.WriteFile(path, []byte("nonsense"), 0o600)).To(Succeed())
		_, err = cassette.Open(path, cassette.WithMode(cassette.Record))
		Expect(err).To(MatchError(cassette.ErrCorrupt))
		Expect(err).To(MatchError(ContainSubstring("(mode replay, from BOOMBOX_CASSETTE)")))
	})

	DescribeTable("takes no mode that it does not know",
		func(env string, opts ...cassette.Option) {
			tape()
			GinkgoT().Setenv(cassette.EnvMode, env)
			_, err := cassette.Open(path, opts...)
			var refused *cassette.ModeError
			Expect(errors.As(err, &refused)).To(BeTrue())
			Expect(err).To(MatchError(ContainSubstring("known: replay, once, record, verify, once!ci, record!ci")))
		},
		Entry("in the environment", "new_episodes"),
		Entry("in other letters", "Record"),
		Entry("with a blank", "record "),
		Entry("in code", "", cassette.WithMode("all")),
		Entry("in the environment, where the one in code is fine", "none", cassette.WithMode(cassette.Record)),
	)

	DescribeTable("refuses to write where CI is set",
		func(ctx context.Context, ci, mode string, missing bool, refused bool) {
			if !missing {
				tape()
			}
			GinkgoT().Setenv("CI", ci)
			GinkgoT().Setenv(cassette.EnvMode, mode)
			deck, err := cassette.Open(path, cassette.WithRunner(inner))
			if !refused {
				Expect(err).NotTo(HaveOccurred())
				Expect(deck.Close()).To(Succeed())
				return
			}
			Expect(err).To(MatchError(cassette.ErrMode))
			Expect(err).To(MatchError(ContainSubstring("unless the mode is spelled " + mode + "!ci")))
			Expect(names(filepath.Dir(path))).To(HaveLen(map[bool]int{true: 0, false: 1}[missing]))
		},
		Entry("record", "true", "record", false, true),
		Entry("record of a new one", "1", "record", true, true),
		Entry("once, when it would record", "true", "once", true, true),
		Entry("but once replays", "true", "once", false, false),
		Entry("but replay does not write", "true", "replay", false, false),
		Entry("but it is spelled out", "true", "record!ci", false, false),
		Entry("but once is spelled out", "true", "once!ci", true, false),
		Entry("but CI is false", "false", "record", false, false),
	)

	It("records over nothing that is not a cassette", func(ctx context.Context) {
		record := cassette.WithMode(cassette.Record)
		for name, content := range map[string]string{
			"something else":  "# Notes\n",
			"a broken one":    "cassette 1\nrun\n",
			"a later version": "cassette 3\nend 0 sha256:00\n",
			"an empty file":   "",
		} {
			Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
			_, err := cassette.Open(path, record, cassette.WithRunner(inner))
			Expect(err).To(HaveOccurred(), name)
			Expect(err).To(MatchError(ContainSubstring("remove it to record anew")), name)
			Expect(contents(path)).To(Equal(content))
			Expect(names(filepath.Dir(path))).To(HaveLen(1), "no litter")
		}

		By("but over one that was edited by hand")
		tape()
		Expect(os.WriteFile(path, []byte(contents(path)[:20]+contents(path)[20:]+""), 0o600)).To(Succeed())
		edited := []byte(contents(path))
		edited[len(edited)-2] ^= 1
		Expect(os.WriteFile(path, edited, 0o600)).To(Succeed())
		out, _ := use(ctx, record)
		Expect(out).To(Equal("live"))
	})

	It("does not take a file that it cannot read for a missing one", func() {
		if os.Getuid() == 0 {
			// Root reads everything; a directory in the way of a name does as well.
			Expect(os.Mkdir(path, 0o700)).To(Succeed())
		} else {
			Expect(os.WriteFile(path, nil, 0)).To(Succeed())
		}
		for _, mode := range []cassette.Mode{cassette.Replay, cassette.Once, cassette.Record} {
			_, err := cassette.Open(path, cassette.WithMode(mode), cassette.WithRunner(inner))
			Expect(err).To(HaveOccurred())
			Expect(errors.Is(err, cassette.ErrMiss)).To(BeFalse())
		}
	})
})
