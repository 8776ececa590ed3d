package cassette_test

import (
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/internal/suite"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("ForTest", func() {
	var path string
	BeforeEach(func() {
		GinkgoT().Setenv("CI", "")
		GinkgoT().Setenv(cassette.EnvMode, "")
		path = tempFile()
	})
	tool := func() runner.Runner {
		r := fake.New()
		r.On("tool").Reply(fake.Lines("hello"))
		return r
	}
	test := func(failed bool, use func(*cassette.Deck), opts ...cassette.Option) *suite.TB {
		tb := &suite.TB{Test: "TestTool/one two"}
		if deck := cassette.OpenForTest(tb, path, opts...); deck != nil {
			use(deck)
		}
		tb.Broken = failed
		return tb.End()
	}
	call := func(ctx SpecContext, args ...string) func(*cassette.Deck) {
		return func(deck *cassette.Deck) { _, _ = runner.Run(ctx, deck, runner.Command("tool", args...)) }
	}
	record := []cassette.Option{cassette.WithMode(cassette.Record), cassette.WithRunner(tool())}

	It("saves what a test has recorded that passed, and replays it", func(ctx SpecContext) {
		Expect(test(false, call(ctx), record...).Fatal).To(BeEmpty())
		Expect(path).To(BeARegularFile())
		Expect(test(false, call(ctx)).Fatal).To(BeEmpty())
		// Nobody holds the file any more.
		Expect(test(false, call(ctx), record...).Fatal).To(BeEmpty())
	})

	It("keeps the old file when the test failed", func(ctx SpecContext) {
		Expect(test(false, call(ctx), record...).Fatal).To(BeEmpty())
		before := contents(path)
		tb := test(true, call(ctx, "other"), record...)
		Expect(tb.Fatal).To(BeEmpty())
		Expect(tb.Lines).To(ConsistOf("the test failed: nothing was recorded"))
		Expect(contents(path)).To(Equal(before))
	})

	It("fails a test with a miss that the code under test has swallowed, and logs it for one that failed already", func(ctx SpecContext) {
		Expect(test(false, call(ctx), record...).Fatal).To(BeEmpty())
		both := func(deck *cassette.Deck) { call(ctx)(deck); call(ctx, "--canary")(deck) }
		tb := test(false, both)
		Expect(tb.Fatal).To(ConsistOf(ContainSubstring("miss at call 2")))
		Expect(tb.Fatal[0]).To(ContainSubstring(`BOOMBOX_CASSETTE=record go test -count=1 -run '^TestTool$/^one two$'`))
		Expect(tb.Fatal[0]).NotTo(ContainSubstring("canary"))
		tb = test(true, both)
		Expect(tb.Fatal).To(BeEmpty())
		Expect(tb.Lines).To(ConsistOf(ContainSubstring("miss at call 2")))
	})

	It("fails a test that no longer calls for every run", func(ctx SpecContext) {
		Expect(test(false, call(ctx), record...).Fatal).To(BeEmpty())
		Expect(test(false, func(*cassette.Deck) {}).Fatal).To(HaveLen(1))
		Expect(test(true, func(*cassette.Deck) {}).Fatal).To(BeEmpty())
	})

	It("fails a test without a cassette at once, and says how to record one", func() {
		tb := test(false, func(*cassette.Deck) { Fail("no deck is to be had") })
		Expect(tb.Fatal).To(ConsistOf(And(HavePrefix("no cassette for this test: "), ContainSubstring("BOOMBOX_CASSETTE=record go test"))))
	})

	It("lies beside the test, under its name", func() {
		tb := &suite.TB{Test: "TestNone"}
		Expect(cassette.ForTest(tb)).To(BeNil())
		Expect(tb.Fatal).To(ConsistOf(ContainSubstring("testdata/cassettes/TestNone-")))
	})
})

var _ = Describe("PathFor", func() {
	It("makes a readable, bounded name that is the name's own", func() {
		Expect(filepath.ToSlash(cassette.PathFor("TestTool/one two"))).To(MatchRegexp(`^testdata/cassettes/TestTool-one-two-[0-9a-f]{8}\.cassette$`))
		Expect(cassette.PathFor("a b")).NotTo(Equal(cassette.PathFor("a-b")))
		Expect(cassette.PathFor("a")).NotTo(Equal(cassette.PathFor("A")))
		Expect(filepath.ToSlash(cassette.PathFor(""))).To(MatchRegexp(`^testdata/cassettes/[0-9a-f]{8}\.cassette$`))
	})
})

// FuzzPathFor: no name leaves the directory, none is too long, and a name always has the same path.
func FuzzPathFor(f *testing.F) {
	f.Add("TestTool")
	f.Add("../../etc/passwd")
	f.Add(strings.Repeat("ä b/", 200))
	f.Add("CON")
	f.Fuzz(func(t *testing.T, name string) {
		path := cassette.PathFor(name)
		dir, base := filepath.Split(path)
		if filepath.ToSlash(dir) != "testdata/cassettes/" || len(base) > 120 || strings.ContainsAny(base, "/\\:*?\"<>|") {
			t.Fatalf("%q", path)
		}
		if cassette.PathFor(name) != path {
			t.Fatal("not stable")
		}
	})
}
