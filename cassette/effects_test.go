package cassette_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("Files of a command", func() {
	// build is a directory, and a runner whose command changes files in it.
	build := func() (string, runner.Runner) {
		GinkgoHelper()
		dir := GinkgoT().TempDir()
		put := func(name, text string, mode os.FileMode) {
			file := filepath.Join(dir, filepath.FromSlash(name))
			Expect(os.MkdirAll(filepath.Dir(file), 0o700)).To(Succeed())
			_ = os.Remove(file)
			Expect(os.WriteFile(file, []byte(text), mode)).To(Succeed())
		}
		put("src/main.c", "int main;\n", 0o600)
		put("out/old.json", "{}", 0o600)
		put("out/same.json", "same", 0o600)
		put("out/changed.json", "one", 0o600)
		r := fake.New()
		r.On("build").ReplyFunc(func(*runner.Cmd) []fake.Reply {
			Expect(os.Remove(filepath.Join(dir, "out", "old.json"))).To(Succeed())
			put("out/changed.json", "two\nlines\n", 0o600)
			put("out/deep/er/new.json", "new", 0o600)
			put("bin/tool", "#!/bin/sh\n", 0o700)
			put("log.txt", "log", 0o600)
			return nil
		})
		return dir, r
	}
	command := func(dir string) *runner.Cmd {
		cmd := runner.Command("build")
		cmd.Dir = dir
		return cmd
	}
	record := func(ctx context.Context, opts ...cassette.Option) (string, *cassette.Recorder) {
		GinkgoHelper()
		dir, inner := build()
		path := tempFile()
		rec, err := cassette.NewRecorder(path, inner, append(opts, cassette.WithToken("tmp", dir))...)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(rec.Close)
		_, err = runner.Run(ctx, rec, command(dir))
		Expect(err).NotTo(HaveOccurred())
		Expect(rec.Save()).To(Succeed())
		return path, rec
	}
	declared := cassette.WithEffects("out/**", "bin/*")

	It("are kept where they are declared, and counted where they are not", func(ctx context.Context) {
		path, rec := record(ctx, declared)
		Expect(timeless(runsOf(path))).To(HaveSuffix(`  exit 0
  tape 0x
  file "bin/tool" executable
  data "#!/bin/sh\n"
  file "out/changed.json"
  data "two\n"
  data "lines\n"
  file "out/deep/er/new.json"
  data "new"
  gone "out/old.json"
  x-undeclared 1
`))
		Expect(rec.Undeclared()).To(Equal([]cassette.Undeclared{{Run: 1, Program: "build", Files: 1}}))
		Expect(rec.Undeclared()[0].String()).To(ContainSubstring("changed 1 file that a replay does not"))
		Expect(cassette.Lint([]byte(contents(path)))).To(ConsistOf(HaveField("Text", ContainSubstring("it changed 1 files"))))
	})

	It("are there again when the run is replayed", func(ctx context.Context) {
		path, _ := record(ctx, declared)
		dir := GinkgoT().TempDir()
		Expect(os.MkdirAll(filepath.Join(dir, "out"), 0o700)).To(Succeed())
		Expect(os.WriteFile(filepath.Join(dir, "out", "old.json"), nil, 0o600)).To(Succeed())
		player := play(path, declared, cassette.WithToken("tmp", dir))
		_, err := runner.Run(ctx, player, command(dir))
		Expect(err).NotTo(HaveOccurred())
		Expect(contents(filepath.Join(dir, "out", "changed.json"))).To(Equal("two\nlines\n"))
		Expect(contents(filepath.Join(dir, "out", "deep", "er", "new.json"))).To(Equal("new"))
		Expect(filepath.Join(dir, "out", "old.json")).NotTo(BeAnExistingFile())
		Expect(filepath.Join(dir, "log.txt")).NotTo(BeAnExistingFile())
		Expect(player.Check()).To(Succeed())
	})

	It("are not restored where the test does not allow it, and never silently left out", func(ctx context.Context) {
		path, _ := record(ctx, declared)
		for _, opts := range [][]cassette.Option{nil, {cassette.WithEffects("out/*.json", "bin/*")}} {
			dir := GinkgoT().TempDir()
			player := play(path, append(opts, cassette.WithToken("tmp", dir))...)
			_, err := runner.Run(ctx, player, command(dir))
			var refused *cassette.EffectError
			Expect(errors.As(err, &refused)).To(BeTrue(), "%v", err)
			Expect(err).To(And(MatchError(cassette.ErrEffect), Not(MatchError(cassette.ErrMiss))))
			Expect(refused.Run).To(Equal(1))
			Expect(names(dir)).To(BeEmpty())
			Expect(player.Check()).To(MatchError(cassette.ErrEffect))
		}
	})

	It("are written through no link that leads out of the directory", func(ctx context.Context) {
		path, _ := record(ctx, declared)
		dir, elsewhere := GinkgoT().TempDir(), GinkgoT().TempDir()
		Expect(os.Symlink(elsewhere, filepath.Join(dir, "out"))).To(Succeed())
		player := play(path, declared, cassette.WithToken("tmp", dir))
		_, err := runner.Run(ctx, player, command(dir))
		Expect(err).To(MatchError(cassette.ErrEffect))
		Expect(err.Error()).NotTo(ContainSubstring(dir))
		Expect(names(elsewhere)).To(BeEmpty())
	})

	It("hold no secret, have tokens, and lie aside when they are large", func(ctx context.Context) {
		dir := GinkgoT().TempDir()
		inner := fake.New()
		text := "token ghp_0123456789abcdefghijABCDEFGHIJ012345\nin " + dir + "\n"
		inner.On("build").ReplyFunc(func(*runner.Cmd) []fake.Reply {
			Expect(os.WriteFile(filepath.Join(dir, "a.txt"), []byte(text), 0o600)).To(Succeed())
			Expect(os.WriteFile(filepath.Join(dir, "b.bin"), noise(4, 100<<10), 0o600)).To(Succeed())
			return nil
		})
		path := tempFile()
		all := cassette.WithEffects("**")
		recordTo(ctx, path, inner, []cassette.Option{all, cassette.WithToken("tmp", dir)}, command(dir))
		Expect(contents(path)).To(And(Not(ContainSubstring("ghp_0123")), ContainSubstring(`data "in <tmp:1>\n"`), ContainSubstring("  data-file sha256:")))
		before := contents(path)
		Expect(os.Remove(filepath.Join(dir, "a.txt"))).To(Succeed())
		Expect(os.Remove(filepath.Join(dir, "b.bin"))).To(Succeed())
		recordTo(ctx, path, inner, []cassette.Option{all, cassette.WithToken("tmp", dir)}, command(dir))
		Expect(contents(path)).To(Equal(before), "the same again changes nothing")

		other := GinkgoT().TempDir()
		player := play(path, all, cassette.WithToken("tmp", other))
		_, err := runner.Run(ctx, player, command(other))
		Expect(err).NotTo(HaveOccurred())
		Expect(contents(filepath.Join(other, "a.txt"))).To(HaveSuffix("in " + other + "\n"))
		Expect(contents(filepath.Join(other, "b.bin")) == string(noise(4, 100<<10))).To(BeTrue())
	})

	DescribeTable("are declared by patterns that stay below the directory",
		func(pattern string, good bool) {
			_, err := cassette.NewPlayer(func() *cassette.Tape { t, _ := cassette.Parse(sealed("cassette 1\n")); return t }(), cassette.WithEffects(pattern))
			if good {
				Expect(err).NotTo(HaveOccurred())
			} else {
				Expect(err).To(MatchError(cassette.ErrEffect))
			}
		},
		Entry("names", "out/*.json", true), Entry("directories", "**/x", true), Entry("above", "../x", false), Entry("absolute", "/x", false),
		Entry("nothing", "", false), Entry("the directory itself", ".", false), Entry("one that does not read", "a/[", false),
	)

	DescribeTable("are refused where their lines make no sense",
		func(lines string) {
			_, err := cassette.Parse([]byte("cassette 1\nrun\n  argv \"x\"\n  exit 0\n" + lines + "end 1 sha256:" + strings.Repeat("0", 64) + "\n"))
			Expect(err).To(And(MatchError(cassette.ErrCorrupt), Not(MatchError(cassette.ErrChecksum))))
		},
		Entry("above the directory", "  file \"../x\"\n"), Entry("absolute", "  file \"/x\"\n"), Entry("not clean", "  file \"a//b\"\n"), Entry("no name", "  file \"\"\n"),
		Entry("not sorted", "  file \"b\"\n  file \"a\"\n"), Entry("twice", "  file \"a\"\n  gone \"a\"\n"),
		Entry("data of none", "  data \"x\"\n"), Entry("data of one that is gone", "  gone \"a\"\n  data \"x\"\n"),
		Entry("two encodings", "  file \"a\"\n  data \"x\"\n  data64 AAA=\n"), Entry("behind the end", "  file \"a\"\n  data64 AAA=\n  data64 AAA=\n"),
		Entry("another mode", "  file \"a\" setuid\n"), Entry("of a run that never was", "  gone \"a\" executable\n"),
	)
})
