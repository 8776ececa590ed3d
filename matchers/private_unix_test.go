//go:build unix

package matchers_test

import (
	"io/fs"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/boombox-go/boombox/matchers"
)

// file is what has a path, as a recorder does.
type file string

func (f file) Path() string { return string(f) }

// nowhere is an fs.FileInfo that no file system made.
type nowhere struct{ fs.FileInfo }

func (nowhere) Sys() any { return nil }

var _ = Describe("HaveMode", func() {
	path := func() string {
		path := filepath.Join(GinkgoT().TempDir(), "hook")
		Expect(os.WriteFile(path, nil, 0o600)).To(Succeed())
		Expect(os.Chmod(path, 0o750)).To(Succeed())
		return path
	}

	It("compares permission bits, and says them in octal", func() {
		m := HaveMode(0o750)
		Expect(m.Match(path())).To(BeTrue())
		expectGolden("HaveMode", "same", "(negated) "+m.NegatedFailureMessage(nil))
		m = HaveMode(0o755)
		Expect(m.Match(file(path()))).To(BeFalse())
		expectGolden("HaveMode", "other", m.FailureMessage(nil))
	})

	It("has no verdict about a file that is not there, or something else", func() {
		for _, actual := range []any{nil, 7, "no/such/file"} {
			_, err := HaveMode(0o755).Match(actual)
			Expect(err).To(MatchError(HavePrefix("matchers: ")))
		}
	})
})

var _ = Describe("BePrivateFile", Ordered, func() {
	var dir string
	path := func(name string) string { return filepath.Join(dir, name) }

	BeforeAll(func() {
		dir = GinkgoT().TempDir()
		for name, mode := range map[string]fs.FileMode{"private": 0o600, "read-only": 0o400, "shared": 0o640, "open": 0o606} {
			Expect(os.WriteFile(path(name), nil, 0o600)).To(Succeed())
			Expect(os.Chmod(path(name), mode)).To(Succeed())
		}
		Expect(os.Symlink(path("private"), path("link"))).To(Succeed())
		Expect(os.Mkdir(path("dir"), 0o700)).To(Succeed())
	})

	verdicts("BePrivateFile", func() []verdict {
		return []verdict{
			{"private", BePrivateFile(), path("private"), true},
			{"private, by what has a path", BePrivateFile(), file(path("private")), true},
			{"read-only", BePrivateFile(), path("read-only"), true},
			{"group may read", BePrivateFile(), path("shared"), false},
			{"others may write", BePrivateFile(), path("open"), false},
			{"symbolic link", BePrivateFile(), path("link"), false},
			{"directory", BePrivateFile(), path("dir"), false},
		}
	})

	It("takes an fs.FileInfo", func() {
		info, err := os.Stat(path("private"))
		Expect(err).NotTo(HaveOccurred())
		Expect(info).To(BePrivateFile())
		_, err = BePrivateFile().Match(nowhere{info})
		Expect(err).To(MatchError(ContainSubstring("cannot tell the owner")))
	})

	It("says no to a file of somebody else", func() {
		if os.Geteuid() != 0 {
			Skip("only root can give a file away")
		}
		Expect(os.WriteFile(path("given"), nil, 0o600)).To(Succeed())
		Expect(os.Chown(path("given"), 65534, 65534)).To(Succeed())
		m := BePrivateFile()
		Expect(m.Match(path("given"))).To(BeFalse())
		Expect(m.FailureMessage(nil)).To(ContainSubstring("it belongs to somebody else"))
	})

	It("has no verdict about a file that is not there, and does not show its folder", func() {
		_, err := BePrivateFile().Match(path("missing"))
		Expect(err).To(MatchError(fs.ErrNotExist))
		Expect(err).To(MatchError("matchers: cannot look at file `missing`: no such file or directory"))
	})

	It("refuses other types", func() {
		_, err := BePrivateFile().Match(7)
		Expect(err).To(MatchError("matchers: BePrivateFile cannot judge a int; it takes a path, an fs.FileInfo, or what has a Path() string method"))
		_, err = BePrivateFile().Match(nil)
		Expect(err).To(HaveOccurred())
	})
})

func ExampleBePrivateFile() {
	g, _ := example()
	dir, _ := os.MkdirTemp("", "example")
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "session.cassette")
	_ = os.WriteFile(path, nil, 0o600)

	g.Expect(path).To(BePrivateFile())
	// Output:
}

func ExampleHaveMode() {
	g, _ := example()
	dir, _ := os.MkdirTemp("", "example")
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "hook")
	_ = os.WriteFile(path, nil, 0o600)

	g.Expect(path).To(HaveMode(0o600))
	g.Expect(path).To(HaveMode(0o755))
	// Output:
	// Expected file `hook` to have mode 0755
	//     got:        0600 (-rw-------)
}
