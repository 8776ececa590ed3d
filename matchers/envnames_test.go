package matchers_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/cassette"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// recording is a small cassette: a run with two overridden variables, and a second one.
func recording() *cassette.Tape {
	data, err := cassette.Reseal([]byte("cassette 1\n" +
		"run\n  argv \"tool\"\n  argv \"canary-argument\"\n  env MODE PATH\n  out \"canary-output\\n\"\n  exit 0\n" +
		"run\n  argv \"/bin/other\"\n  err \"no\\n\"\n  exit 3\n"))
	if err != nil {
		panic(err)
	}
	tape, err := cassette.Parse(data)
	if err != nil {
		panic(err)
	}
	return tape
}

var _ = Describe("HaveEnvNames", func() {
	cmd := func() *runner.Cmd {
		cmd := runner.Command("/opt/bin/tool", "secret-argument")
		cmd.Env = runner.CleanEnv().Set("MODE", "secret-value").Set("PATH", "secret-path")
		return cmd
	}
	verdicts("HaveEnvNames", func() []verdict {
		return []verdict{
			{"command", HaveEnvNames("PATH", "MODE"), cmd(), true},
			{"recorded run", HaveEnvNames("MODE", "PATH"), recording().Runs()[0], true},
			{"what a child prints", HaveEnvNames("MODE", "PATH"), wrote("PATH\nMODE\n", ""), true},
			{"command that satisfies", HaveEnvNames(Not(ContainElement("HOME"))), cmd(), true},
			{"command without", HaveEnvNames("MODE", "PATH", "HOME"), cmd(), false},
			{"command with more", HaveEnvNames("PATH"), cmd(), false},
			{"both", HaveEnvNames("HOME", "PATH"), wrote("PATH\nMODE\n", ""), false},
			{"command that does not satisfy", HaveEnvNames(HaveLen(1)), cmd(), false},
			{"no environment, and some is wanted", HaveEnvNames("PATH"), recording().Runs()[1], false},
		}
	})

	It("looks at the environment as it is at a start made now", func() {
		GinkgoT().Setenv("BOOMBOX_MATCHERS_CANARY", "secret-value")
		Expect(runner.Command("tool")).To(HaveEnvNames(ContainElement("BOOMBOX_MATCHERS_CANARY")))
		allowed := runner.Command("tool")
		allowed.Env = runner.AllowEnv("BOOMBOX_MATCHERS_CANARY")
		Expect(allowed).To(HaveEnvNames("BOOMBOX_MATCHERS_CANARY"))
	})

	It("refuses an argument that is no name", func() {
		_, err := HaveEnvNames("PATH", 3).Match(cmd())
		Expect(err).To(MatchError("matchers: HaveEnvNames takes names, or one matcher, not int"))
	})
})

var _ = Describe("HaveInteractions", func() {
	verdicts("HaveInteractions", func() []verdict {
		return []verdict{
			{"any", HaveInteractions(), recording(), true},
			{"as many", HaveInteractions(2), recording().Marshal(), true},
			{"that satisfy", HaveInteractions(ContainElement(HaveField("Program()", "other"))), recording(), true},
			{"other number", HaveInteractions(1), recording(), false},
			{"of a committed file", HaveInteractions(0), "../fixtures/cassettes/git-session.cassette", false},
		}
	})

	It("refuses what is no cassette", func() {
		for _, actual := range []any{nil, 7, (*cassette.Tape)(nil), "no/such/file", []byte("x")} {
			for _, m := range []types.GomegaMatcher{HaveInteractions(), Not(HaveInteractions())} {
				_, err := m.Match(actual)
				Expect(err).To(HaveOccurred(), "%T", actual)
			}
		}
	})
})

var _ = Describe("HaveMisses", func() {
	missed := func() *cassette.Player {
		player, err := cassette.NewPlayer(recording())
		Expect(err).NotTo(HaveOccurred())
		_, _ = runner.Run(context.Background(), player, runner.Command("tool", "secret-argument"))
		return player
	}
	none := func() *cassette.Player {
		player, _ := cassette.NewPlayer(recording())
		return player
	}
	verdicts("HaveMisses", func() []verdict {
		return []verdict{
			{"any", HaveMisses(), missed(), true},
			{"as many", HaveMisses(1), missed(), true},
			{"that satisfy", HaveMisses(ConsistOf(MatchError(cassette.ErrMiss))), missed(), true},
			{"none", HaveMisses(), none(), false},
			{"other number", HaveMisses(0), missed(), false},
		}
	})

	It("refuses other types and nil", func() {
		for _, actual := range []any{nil, 7, (*cassette.Player)(nil)} {
			_, err := HaveMisses().Match(actual)
			Expect(err).To(HaveOccurred())
		}
	})
})
