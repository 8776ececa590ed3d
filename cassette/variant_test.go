package cassette_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("A variant", func() {
	tool := runner.Command("tool")
	// open opens a cassette with a runner that says so.
	open := func(path, said string, opts ...cassette.Option) *cassette.Deck {
		GinkgoHelper()
		deck, err := cassette.Open(path, append(opts, cassette.WithRunner(fakeOf("tool", fake.Stdout(said))))...)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(deck.Close)
		return deck
	}
	record := func(ctx context.Context, path, said string, opts ...cassette.Option) {
		GinkgoHelper()
		deck := open(path, said, append(opts, cassette.WithMode(cassette.Record))...)
		Expect(runner.Output(ctx, deck, tool)).To(Equal(said))
		Expect(deck.Save()).To(Succeed())
		Expect(deck.Close()).To(Succeed())
	}
	BeforeEach(func() {
		for _, name := range []string{"CI", cassette.EnvMode} {
			GinkgoT().Setenv(name, "")
			Expect(os.Unsetenv(name)).To(Succeed())
		}
	})
	german := cassette.WithVariant("de")

	It("has a file of its own, and the plain one where there is none", func(ctx context.Context) {
		path := tempFile()
		record(ctx, path, "hello")
		record(ctx, path, "hallo", german)
		Expect(names(filepath.Dir(path))).To(ConsistOf("x.cassette", "x.de.cassette"))
		for want, opts := range map[string][]cassette.Option{"hello": nil, "hallo": {german}} {
			deck := open(path, "", opts...)
			Expect(runner.Output(ctx, deck, tool)).To(Equal(want))
			Expect(deck.Check()).To(Succeed())
		}
		deck := open(path, "", cassette.WithVariant("fr"))
		Expect(runner.Output(ctx, deck, tool)).To(Equal("hello"))
	})

	It("is recorded once, where neither file is there", func(ctx context.Context) {
		path := tempFile()
		once := cassette.WithMode(cassette.Once)
		deck := open(path, "hallo", german, once)
		Expect(deck.Recording()).To(BeTrue())
		Expect(runner.Output(ctx, deck, tool)).To(Equal("hallo"))
		Expect(deck.Save()).To(Succeed())
		Expect(deck.Close()).To(Succeed())
		Expect(names(filepath.Dir(path))).To(Equal([]string{"x.de.cassette"}))
		Expect(open(path, "", german, once).Recording()).To(BeFalse())
		record(ctx, path, "hello")
		Expect(open(path, "", cassette.WithVariant("fr"), once).Recording()).To(BeFalse())
	})

	It("that is there and cannot be read is not taken for missing", func(ctx context.Context) {
		path := tempFile()
		record(ctx, path, "hello")
		Expect(os.WriteFile(strings.TrimSuffix(path, ".cassette")+".de.cassette", []byte("half"), 0o600)).To(Succeed())
		_, err := cassette.Open(path, german)
		Expect(err).To(MatchError(cassette.ErrCorrupt))
	})

	It("is told by a miss, and so are the others", func(ctx context.Context) {
		path := tempFile()
		_, err := cassette.Open(path, german)
		Expect(missOf(err).Error()).To(ContainSubstring("variant de was asked for, and there is none"))
		record(ctx, path, "hallo", german)
		record(ctx, path, "salut", cassette.WithVariant("fr"))
		_, err = cassette.Open(path)
		Expect(missOf(err).Variants).To(Equal([]string{"de", "fr"}))
		Expect(err).To(MatchError(ContainSubstring("there are the variants de, fr, and none was asked for")))

		deck := open(path, "", german)
		_, err = runner.Run(ctx, deck, runner.Command("tool", "more"))
		m := missOf(err)
		Expect(m.Variant).To(Equal("de"))
		Expect(m.Error()).To(And(ContainSubstring("x.de.cassette"), ContainSubstring("there are the variants de, fr, and de was asked for")))
		Expect(m.Explain()).To(ContainSubstring("there are the variants de, fr"))

		By("which says nothing where there are none")
		other := tempFile()
		record(ctx, other, "hello")
		_, err = runner.Run(ctx, open(other, ""), runner.Command("tool", "more"))
		Expect(missOf(err).Error()).NotTo(ContainSubstring("variant"))
	})

	It("is in use with its cassette, whichever is played", func(ctx context.Context) {
		path := tempFile()
		record(ctx, path, "hello")
		record(ctx, path, "hallo", german)
		index := filepath.Join(GinkgoT().TempDir(), "index")
		GinkgoT().Setenv(cassette.EnvIndex, index)
		open(path, "")
		Expect(contents(index)).To(And(ContainSubstring("x.cassette"), ContainSubstring("x.de.cassette")))
	})

	DescribeTable("has a name that every file system takes",
		func(name string) {
			_, err := cassette.Open(tempFile(), cassette.WithVariant(name))
			Expect(err).To(MatchError(ContainSubstring("no name of a variant")))
		},
		Entry("not none", ""), Entry("not a path", "a/b"), Entry("not one above", ".."), Entry("no capitals", "Linux"), Entry("not for ever", strings.Repeat("a", 33)),
	)
})
