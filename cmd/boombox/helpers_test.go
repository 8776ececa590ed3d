package main_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
)

// fixture is the argv of a fixture child: of the test binary, not of boombox, so that boombox is shown to run a program
// that it knows nothing of.
func fixture(child string, args ...string) []string { return fixtures.Argv(child, args...) }

// boxed is the arguments of boombox run with flags for a fixture child.
func boxed(flags []string, child string, args ...string) []string {
	line := append(append([]string{"run"}, flags...), "--")
	return append(line, fixture(child, args...)...)
}

func read(dir, name string) string {
	GinkgoHelper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	Expect(err).NotTo(HaveOccurred())
	return string(b)
}

// live is a boombox that runs on while the spec looks.
type live struct {
	cmd    *exec.Cmd
	stdout *bufio.Reader
	pipe   io.ReadCloser
	stderr strings.Builder
}

// start starts boombox and waits until the fixture child says that it is ready.
func (c call) start() *live {
	GinkgoHelper()
	return launch(c.command())
}

// launch is start for a command of its own making.
func launch(cmd *exec.Cmd) *live {
	GinkgoHelper()
	l := &live{cmd: cmd}
	var err error
	l.pipe, err = l.cmd.StdoutPipe()
	Expect(err).NotTo(HaveOccurred())
	l.cmd.Stderr = &l.stderr
	Expect(l.cmd.Start()).To(Succeed())
	DeferCleanup(func() { _ = l.cmd.Process.Kill(); _ = l.cmd.Wait() })
	l.stdout = bufio.NewReader(l.pipe)
	line, err := l.stdout.ReadString('\n')
	Expect(err).NotTo(HaveOccurred(), "%s", l.stderr.String())
	Expect(line).To(HavePrefix("ready"))
	return l
}

// end reads standard output to its end and waits.
func (l *live) end() int {
	GinkgoHelper()
	_, _ = io.Copy(io.Discard, l.stdout)
	return wait(l.cmd)
}

// usualMechanism is what holds a tree on this host when nothing is required.
func usualMechanism() string {
	for _, rung := range contain.Host().Rungs {
		if rung.Offered() {
			return string(rung.Mechanism)
		}
	}
	return ""
}
