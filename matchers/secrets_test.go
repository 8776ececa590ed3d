package matchers_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/format"
	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// aboutOutput are the matchers whose messages show output, or take it for the names that a child prints.
var aboutOutput = map[string]bool{"HaveStdout": true, "HaveStderr": true, "HaveStdoutLines": true, "HaveOutput": true, "HaveOutputInOrder": true, "HaveEnvNames": true}

var _ = Describe("messages", func() {
	const argument, value, dir, input, stdout, stderr = "canary-argument", "canary-value", "canary-dir", "canary-input", "canary-stdout", "canary-stderr"

	run := func(s fake.Script) *runner.Process {
		cmd := runner.Command("tool", argument)
		cmd.Env = cmd.Env.Set("KEY", value)
		cmd.Dir, cmd.Stdin = dir, runner.StdinString(input)
		p, err := fake.Play(context.Background(), cmd, s)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(p.Close)
		return p
	}
	loud := fake.Script{
		Outcome: runner.Exited(3), Teardown: held,
		Chunks: []fake.Chunk{{Stream: runner.Stdout, Data: []byte(stdout)}, {Stream: runner.Stderr, Data: []byte(stderr)}},
	}
	texts := func(m types.GomegaMatcher, actual any) string {
		_, err := m.Match(actual)
		all := []string{m.FailureMessage(actual), m.NegatedFailureMessage(actual)}
		if err != nil {
			all = append(all, err.Error(), format.Object(err, 0))
		}
		return strings.Join(all, "\n")
	}

	for name, matcher := range ofRuns {
		It("show no argument, environment, directory, input or output: "+name, func() {
			quiet := []any{run(loud), run(fake.Script{Pending: true}), mustResult(run(loud)), mustResult(run(loud)).Check(), fmt.Errorf("%s", argument)}
			for _, actual := range quiet {
				shown := texts(matcher(), actual)
				for _, canary := range []string{argument, value, dir, input} {
					Expect(shown).NotTo(ContainSubstring(canary))
				}
				if !aboutOutput[name] {
					Expect(shown).NotTo(ContainSubstring("canary"))
				}
			}
		})
	}

	It("show output where the matcher is about output, and not when that is redacted", func() {
		for _, v := range []any{"other", regexp.MustCompile("other"), ContainSubstring("other")} {
			Expect(texts(HaveStdout(v), run(loud))).To(And(ContainSubstring(stdout), Not(ContainSubstring(stderr))))
			Expect(texts(HaveStderr(v), run(loud))).To(And(ContainSubstring(stderr), Not(ContainSubstring(stdout))))
			Expect(texts(HaveStdout(v).Redacted(), run(loud))).NotTo(Or(ContainSubstring("canary"), ContainSubstring("other")))
			Expect(texts(HaveStderr(v).Redacted(), run(loud))).NotTo(Or(ContainSubstring("canary"), ContainSubstring("other")))
			Expect(texts(HaveOutput(v).Redacted(), run(loud))).NotTo(Or(ContainSubstring("canary"), ContainSubstring("other")))
		}
	})

	It("show lines of output unless they are redacted", func() {
		for _, lines := range [][]any{{"other"}, {ContainSubstring("other")}, {}, {stdout, "other"}} {
			Expect(texts(HaveStdoutLines(lines...), run(loud))).To(And(ContainSubstring(stdout), Not(ContainSubstring(stderr))))
			Expect(texts(HaveStdoutLines(lines...).Redacted(), run(loud))).NotTo(Or(ContainSubstring("canary"), ContainSubstring("other")))
		}
	})

	It("cannot be made to play tricks on a terminal", func() {
		evil := "\x1b[2J\u202e\r\n"
		survivor := contain.Member{PID: 1, Name: evil}
		p, err := fake.Play(context.Background(), runner.Command(evil), fake.Script{
			Outcome: runner.Exited(3), Chunks: []fake.Chunk{{Data: []byte(evil)}, {Stream: runner.Stderr, Data: []byte(evil)}},
			Teardown: runner.Teardown{Mechanism: contain.Mechanism("x"), Survivors: []contain.Member{survivor}, Err: fmt.Errorf("%s", evil)},
		})
		Expect(err).NotTo(HaveOccurred())
		for name, matcher := range ofRuns {
			for _, tricks := range []string{"\x1b", "\u202e", "\r"} {
				Expect(texts(matcher(), p)).NotTo(ContainSubstring(tricks), name)
			}
		}
	})
})

func mustResult(p *runner.Process) *runner.Result {
	res, _ := p.Result()
	return res
}
