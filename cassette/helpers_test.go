package cassette_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/runner"
)

// tempFile is a path in a fresh directory.
func tempFile() string {
	GinkgoHelper()
	return filepath.Join(GinkgoT().TempDir(), "x.cassette")
}

// recordTo runs cmds one after the other with inner, and saves them.
func recordTo(ctx context.Context, path string, inner runner.Runner, opts []cassette.Option, cmds ...*runner.Cmd) {
	GinkgoHelper()
	rec, err := cassette.NewRecorder(path, inner, opts...)
	Expect(err).NotTo(HaveOccurred())
	defer func() { Expect(rec.Close()).To(Succeed()) }()
	for _, cmd := range cmds {
		var start *runner.StartError
		if _, err := runner.Run(ctx, rec, cmd); err != nil && !errors.As(err, &start) && !errors.Is(err, runner.ErrCancelled) {
			Expect(err).NotTo(HaveOccurred())
		}
	}
	Expect(rec.Save()).To(Succeed())
}

// play loads a cassette and plays it.
func play(path string, opts ...cassette.Option) *cassette.Player {
	GinkgoHelper()
	tape, err := cassette.Load(path)
	Expect(err).NotTo(HaveOccurred())
	player, err := cassette.NewPlayer(tape, opts...)
	Expect(err).NotTo(HaveOccurred())
	return player
}

// playText plays a cassette that is written by hand, without its trailer.
func playText(text string, opts ...cassette.Option) *cassette.Player {
	GinkgoHelper()
	tape, err := cassette.Parse(sealed(text))
	Expect(err).NotTo(HaveOccurred())
	player, err := cassette.NewPlayer(tape, opts...)
	Expect(err).NotTo(HaveOccurred())
	return player
}

// contents is the text of a file.
func contents(path string) string {
	GinkgoHelper()
	data, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	return string(data)
}

// runsOf is the text of a file without its first line and its trailer.
func runsOf(path string) string {
	GinkgoHelper()
	_, text, _ := strings.Cut(contents(path), "\n")
	return text[:strings.LastIndex(text, "end ")]
}

// arrival is the time in each entry of a tape line.
var arrival = regexp.MustCompile(`( )\d+([oei]\d+|r\d+x\d+|[xc])`)

// timeless is a cassette's text as if everything had come at once, however busy the machine was.
func timeless(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "  tape ") {
			lines[i] = arrival.ReplaceAllString(line, "${1}0$2")
		}
	}
	return strings.Join(lines, "")
}

// missOf is the miss behind err.
func missOf(err error) *cassette.MissError {
	GinkgoHelper()
	var miss *cassette.MissError
	Expect(errors.As(err, &miss)).To(BeTrue(), "%v", err)
	Expect(err).To(MatchError(cassette.ErrMiss))
	return miss
}

// names lists a directory.
func names(dir string) []string {
	GinkgoHelper()
	entries, err := os.ReadDir(dir)
	Expect(err).NotTo(HaveOccurred())
	list := []string{}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// edit replaces the first old in a file by text, and seals it.
func edit(path, old, text string) {
	GinkgoHelper()
	Expect(contents(path)).To(ContainSubstring(old))
	data, err := cassette.Reseal([]byte(strings.Replace(contents(path), old, text, 1)))
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(path, data, 0o600)).To(Succeed())
}
