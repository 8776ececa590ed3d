package cassette_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// noise is size bytes that are no text.
func noise(seed uint64, size int) []byte {
	rnd := rand.New(rand.NewPCG(seed, 7))
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(rnd.Uint32())
	}
	return data
}

// sideDir is the folder of a cassette's side files.
func sideDir(path string) string { return strings.TrimSuffix(path, ".cassette") + ".blobs" }

var _ = Describe("A side file", func() {
	const large = 100 << 10
	cmd := func() *runner.Cmd { return runner.Command("dump") }
	// dumper writes out, or what is in it at the time.
	dumper := func(out *[]byte) runner.Runner {
		r := fake.New()
		r.On("dump").ReplyFunc(func(*runner.Cmd) []fake.Reply { return []fake.Reply{fake.Stdout(*out)} })
		return r
	}
	record := func(ctx context.Context, path string, out []byte) {
		GinkgoHelper()
		recordTo(ctx, path, dumper(&out), nil, cmd())
	}
	blobs := sideDir
	only := func(path string) string {
		GinkgoHelper()
		list := names(blobs(path))
		Expect(list).To(HaveLen(1))
		return filepath.Join(blobs(path), list[0])
	}
	sideError := func(err error) *cassette.SideFileError {
		GinkgoHelper()
		Expect(err).To(And(MatchError(cassette.ErrSideFile), MatchError(cassette.ErrCorrupt), Not(MatchError(os.ErrNotExist))))
		var side *cassette.SideFileError
		Expect(errors.As(err, &side)).To(BeTrue())
		return side
	}

	DescribeTable("takes a stream by its bytes alone",
		func(ctx context.Context, data []byte, aside bool) {
			path := tempFile()
			record(ctx, path, data)
			player := play(path)
			res, err := runner.Run(ctx, player, cmd())
			Expect(err).NotTo(HaveOccurred())
			Expect(bytes.Equal(res.Stdout(), data)).To(BeTrue())
			if !aside {
				Expect(names(filepath.Dir(path))).To(Equal([]string{"x.cassette"}))
				return
			}
			Expect(contents(only(path)) == string(data)).To(BeTrue())
			Expect(contents(path)).To(ContainSubstring("  out-file sha256:" + filepath.Base(only(path))))
			Expect(only(path)).To(BePrivateFile())
			Expect(len(contents(path))).To(BeNumerically("<", 300))
		},
		Entry("small and no text", noise(1, 64<<10), false),
		Entry("large and no text", noise(1, 64<<10+1), true),
		Entry("text of 1 MiB", bytes.Repeat([]byte("0123456789abcde\n"), 1<<16), false),
		Entry("more text", bytes.Repeat([]byte("0123456789abcde\n"), 1<<16+1), true),
	)

	It("holds input and both outputs, one content once", func(ctx context.Context) {
		path := tempFile()
		data := noise(2, large)
		inner := fake.New()
		inner.On().Reply(fake.Stdout(data), fake.Stderr(data))
		with := func() *runner.Cmd {
			c := cmd()
			c.Stdin = runner.StdinOf(data)
			return c
		}
		recordTo(ctx, path, inner, nil, with())
		only(path)
		player := play(path)
		res, err := runner.Run(ctx, player, with())
		Expect(err).NotTo(HaveOccurred())
		Expect(bytes.Equal(res.Stderr(), data)).To(BeTrue())
		_, err = runner.Run(ctx, player, cmd())
		Expect(err).To(MatchError(cassette.ErrMiss))
	})

	It("is left alone when the same is recorded again, and goes when another is", func(ctx context.Context) {
		path := tempFile()
		record(ctx, path, noise(1, large))
		first, text := only(path), contents(path)
		record(ctx, path, noise(1, large))
		Expect(contents(path)).To(Equal(text))
		Expect(only(path)).To(Equal(first))
		record(ctx, path, noise(2, large))
		Expect(only(path)).NotTo(Equal(first))
		record(ctx, path, []byte("small"))
		Expect(names(filepath.Dir(path))).To(Equal([]string{"x.cassette"}))
	})

	DescribeTable("that is not what was recorded is told by its name",
		func(ctx context.Context, spoil func(file string), reason string) {
			GinkgoT().Setenv(cassette.EnvMode, "")
			path := tempFile()
			record(ctx, path, noise(1, large))
			file, text := only(path), contents(path)
			spoil(file)
			_, err := cassette.Load(path)
			side := sideError(err)
			Expect(side).To(HaveValue(Equal(cassette.SideFileError{Path: path, Name: filepath.Base(file), Run: 1, Line: 2, Reason: side.Reason})))
			Expect(side.Reason).To(ContainSubstring(reason))
			_, err = cassette.Open(path)
			sideError(err)
			problems := cassette.LintAt([]byte(text), path)
			Expect(problems).To(HaveLen(1))
			Expect(problems[0].Text).To(ContainSubstring(filepath.Base(file)))

			By("and brought back by recording again")
			record(ctx, path, noise(1, large))
			Expect(timeless(contents(path))).To(HavePrefix(timeless(text[:strings.Index(text, "  tape")])))
			play(path)
		},
		Entry("missing", func(file string) { Expect(os.Remove(file)).To(Succeed()) }, "missing"),
		Entry("longer", func(file string) { Expect(os.WriteFile(file, noise(1, large+1), 0o600)).To(Succeed()) }, "length"),
		Entry("altered", func(file string) { Expect(os.WriteFile(file, noise(3, large), 0o600)).To(Succeed()) }, "content"),
		Entry("a link", func(file string) {
			elsewhere := filepath.Join(GinkgoT().TempDir(), "real")
			Expect(os.Rename(file, elsewhere)).To(Succeed())
			Expect(os.Symlink(elsewhere, file)).To(Succeed())
		}, "regular"),
	)

	It("is not written through a link of its folder", func(ctx context.Context) {
		path := tempFile()
		elsewhere := GinkgoT().TempDir()
		Expect(os.Symlink(elsewhere, blobs(path))).To(Succeed())
		out := noise(1, large)
		rec, err := cassette.NewRecorder(path, dumper(&out))
		Expect(err).NotTo(HaveOccurred())
		defer rec.Close()
		_, err = runner.Run(ctx, rec, cmd())
		Expect(err).NotTo(HaveOccurred())
		Expect(rec.Save()).To(MatchError(cassette.ErrNotRegular))
		Expect(names(elsewhere)).To(BeEmpty())
	})

	It("that no run uses is seen by lint", func(ctx context.Context) {
		path := tempFile()
		record(ctx, path, noise(1, large))
		left := filepath.Join(blobs(path), ".left.tmp")
		Expect(os.WriteFile(left, nil, 0o600)).To(Succeed())
		used, orphaned, err := cassette.SideFiles(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(used).To(HaveLen(1))
		Expect(orphaned).To(Equal([]string{left}))
		Expect(cassette.LintAt([]byte(contents(path)), path)).To(ConsistOf(HaveField("Text", ContainSubstring("used by no run"))))
		Expect(cassette.LintAt([]byte(contents(path)), "")).To(BeEmpty())
	})

	It("holds no secret", func(ctx context.Context) {
		path := tempFile()
		out := append(noise(1, large), "ghp_0123456789abcdefghijABCDEFGHIJ012345"...)
		out = append(out, noise(2, large)...)
		record(ctx, path, out)
		Expect(contents(only(path))).To(And(Not(ContainSubstring("ghp_0123")), ContainSubstring("<redacted:")))
	})

	It("is looked into by scan, and cleaned by scrub", func(ctx context.Context) {
		path := tempFile()
		out := append(noise(1, large), "ghp_0123456789abcdefghijABCDEFGHIJ012345"...)
		recordTo(ctx, path, dumper(&out), []cassette.Option{cassette.WithoutRedaction()}, cmd())
		tape, err := cassette.Load(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(tape.Scan()).To(HaveLen(1))
		clean, err := tape.Scrub()
		Expect(err).NotTo(HaveOccurred())
		Expect(clean.Save(path)).To(Succeed())
		Expect(contents(only(path))).NotTo(ContainSubstring("ghp_0123"))
	})

	It("is of no use to a cassette in memory", func(ctx context.Context) {
		path := tempFile()
		record(ctx, path, noise(1, large))
		_, err := cassette.Parse([]byte(contents(path)))
		Expect(sideError(err).Path).To(BeEmpty())
		tape, err := cassette.ParseAt([]byte(contents(path)), path)
		Expect(err).NotTo(HaveOccurred())

		By("unless it is saved with it")
		other := tempFile()
		Expect(tape.Save(other)).To(Succeed())
		Expect(contents(only(other))).To(Equal(contents(only(path))))
	})

	DescribeTable("is capped, as all else is",
		func(ctx context.Context, l cassette.Limits) {
			out := noise(1, large)
			path := tempFile()
			record(ctx, path, out)
			_, err := cassette.Load(path, cassette.WithLimits(l))
			Expect(err).To(MatchError(cassette.ErrCorrupt))
			rec, err := cassette.NewRecorder(tempFile(), dumper(&out), cassette.WithLimits(l))
			Expect(err).NotTo(HaveOccurred())
			defer rec.Close()
			for range 2 {
				_, err = runner.Run(ctx, rec, cmd())
				Expect(err).NotTo(HaveOccurred())
			}
			Expect(rec.Save()).To(Or(MatchError(cassette.ErrTooLarge), MatchError(cassette.ErrCorrupt)))
		},
		Entry("in its bytes", cassette.Limits{SideFiles: large - 1}),
		Entry("in those of the cassette", cassette.Limits{File: 150}),
		Entry("in those of a run", cassette.Limits{Run: 50}),
		Entry("in those of a line", cassette.Limits{Line: 20}),
	)

	It("has caps that are not negative", func() {
		_, err := cassette.Load("x", cassette.WithLimits(cassette.Limits{Runs: -1}))
		Expect(err).To(MatchError(cassette.ErrTooLarge))
	})

	DescribeTable("is refused where its line makes no sense",
		func(lines string) {
			_, err := cassette.Parse([]byte("cassette 1\nrun\n  argv \"x\"\n" + lines + "  exit 0\nend 1 sha256:" + strings.Repeat("0", 64) + "\n"))
			Expect(err).To(And(MatchError(cassette.ErrCorrupt), Not(MatchError(cassette.ErrChecksum)), Not(MatchError(cassette.ErrSideFile))))
		},
		Entry("another digest", "  out-file md5:0 1\n"),
		Entry("a path", "  out-file sha256:../../"+strings.Repeat("0", 58)+" 1\n"),
		Entry("capitals", "  out-file sha256:"+strings.Repeat("A", 64)+" 1\n"),
		Entry("no length", "  out-file sha256:"+strings.Repeat("a", 64)+"\n"),
		Entry("no bytes", "  out-file sha256:"+strings.Repeat("a", 64)+" 0\n"),
		Entry("beside text", "  out \"x\"\n  out-file sha256:"+strings.Repeat("a", 64)+" 1\n"),
		Entry("twice", strings.Repeat("  out-file sha256:"+strings.Repeat("a", 64)+" 1\n", 2)),
	)
})
