//go:build unix

package cassette_test

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	. "github.com/boombox-go/boombox/matchers"
)

var _ = Describe("Saving", func() {
	DescribeTable("makes the file ours alone",
		func(umask int, existing os.FileMode) {
			path := tempFile()
			if existing != 0 {
				Expect(os.WriteFile(path, generation(1), 0o600)).To(Succeed())
				Expect(os.Chmod(path, existing)).To(Succeed())
			}
			old := syscall.Umask(umask)
			defer syscall.Umask(old)
			tape, err := cassette.Parse(generation(2))
			Expect(err).NotTo(HaveOccurred())
			Expect(tape.Save(path)).To(Succeed())
			Expect(path).To(And(BePrivateFile(), HaveMode(0o600)))
		},
		Entry("under umask 0", 0, os.FileMode(0)),
		Entry("under umask 077", 0o077, os.FileMode(0)),
		Entry("under umask 0277, which takes our own rights", 0o277, os.FileMode(0)),
		Entry("over a file that everybody can read", 0o022, os.FileMode(0o644)),
		Entry("over a file that everybody can write, under umask 0", 0, os.FileMode(0o666)),
	)

	It("never loses the old file to a kill at any instant", Label("live"), func(ctx context.Context) {
		path := tempFile()
		one := generation(1)
		Expect(os.WriteFile(path, one, 0o600)).To(Succeed())
		torn, left := killSavers(ctx, "save", path)
		Expect(torn).To(BeZero())
		AddReportEntry("files seen after a kill", left)

		By("and takes over what was left behind")
		tape, err := cassette.Parse(one)
		Expect(err).NotTo(HaveOccurred())
		Expect(os.Remove(path)).To(Succeed())
		Expect(tape.Save(path)).To(Succeed())
		Expect(names(filepath.Dir(path))).To(Equal([]string{"x.cassette"}))
	})

	It("would lose it, written in place", Label("live"), func(ctx context.Context) {
		path := tempFile()
		Expect(os.WriteFile(path, generation(1), 0o600)).To(Succeed())
		torn, _ := killSavers(ctx, "in-place", path)
		Expect(torn).To(BeNumerically(">", 0), "the kills come at instants that matter")
	})

	It("never loses a side file to a kill at any instant, and lint and prune know what stays", Label("live"), func(ctx context.Context) {
		path := tempFile()
		Expect(bulkyTape(1).Save(path)).To(Succeed())
		torn, left := killSavers(ctx, "side", path)
		Expect(torn).To(BeZero())
		AddReportEntry("files seen after a kill", left)

		By("and is as if nothing had been, once that is removed")
		Expect(cassette.RemoveOrphans(path)).To(Succeed())
		Expect(cassette.LintAt([]byte(contents(path)), path)).To(BeEmpty())
		Expect(names(filepath.Dir(path))).To(ConsistOf("x.cassette", "x.blobs"))
		Expect(names(sideDir(path))).To(HaveLen(3))
	})

	It("would lose side files, written behind the cassette", Label("live"), func(ctx context.Context) {
		path := tempFile()
		Expect(bulkyTape(1).Save(path)).To(Succeed())
		torn, _ := killSavers(ctx, "cassette-first", path)
		Expect(torn).To(BeNumerically(">", 0), "the kills come at instants that matter")
	})

	It("does not take the lock of somebody who records for a leftover", func(ctx context.Context) {
		path := tempFile()
		rec, err := cassette.NewRecorder(path, nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(cassette.RemoveOrphans(path)).To(MatchError(cassette.ErrLocked))
		_, orphaned, err := cassette.SideFiles(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(orphaned).To(ConsistOf(HaveSuffix(".x.cassette.lock")))
		Expect(rec.Save()).To(Succeed())
		Expect(rec.Close()).To(Succeed())
		Expect(cassette.RemoveOrphans(path)).To(Succeed())
		Expect(names(filepath.Dir(path))).To(Equal([]string{"x.cassette"}))
	})

	It("names the process that holds the lock", func(ctx context.Context) {
		path := tempFile()
		cmd := startSaver(ctx, "save", path)
		defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
		tape, err := cassette.Parse(generation(3))
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, func() error { return tape.Save(path) }).WithPolling(time.Microsecond).Should(
			MatchError(HaveSuffix(fmt.Sprintf("is being recorded to by process %d", cmd.Process.Pid))))
	})
})

// startSaver starts a process that saves to path until it is killed, and waits until it has begun.
func startSaver(ctx context.Context, how, path string) *exec.Cmd {
	GinkgoHelper()
	self, err := os.Executable()
	Expect(err).NotTo(HaveOccurred())
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), saverEnv+"="+how+":"+path)
	out, err := cmd.StdoutPipe()
	Expect(err).NotTo(HaveOccurred())
	Expect(cmd.Start()).To(Succeed())
	line, err := bufio.NewReader(out).ReadString('\n')
	Expect(err).NotTo(HaveOccurred())
	Expect(line).To(Equal("ready\n"))
	return cmd
}

// killSavers kills savers at random instants. It counts after how many kills the file was neither of the two that they save, or something that it
// needs was gone, and wants the rest of what is there to be known for a leftover.
func killSavers(ctx context.Context, how, path string) (torn int, left map[string]int) {
	GinkgoHelper()
	one, two := string(savers[how].tape(1).Marshal()), string(savers[how].tape(2).Marshal())
	rnd := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 11))
	rounds := 30
	if os.Getenv("BOOMBOX_LONG") == "1" {
		rounds = 200
	}
	left = map[string]int{}
	for range rounds {
		cmd := startSaver(ctx, how, path)
		// Any instant will do: this waits for nothing.
		<-time.After(time.Duration(rnd.IntN(12_000)) * time.Microsecond)
		Expect(cmd.Process.Kill()).To(Succeed())
		Expect(cmd.Wait()).To(MatchError("signal: killed"))
		left[strings.Join(names(filepath.Dir(path)), " ")]++
		content := contents(path)
		if _, err := cassette.Load(path); err != nil || content != one && content != two {
			torn++
			continue
		}
		used, orphaned, err := cassette.SideFiles(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(append(append([]string{path}, used...), orphaned...)).To(ConsistOf(filesBelow(filepath.Dir(path))))
		Expect(cassette.LintAt([]byte(content), path)).To(HaveLen(len(orphaned)))
	}
	return torn, left
}

// filesBelow are the files in a directory and in those in it.
func filesBelow(dir string) (list []string) {
	GinkgoHelper()
	Expect(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			list = append(list, path)
		}
		return err
	})).To(Succeed())
	return list
}
