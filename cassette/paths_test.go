package cassette_test

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/internal/suite"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("Paths", func() {
	It("become tokens, longest first, and the live ones at replay", func(ctx context.Context) {
		cwd, err := os.Getwd()
		Expect(err).NotTo(HaveOccurred())
		module := filepath.Dir(cwd)
		GinkgoT().Setenv("HOME", "/home/somebody")
		path := tempFile()
		inner := fake.New()
		out := cwd + "/x " + module + "/y /home/somebody/z /home/somebodyelse /mnt/home/somebody\n"
		inner.On("tool").Reply(fake.Stdout(out))
		cmd := runner.Command("tool", "--file="+cwd+"/x")
		cmd.Dir = module
		recordTo(ctx, path, inner, []cassette.Option{cassette.WithPaths()}, cmd)
		Expect(contents(path)).To(HavePrefix("cassette 1\ntokens module:1 cwd:1 home:1\n"))
		Expect(runsOf(path)).To(And(
			ContainSubstring(`argv "--file=<cwd:1>/x"`), ContainSubstring(`dir "<module:1>"`),
			ContainSubstring(`out "<cwd:1>/x <module:1>/y <home:1>/z /home/somebodyelse /mnt/home/somebody\n"`),
		))

		By("elsewhere")
		GinkgoT().Setenv("HOME", "/Users/else")
		res, err := runner.Run(ctx, play(path, cassette.WithPaths()), cmd)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveStdout(strings.Replace(out, "/home/somebody/z", "/Users/else/z", 1)))
	})

	It("of one test are its temporary directory", func(ctx context.Context) {
		base := GinkgoT().TempDir()
		name := filepath.Join(base, "x.cassette")
		record := func(dir string, mode cassette.Mode, inner runner.Runner) string {
			tb := &suite.TB{Test: "T", Temp: filepath.Join(dir, "001")}
			GinkgoT().Setenv(cassette.EnvMode, string(mode))
			deck := cassette.OpenForTest(tb, name, cassette.WithPaths(), cassette.WithRunner(inner))
			Expect(tb.Fatal).To(BeEmpty())
			out, err := runner.Output(ctx, deck, runner.Command("tool", dir+"/002/f"))
			Expect(err).NotTo(HaveOccurred())
			tb.End()
			Expect(tb.Fatal).To(BeEmpty())
			return out
		}
		inner := fake.New()
		inner.On("tool").Reply(fake.Stdout("wrote " + base + "/T1/002/f"))
		GinkgoT().Setenv("CI", "")
		Expect(record(base+"/T1", cassette.Record, inner)).To(Equal("wrote " + base + "/T1/002/f"))
		Expect(contents(name)).To(ContainSubstring("<tmp:1>/002/f"))
		Expect(record(base+"/T2", cassette.Replay, nil)).To(Equal("wrote " + base + "/T2/002/f"))
	})

	It("are found and given back in their escaped spellings", func(ctx context.Context) {
		path := tempFile()
		text := func(dir string) string {
			quoted, _ := json.Marshal(dir)
			return string(quoted) + " file=" + url.QueryEscape(dir) + " " + strings.ReplaceAll(dir, `\`, "/") + "\n"
		}
		inner := fake.New()
		old, live := `C:\Users\me & you`, `D:\a "b"`
		inner.On("tool").Reply(fake.Stdout(text(old)))
		recordTo(ctx, path, inner, []cassette.Option{cassette.WithToken("d", old)}, runner.Command("tool"))
		Expect(contents(path)).To(ContainSubstring(`out "\"<d:1:json>\" file=<d:1:url> <d:1:slash>\n"`))
		res, err := runner.Run(ctx, play(path, cassette.WithToken("d", live)), runner.Command("tool"))
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveStdout(text(live)))
	})
})
