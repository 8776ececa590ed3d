package cassette_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/runner"
	"github.com/boombox-go/boombox/runner/runnertest"
)

var _ = Describe("Secrets", func() {
	const inArg, inDir, inStdin, inOut, inErr, inEnv, inToken = "sentinel-arg", "/sentinel-dir", "sentinel-stdin", "sentinel-out", "sentinel-err", "sentinel-env", "/sentinel-token"
	secrets := []string{inArg, inDir, inStdin, inOut, inErr, inEnv, inToken}

	It("are shown by no printer of this package", func(ctx context.Context) {
		path := tempFile()
		inner := fake.New()
		inner.On("tool").Reply(fake.Stdout(inOut), fake.Stderr(inErr))
		rec, err := cassette.NewRecorder(path, inner, cassette.WithToken("t", inToken))
		Expect(err).NotTo(HaveOccurred())
		defer rec.Close()
		cmd := func(arg string) *runner.Cmd {
			cmd := runner.Command("tool", arg, inToken)
			cmd.Dir = inDir
			cmd.Stdin = runner.StdinString(inStdin)
			cmd.Env = cmd.Env.Set("BOOMBOX_SENTINEL", inEnv)
			return cmd
		}
		_, err = runner.Run(ctx, rec, cmd(inArg))
		Expect(err).NotTo(HaveOccurred())
		Expect(rec.Save()).To(Succeed())
		Expect(contents(path)).To(ContainSubstring("BOOMBOX_SENTINEL"))
		Expect(contents(path)).NotTo(ContainSubstring(inEnv))

		tape, err := cassette.Load(path)
		Expect(err).NotTo(HaveOccurred())
		GinkgoT().Setenv(cassette.EnvMode, "")
		deck, err := cassette.Open(path, cassette.WithToken("t", inToken))
		Expect(err).NotTo(HaveOccurred())
		player, err := cassette.NewPlayer(tape, cassette.WithToken("t", inToken))
		Expect(err).NotTo(HaveOccurred())
		_, miss := runner.Run(ctx, player, cmd(inArg+"2"))
		Expect(miss).To(MatchError(cassette.ErrMiss))
		Expect(missOf(miss).Explain()).To(ContainSubstring(inArg+"2"), "the witness: where it may be shown, it is")

		for name, v := range map[string]any{
			"recorder": rec, "tape": tape, "run": tape.Runs()[0], "runs": tape.Runs(), "deck": deck, "player": player,
			"miss": miss, "misses": player.Misses(), "unplayed": player.Unplayed(), "check": player.Check(),
			"tape by value": *tape, "run by value": *tape.Runs()[0],
		} {
			Expect(runnertest.Leaks(v, secrets...)).To(BeEmpty(), name)
		}
		Expect(runnertest.Leaks(tape.Runs()[0].Argv(), secrets...)).NotTo(BeEmpty(), "the witness: what is not sealed is found")
	})

	It("still lets printers say what there is", func() {
		tape, err := cassette.Parse(sealed(body))
		Expect(err).NotTo(HaveOccurred())
		Expect(tape.String()).To(MatchRegexp(`^cassette of 3 runs, \d+ bytes$`))
		Expect(tape.Runs()[0].String()).To(Equal(`run 1: "git" with 1 argument, exited 3, 28 bytes on stdout, 20 on stderr`))
		Expect(tape.Runs()[2].String()).To(Equal(`run 3: "nosuch" with 0 arguments, start error not-found, 0 bytes on stdout, 0 on stderr`))
	})
})
