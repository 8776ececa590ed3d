package cassette_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("Order and repeats", func() {
	const two = "cassette 1\nrun\n  argv \"a\"\n  out \"1\"\n  exit 0\nrun\n  argv \"b\"\n  out \"2\"\n  exit 0\n"
	a, b := runner.Command("a"), runner.Command("b")

	It("lets keys come in any order by default, and not when the order is strict", func(ctx context.Context) {
		player := playText(two)
		Expect(runner.Output(ctx, player, b)).To(Equal("2"))
		Expect(runner.Output(ctx, player, a)).To(Equal("1"))
		Expect(player.Check()).To(Succeed())

		player = playText(two, cassette.WithOrder(cassette.Strict))
		_, err := runner.Run(ctx, player, b)
		Expect(missOf(err).Class).To(Equal(cassette.MissOutOfOrder))
		Expect(err.Error()).To(ContainSubstring("run 1 has still to be played"))
		Expect(runner.Output(ctx, player, a)).To(Equal("1"))
		Expect(runner.Output(ctx, player, b)).To(Equal("2"))
	})

	It("repeats a run as often as its line says", func(ctx context.Context) {
		player := playText(strings.Replace(two, "exit 0\n", "exit 0\n  repeat 2\n", 1))
		Expect(runner.Output(ctx, player, a)).To(Equal("1"))
		Expect(player.Unplayed()).To(HaveLen(2), "once is not twice")
		Expect(runner.Output(ctx, player, a)).To(Equal("1"))
		Expect(player.Unplayed()).To(HaveLen(1))
		_, err := runner.Run(ctx, player, a)
		Expect(missOf(err).Class).To(Equal(cassette.MissExhausted))
	})

	It("repeats one without end, and wants it once", func(ctx context.Context) {
		player := playText(strings.Replace(two, "exit 0\n", "exit 0\n  repeat *\n", 1))
		Expect(player.Unplayed()).To(HaveLen(2))
		for range 5 {
			Expect(runner.Output(ctx, player, a)).To(Equal("1"))
		}
		Expect(runner.Output(ctx, player, b)).To(Equal("2"))
		Expect(player.Check()).To(Succeed())
	})

	It("does not want an optional run, also when the order is strict", func(ctx context.Context) {
		player := playText(strings.Replace(two, "exit 0\n", "exit 0\n  optional\n", 1), cassette.WithOrder(cassette.Strict))
		Expect(runner.Output(ctx, player, b)).To(Equal("2"))
		Expect(player.Check()).To(Succeed())
	})

	It("keeps the lines when the same is recorded again, however often", func(ctx context.Context) {
		path := tempFile()
		record := func(times int) {
			inner := fake.New()
			inner.On("a").Reply(fake.Stdout("1"))
			var cmds []*runner.Cmd
			for range times {
				cmds = append(cmds, a)
			}
			recordTo(ctx, path, inner, nil, cmds...)
		}
		record(1)
		edit(path, "\nend ", "\n  repeat *\nend ")
		before := contents(path)
		record(4)
		Expect(contents(path)).To(Equal(before))
	})

	DescribeTable("refuses a line that does not read", func(line string) {
		_, err := cassette.Reseal([]byte("cassette 1\nrun\n  argv \"a\"\n  exit 0\n  " + line + "\n"))
		Expect(err).To(MatchError(cassette.ErrCorrupt))
	}, Entry("none", "repeat"), Entry("zero", "repeat 0"), Entry("a word", "repeat last"), Entry("twice", "repeat 2\n  repeat 2"),
		Entry("behind optional", "optional\n  repeat 2"), Entry("optional with text", "optional 1"))
})
