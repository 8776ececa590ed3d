//go:build unix

package cassette_test

import (
	"bufio"
	"context"
	"fmt"
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
			info, err := os.Stat(path)
			Expect(err).NotTo(HaveOccurred())
			Expect(info.Mode()).To(Equal(os.FileMode(0o600)))
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

// killSavers kills savers at random instants, and counts the files that are neither of the two that they save.
func killSavers(ctx context.Context, how, path string) (torn int, left map[string]int) {
	GinkgoHelper()
	one, two := string(generation(1)), string(generation(2))
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
		if content := contents(path); content != one && content != two {
			torn++
		}
		left[strings.Join(names(filepath.Dir(path)), " ")]++
	}
	return torn, left
}
