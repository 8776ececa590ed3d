package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/internal/suite"
)

func TestMain(m *testing.M) { suite.Main(m) }

func TestBoombox(t *testing.T) { suite.Run(t, "boombox") }

// binary is the command under test: the one that BOOMBOX_PROGRAM names, or one that is built once.
var binary string

var _ = BeforeSuite(func() {
	if binary = os.Getenv("BOOMBOX_PROGRAM"); binary != "" {
		return
	}
	dir := GinkgoT().TempDir()
	binary = filepath.Join(dir, "boombox")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	build := exec.Command("go", "build", "-o", binary, ".")
	out, err := build.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s", out)
	Expect(os.Chmod(dir, 0o755)).To(Succeed()) // for the specs that run it as another user
})

// patience bounds everything that a spec waits for.
const patience = 20 * time.Second

// call is one way of starting boombox. Its zero value is no environment beyond ours, no input, and a directory of its
// own.
type call struct {
	args  []string
	env   []string
	dir   string
	stdin string
	// stdout takes standard output instead of ended.Stdout.
	stdout *os.File
	// via starts boombox through another command, whose last argument is boombox.
	via []string
}

// ended is how it went.
type ended struct {
	Status         int
	Stdout, Stderr string
	Dir            string
}

func boombox(args ...string) ended {
	GinkgoHelper()
	return call{args: args}.run()
}

func (c call) command() *exec.Cmd {
	GinkgoHelper()
	line := append(append(append([]string{}, c.via...), binary), c.args...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), c.env...)
	if cmd.Dir = c.dir; cmd.Dir == "" {
		cmd.Dir = GinkgoT().TempDir()
	}
	if c.stdin != "" {
		cmd.Stdin = bytes.NewReader([]byte(c.stdin))
	}
	if c.stdout != nil {
		cmd.Stdout = c.stdout
	}
	return cmd
}

func (c call) run() ended {
	GinkgoHelper()
	return collect(c.command())
}

// collect runs a command to its end.
func collect(cmd *exec.Cmd) ended {
	GinkgoHelper()
	var stdout, stderr bytes.Buffer
	cmd.Stderr = &stderr
	if cmd.Stdout == nil {
		cmd.Stdout = &stdout
	}
	Expect(cmd.Start()).To(Succeed())
	status := wait(cmd)
	return ended{status, stdout.String(), stderr.String(), cmd.Dir}
}

// wait waits for boombox, bounded, and returns its exit status.
func wait(cmd *exec.Cmd) int {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		if ctx.Err() == context.DeadlineExceeded {
			_ = cmd.Process.Kill()
		}
	})()
	err := cmd.Wait()
	Expect(ctx.Err()).NotTo(HaveOccurred(), "boombox did not end in %v", patience)
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		Expect(exit.Exited()).To(BeTrue(), "boombox was ended: %v", exit)
		return exit.ExitCode()
	}
	Expect(err).NotTo(HaveOccurred())
	return 0
}

// haveRefused matches an end with 125, one line on stderr that contains what, and nothing on stdout.
func haveRefused(what string) OmegaMatcher {
	return And(
		HaveField("Status", 125),
		HaveField("Stdout", BeEmpty()),
		HaveField("Stderr", And(MatchRegexp(`^boombox: [^\n]+\n$`), ContainSubstring(what))),
	)
}

// reportOf decodes a report strictly.
func reportOf(text string) map[string]any {
	GinkgoHelper()
	report := map[string]any{}
	Expect(json.Unmarshal([]byte(text), &report)).To(Succeed(), text)
	return report
}

// files lists what is in a directory.
func files(dir string) []string {
	GinkgoHelper()
	entries, err := os.ReadDir(dir)
	Expect(err).NotTo(HaveOccurred())
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
