package cassette_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("A conversation that is held again", func() {
	// again plays the recorded side against a program, in mode verify, and returns what differs. The values are those of the token who.
	again := func(ctx context.Context, recorded, live string, program ...fake.Reply) cassette.Change {
		GinkgoHelper()
		GinkgoT().Setenv(cassette.EnvMode, "")
		path := tempFile()
		rec, err := cassette.NewRecorder(path, talker(
			fake.Stdout("name? "), fake.Reads(recorded+"\n"), fake.Stdout("age? "), fake.Reads("42\n"), fake.Stdout("bye\n"), fake.ReadsEOF(), fake.Exit(3),
		), cassette.WithToken("who", recorded))
		Expect(err).NotTo(HaveOccurred())
		_, err = converse(ctx, rec, talkCmd(), step{"", "name? "}, step{recorded + "\n", "name? age? "}, step{"42\n", "name? age? bye\n"})
		Expect(err).NotTo(HaveOccurred())
		Expect(rec.Save()).To(Succeed())
		Expect(rec.Close()).To(Succeed())

		who := cassette.WithToken("who", live)
		deck, err := cassette.Open(path, cassette.WithMode(cassette.Verify), cassette.WithRunner(talker(program...)), who)
		Expect(err).NotTo(HaveOccurred())
		defer deck.Close()
		tape, err := cassette.Load(path)
		Expect(err).NotTo(HaveOccurred())
		cmds, err := tape.Commands(who)
		Expect(err).NotTo(HaveOccurred())
		Expect(cmds).To(HaveLen(1))
		_, err = tape.Converse(ctx, deck, 1, cmds[0], who)
		Expect(err).NotTo(HaveOccurred())
		changes, err := deck.Changes()
		Expect(err).NotTo(HaveOccurred())
		Expect(changes).To(HaveLen(1))
		return changes[0]
	}
	harmless := BeElementOf(cassette.ClassSame, cassette.ClassTiming)

	DescribeTable("is compared with what was recorded",
		func(ctx context.Context, class OmegaMatcher, program ...fake.Reply) {
			Expect(again(ctx, "robert", "robert", program...).Class).To(class)
		},
		Entry("the same", harmless,
			fake.Stdout("name? "), fake.Reads("robert\n"), fake.Stdout("age? "), fake.Reads("42\n"), fake.Stdout("bye\n"), fake.ReadsEOF(), fake.Exit(3)),
		Entry("a program that says more, and hears the same", Equal(cassette.ClassOutput),
			fake.Stdout("your name? "), fake.Reads("robert\n"), fake.Stdout("age? "), fake.Reads("42\n"), fake.Stdout("bye\n"), fake.ReadsEOF(), fake.Exit(3)),
		Entry("a program that says less, and hears the same", Equal(cassette.ClassOutput),
			fake.Reads("robert\n"), fake.Stdout("age? "), fake.Reads("42\n"), fake.Stdout("bye\n"), fake.ReadsEOF(), fake.Exit(3)),
		Entry("a program that ends otherwise", Equal(cassette.ClassOutcome),
			fake.Stdout("name? "), fake.Reads("robert\n"), fake.Stdout("age? "), fake.Reads("42\n"), fake.Stdout("bye\n"), fake.ReadsEOF(), fake.Exit(4)),
		Entry("a program that ends in the middle", Equal(cassette.ClassOutcome), fake.Stdout("name? "), fake.Reads("robert\n"), fake.Exit(0)),
	)

	It("has the live values of its tokens", func(ctx context.Context) {
		Expect(again(ctx, "robert", "elisabeth",
			fake.Stdout("name? "), fake.Reads("elisabeth\n"), fake.Stdout("age? "), fake.Reads("42\n"), fake.Stdout("bye\n"), fake.ReadsEOF(), fake.Exit(3),
		).Class).To(harmless)
	})

	It("ends with its context, and wants a run that is there", func(ctx context.Context) {
		tape, err := cassette.Parse(sealed("cassette 1\nrun\n  argv \"talk\"\n  stdin interactive\n  in \"x\"\n  exit 0\n  tape 0i1 0x\n"))
		Expect(err).NotTo(HaveOccurred())
		inner := talker(fake.Reads("x"), fake.Pending())
		_, err = tape.Converse(ctx, inner, 2, talkCmd())
		Expect(err).To(MatchError(ContainSubstring("no run 2")))
		ctx, cancel := context.WithCancel(ctx)
		cmd := talkCmd().TappedStdin(func([]byte) { cancel() })
		_, err = tape.Converse(ctx, inner, 1, cmd)
		Expect(err).To(MatchError(runner.ErrCancelled))
	})
})
