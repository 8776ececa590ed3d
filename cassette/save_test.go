package cassette_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("Saving", func() {
	inner := func() *fake.Runner {
		r := fake.New()
		r.On().Reply(fake.Lines("output"))
		return r
	}
	other := func() []byte { return sealed("cassette 1\nrun\n  argv \"old\"\n  exit 0\n") }

	It("leaves the file and nothing else", func(ctx context.Context) {
		dir := filepath.Join(GinkgoT().TempDir(), "testdata", "cassettes")
		path := filepath.Join(dir, "x.cassette")
		rec, err := cassette.NewRecorder(path, inner())
		Expect(err).NotTo(HaveOccurred())
		_, err = runner.Run(ctx, rec, runner.Command("tool"))
		Expect(err).NotTo(HaveOccurred())
		Expect(rec.Save()).To(Succeed())
		Expect(rec.Save()).To(Succeed())
		Expect(rec.Close()).To(Succeed())
		Expect(names(dir)).To(Equal([]string{"x.cassette"}))
		if runtime.GOOS != "windows" {
			Expect(dir).To(HaveMode(0o700))
		}
	})

	It("leaves no directory that it made for nothing", func() {
		root := GinkgoT().TempDir()
		rec, err := cassette.NewRecorder(filepath.Join(root, "a", "b", "x.cassette"), inner())
		Expect(err).NotTo(HaveOccurred())
		Expect(rec.Close()).To(Succeed())
		Expect(names(root)).To(BeEmpty())
	})

	It("replaces a hard link, and leaves its other name alone", func(ctx context.Context) {
		path := tempFile()
		elsewhere := filepath.Join(filepath.Dir(path), "elsewhere")
		Expect(os.WriteFile(elsewhere, other(), 0o644)).To(Succeed())
		Expect(os.Link(elsewhere, path)).To(Succeed())
		recordTo(ctx, path, inner(), nil, runner.Command("tool"))
		Expect(contents(elsewhere)).To(Equal(string(other())))
		Expect(contents(path)).To(ContainSubstring(`argv "tool"`))
	})

	It("writes through no symbolic link, dangling or not", func(ctx context.Context) {
		path := tempFile()
		elsewhere := filepath.Join(filepath.Dir(path), "elsewhere")
		Expect(os.Symlink(elsewhere, path)).To(Succeed())
		for range 2 {
			_, err := cassette.NewRecorder(path, inner())
			Expect(err).To(MatchError(cassette.ErrNotRegular))
			tape, err := cassette.Parse(other())
			Expect(err).NotTo(HaveOccurred())
			Expect(tape.Save(path)).To(MatchError(cassette.ErrNotRegular))
			Expect(os.WriteFile(elsewhere, other(), 0o644)).To(Succeed())
		}
		Expect(contents(elsewhere)).To(Equal(string(other())))

		By("nor through one that came while it was recording")
		path = tempFile()
		rec, err := cassette.NewRecorder(path, inner())
		Expect(err).NotTo(HaveOccurred())
		defer rec.Close()
		Expect(os.Symlink(elsewhere, path)).To(Succeed())
		Expect(rec.Save()).To(MatchError(cassette.ErrNotRegular))
		Expect(contents(elsewhere)).To(Equal(string(other())))
	})

	It("is not misled by what lies in the way of its temporary file", func(ctx context.Context) {
		path := tempFile()
		victim := filepath.Join(GinkgoT().TempDir(), "victim")
		Expect(os.WriteFile(victim, []byte("untouched"), 0o644)).To(Succeed())
		Expect(os.Symlink(victim, filepath.Join(filepath.Dir(path), ".x.cassette.tmp"))).To(Succeed())
		recordTo(ctx, path, inner(), nil, runner.Command("tool"))
		Expect(contents(victim)).To(Equal("untouched"))
		Expect(names(filepath.Dir(path))).To(Equal([]string{"x.cassette"}))
	})

	It("keeps others out until it is closed", func(ctx context.Context) {
		path := tempFile()
		rec, err := cassette.NewRecorder(path, inner())
		Expect(err).NotTo(HaveOccurred())
		_, err = cassette.NewRecorder(path, inner())
		var locked *cassette.LockedError
		Expect(errors.As(err, &locked)).To(BeTrue())
		Expect(err).To(MatchError(cassette.ErrLocked))
		if runtime.GOOS != "windows" {
			Expect(locked.Holder).To(Equal(os.Getpid()))
			Expect(err).To(MatchError(HaveSuffix("is being recorded to by another recorder of this process")))
		}
		tape, err := cassette.Parse(other())
		Expect(err).NotTo(HaveOccurred())
		Expect(tape.Save(path)).To(MatchError(cassette.ErrLocked))
		Expect(rec.Save()).To(Succeed())

		By("while readers come and go")
		_, err = cassette.Load(path)
		Expect(err).NotTo(HaveOccurred())

		Expect(rec.Close()).To(Succeed())
		Expect(tape.Save(path)).To(Succeed())
		Expect(contents(path)).To(Equal(string(other())))
	})

	It("does not follow the working directory", func(ctx context.Context) {
		dir := GinkgoT().TempDir()
		GinkgoT().Chdir(dir)
		rec, err := cassette.NewRecorder("x.cassette", inner())
		Expect(err).NotTo(HaveOccurred())
		GinkgoT().Chdir(GinkgoT().TempDir())
		Expect(rec.Save()).To(Succeed())
		Expect(rec.Close()).To(Succeed())
		Expect(names(dir)).To(Equal([]string{"x.cassette"}))
	})

	It("leaves the old file when it fails", func(ctx context.Context) {
		path := tempFile()
		Expect(os.WriteFile(path, other(), 0o600)).To(Succeed())
		rec, err := cassette.NewRecorder(path, inner())
		Expect(err).NotTo(HaveOccurred())
		defer rec.Close()
		_, err = runner.Run(ctx, rec, runner.Command("tool"))
		Expect(err).NotTo(HaveOccurred())
		// A directory that is not empty stands where the temporary file goes.
		obstacle := filepath.Join(filepath.Dir(path), ".x.cassette.tmp")
		Expect(os.MkdirAll(filepath.Join(obstacle, "x"), 0o700)).To(Succeed())
		err = rec.Save()
		Expect(err).To(MatchError(HavePrefix("cassette: saving ")))
		Expect(contents(path)).To(Equal(string(other())))
		Expect(os.RemoveAll(obstacle)).To(Succeed())
		Expect(rec.Save()).To(Succeed())
		Expect(contents(path)).To(ContainSubstring("tool"))
	})

	It("reads at any mode, and does not touch a file of another mode that would not change", func() {
		path := tempFile()
		Expect(os.WriteFile(path, other(), 0o444)).To(Succeed())
		tape, err := cassette.Load(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(tape.Save(path)).To(Succeed())
		Expect(path).To(HaveMode(0o444))
	})

	It("names nobody's secrets in its errors", func(ctx context.Context) {
		rec, err := cassette.NewRecorder(tempFile(), inner())
		Expect(err).NotTo(HaveOccurred())
		defer rec.Close()
		_, err = runner.Run(ctx, rec, runner.Command("tool", "s3cret"+strings.Repeat("\x01", 300_000)))
		Expect(err).NotTo(HaveOccurred())
		Expect(rec.Save()).To(MatchError(Not(ContainSubstring("s3cret"))))
	})
})
