package boombox_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/fixtures"
)

// wild is a fixture child that nothing holds: os/exec started it, in a process group of its own.
type wild struct {
	*witness
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	lines  *bufio.Reader
	stderr *os.File
	done   bool
}

// startWild starts a child and makes sure that nothing of it outlives the spec.
func startWild(child string, args ...string) *wild {
	GinkgoHelper()
	w := prepareWild(child, args...)
	w.start()
	return w
}

// prepareWild makes a child that [wild.start] starts.
func prepareWild(child string, args ...string) *wild {
	GinkgoHelper()
	w := &wild{witness: newWitness()}
	argv := fixtures.Argv(child, append([]string{w.tether(), life}, args...)...)
	w.cmd = exec.Command(argv[0], argv[1:]...)
	w.cmd.Env = append(os.Environ(), w.env)
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return w
}

func (w *wild) start() {
	GinkgoHelper()
	in, stdin, err := os.Pipe()
	Expect(err).NotTo(HaveOccurred())
	stdout, out, err := os.Pipe()
	Expect(err).NotTo(HaveOccurred())
	stderr, errw, err := os.Pipe()
	Expect(err).NotTo(HaveOccurred())
	w.stdin, w.stdout, w.stderr, w.lines = stdin, stdout, stderr, bufio.NewReader(stdout)
	w.cmd.Stdin, w.cmd.Stdout, w.cmd.Stderr = in, out, errw
	Expect(w.cmd.Start()).To(Succeed())
	DeferCleanup(w.hunt)
	for _, f := range []*os.File{in, out, errw} {
		Expect(f.Close()).To(Succeed())
	}
	// No read of a spec waits for ever.
	for _, f := range []*os.File{stdin, stdout, stderr} {
		Expect(f.SetDeadline(time.Now().Add(longEnough))).To(Succeed())
	}
}

// hunt kills what is left, and closes our ends.
func (w *wild) hunt() {
	w.killGroup()
	w.witness.hunt()
	for _, f := range []*os.File{w.stdin, w.stdout, w.stderr} {
		_ = f.Close()
	}
}

func (w *wild) pid() int { return w.cmd.Process.Pid }

// line is the next line of standard output.
func (w *wild) line() string {
	GinkgoHelper()
	line, err := w.lines.ReadString('\n')
	Expect(err).NotTo(HaveOccurred(), "after %q", line)
	return strings.TrimSuffix(line, "\n")
}

// ready waits until the child has done what it is for, and returns the processes that it left. A host that does not let
// it do that skips the spec.
func (w *wild) ready() []int {
	GinkgoHelper()
	line, err := w.lines.ReadString('\n')
	if err != nil {
		if code := w.wait(); code == fixtures.ExitRefused {
			why, _ := bufio.NewReader(w.stderr).ReadString('\n')
			Skip("this host does not let the child do it: " + strings.TrimSpace(why))
		}
		Expect(err).NotTo(HaveOccurred())
	}
	return pidsOf(line)
}

// wait waits for the child itself and returns its exit code, -1 after a signal.
func (w *wild) wait() int {
	GinkgoHelper()
	if !w.done {
		w.done = true
		bound := time.AfterFunc(longEnough, func() { _ = w.cmd.Process.Kill() })
		defer bound.Stop()
		_ = w.cmd.Wait()
	}
	return w.cmd.ProcessState.ExitCode()
}

// killGroup does what os/exec users do at best: it kills the process group, and reaps the child.
func (w *wild) killGroup() {
	if !w.done {
		// The child is not reaped: its id, and so its group's, is still its own.
		_ = syscall.Kill(-w.pid(), syscall.SIGKILL)
		w.wait()
	}
}
