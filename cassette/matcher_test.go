package cassette_test

import (
	"context"
	"regexp"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("Matchers", func() {
	cmd := func(stdin string, argv ...string) *runner.Cmd {
		c := runner.Command(argv[0], argv[1:]...)
		if stdin != "" {
			c.Stdin = runner.StdinString(stdin)
		}
		return c
	}
	recorded := func(ctx context.Context, c *runner.Cmd, opts ...cassette.Option) string {
		path := tempFile()
		inner := fake.New()
		inner.On("tool").Reply(fake.Stdout("ok"))
		recordTo(ctx, path, inner, opts, c)
		return path
	}

	DescribeTable("let a difference pass that does not matter, and no other",
		func(ctx context.Context, m cassette.Matcher, was, same, other *runner.Cmd) {
			path := recorded(ctx, was)
			_, err := runner.Run(ctx, play(path), same)
			Expect(err).To(MatchError(cassette.ErrMiss), "the control: it matters without the matcher")
			_, err = runner.Run(ctx, play(path, cassette.WithMatchers("git", m)), same)
			Expect(err).To(MatchError(cassette.ErrMiss), "the matcher is another program's")
			_, err = runner.Run(ctx, play(path, cassette.WithMatchers("tool", m)), same)
			Expect(err).NotTo(HaveOccurred())
			_, err = runner.Run(ctx, play(path, cassette.WithMatchers("", m)), other)
			miss := missOf(err)
			Expect(miss.Matchers).To(Equal([]string{m.Name}))
			Expect(miss.Explain()).To(ContainSubstring("matchers  " + m.Name))
			Expect(miss.Nearest[0].Differences).To(HaveLen(1))
		},
		Entry("a flag", cassette.IgnoreFlag("--color", "-q"), cmd("", "tool", "x", "--color=always"), cmd("", "/bin/tool", "-q", "x"), cmd("", "tool", "y")),
		Entry("a flag with its value", cassette.IgnoreFlagValue("-o"), cmd("", "tool", "-o", "a", "x"), cmd("", "tool", "-o=b", "x"), cmd("", "tool", "-o", "x")),
		Entry("the order", cassette.IgnoreOrder(), cmd("", "tool", "a", "b"), cmd("", "tool", "b", "a"), cmd("", "tool", "a", "c")),
		Entry("the input", cassette.IgnoreStdin(), cmd("1", "tool"), cmd("2", "tool"), cmd("1", "tool", "x")),
		Entry("JSON", cassette.JSONStdin(), cmd(`{"a":1,"b":2}`, "tool"), cmd("{\"b\": 2,\n\"a\": 1}", "tool"), cmd(`{"a":1}`, "tool")),
		Entry("a pattern", cassette.AnyText(regexp.MustCompile(`\d+`)), cmd("", "tool", "id-1"), cmd("", "tool", "id-22"), cmd("", "tool", "id-x")),
	)

	It("let the directory be any", func(ctx context.Context) {
		was, same := cmd("", "tool"), cmd("", "tool")
		was.Dir, same.Dir = "/a", "/b"
		_, err := runner.Run(ctx, play(recorded(ctx, was), cassette.WithMatchers("tool", cassette.IgnoreDir())), same)
		Expect(err).NotTo(HaveOccurred())
	})

	It("keep the text of a run that still matches", func(ctx context.Context) {
		path := tempFile()
		inner := fake.New()
		inner.On("tool").Reply(fake.Stdout("ok"))
		opts := []cassette.Option{cassette.WithMatchers("tool", cassette.IgnoreFlagValue("--seed"))}
		recordTo(ctx, path, inner, opts, cmd("", "tool", "--seed", "1"))
		before := contents(path)
		recordTo(ctx, path, inner, opts, cmd("", "tool", "--seed", "2"))
		Expect(contents(path)).To(Equal(before))
		recordTo(ctx, path, inner, nil, cmd("", "tool", "--seed", "3"))
		Expect(contents(path)).NotTo(Equal(before), "the control: without the matcher it is another call")
	})

	It("tell two versions of a program apart by their paths", func(ctx context.Context) {
		const two = "cassette 1\nrun\n  argv \"/opt/one/git\"\n  argv \"log\"\n  out \"one\"\n  exit 0\nrun\n  argv \"/opt/two/git\"\n  argv \"log\"\n  out \"two\"\n  exit 0\n"
		player := playText(two, cassette.WithMatchers("git", cassette.ProgramPath()))
		for _, version := range []string{"two", "one"} {
			Expect(runner.Output(ctx, player, runner.Command("/opt/"+version+"/git", "log"))).To(Equal(version))
		}
		_, err := runner.Run(ctx, player, runner.Command("/opt/three/git", "log"))
		Expect(err).To(MatchError(cassette.ErrMiss))

		By("which does not matter by default")
		Expect(runner.Output(ctx, playText(two), runner.Command("/opt/two/git", "log"))).To(Equal("one"))
	})
})
