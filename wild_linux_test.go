package boombox_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/internal/suite"
)

// witness sees what is left of a tree without asking whatever holds it: by a named pipe whose write end every descendant
// inherits, and by a nonce in the environment of every descendant, found in /proc.
type witness struct {
	fifo  int
	path  string
	env   string
	nonce func() []int
}

func newWitness() *witness {
	GinkgoHelper()
	w := &witness{path: filepath.Join(GinkgoT().TempDir(), "tether")}
	Expect(unix.Mkfifo(w.path, 0o600)).To(Succeed())
	var err error
	w.fifo, err = unix.Open(w.path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(unix.Close(w.fifo)).To(Succeed()) })
	w.env, w.nonce = suite.WithNonce()
	return w
}

// tether is the option that hands the pipe to a fixture child.
func (w *witness) tether() string { return "tether=" + w.path }

// held reports whether anybody holds the write end.
func (w *witness) held() bool {
	n, err := unix.Read(w.fifo, make([]byte, 1))
	if err == unix.EAGAIN {
		return true
	}
	Expect(err).NotTo(HaveOccurred())
	Expect(n).To(BeZero(), "nobody writes into the tether")
	return false
}

// left is what both witnesses see, and they must agree: the processes that carry the nonce.
func (w *witness) left() []int {
	var pids []int
	// A process between fork and exec, or between its last breath and its burial, may show to one of them alone.
	for range 100 {
		pids = w.nonce()
		if w.held() == (len(pids) > 0) {
			return pids
		}
		time.Sleep(5 * time.Millisecond)
	}
	Fail(fmt.Sprintf("the witnesses disagree: tether held %t, nonce seen in %v", w.held(), pids))
	return nil
}

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
	argv := fixtures.Argv(child, append([]string{w.tether()}, args...)...)
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
		Expect(f.SetDeadline(time.Now().Add(15 * time.Second))).To(Succeed())
	}
}

// hunt kills whatever is left, again and again, and closes our ends.
func (w *wild) hunt() {
	w.killGroup()
	Eventually(func() bool {
		pids := w.nonce()
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			// A child that made itself our own is ours to bury; of all others this only says that they are not.
			_, _ = syscall.Wait4(pid, nil, 0, nil)
		}
		// One look at /proc may miss a chain that forks and exits: the tether does not.
		return len(pids) == 0 && !w.held()
	}).WithTimeout(30 * time.Second).Should(BeTrue())
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

// pidsOf reads a line "ready PID PID ...".
func pidsOf(line string) []int {
	GinkgoHelper()
	words := strings.Fields(line)
	Expect(words).NotTo(BeEmpty())
	Expect(words[0]).To(Equal("ready"))
	pids := []int{}
	for _, word := range words[1:] {
		pid, err := strconv.Atoi(word)
		Expect(err).NotTo(HaveOccurred())
		pids = append(pids, pid)
	}
	return pids
}

// wait waits for the child itself and returns its exit code, -1 after a signal.
func (w *wild) wait() int {
	GinkgoHelper()
	if !w.done {
		w.done = true
		bound := time.AfterFunc(15*time.Second, func() { _ = w.cmd.Process.Kill() })
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

// status is the value of one field of /proc/PID/status.
func status(pid int, field string) string {
	GinkgoHelper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	Expect(err).NotTo(HaveOccurred())
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && name == field {
			return strings.TrimSpace(value)
		}
	}
	Fail("/proc/PID/status has no " + field)
	return ""
}

// session is the session id of a process.
func session(pid int) int {
	GinkgoHelper()
	sid, err := unix.Getsid(pid)
	Expect(err).NotTo(HaveOccurred())
	return sid
}
