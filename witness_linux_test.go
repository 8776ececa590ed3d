package boombox_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/suite"
)

// longEnough is how long a spec waits for what must come, on a busy machine too. It promises nothing. Children live as
// long, unless they are told otherwise.
const longEnough = time.Minute

// life is the option that tells a fixture child so.
var life = "life=" + longEnough.String()

// witness sees what is left of a tree without asking whatever holds it: by a named pipe whose write end every descendant
// inherits, and by a nonce in the environment of every descendant, found in /proc.
type witness struct {
	fifo  int
	path  string
	env   string
	nonce func() []contain.Member
}

func newWitness() *witness {
	GinkgoHelper()
	// Where a child that is another user finds it, too.
	w := &witness{path: filepath.Join(scratch(), "tether")}
	Expect(unix.Mkfifo(w.path, 0o600)).To(Succeed())
	Expect(os.Chmod(w.path, 0o622)).To(Succeed())
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
func (w *witness) left() []contain.Member {
	var members []contain.Member
	// A process between fork and exec, or between its last breath and its burial, may show to one of them alone.
	for end := time.Now().Add(longEnough); time.Now().Before(end); {
		members = w.nonce()
		if w.held() == (len(members) > 0) {
			return members
		}
		time.Sleep(5 * time.Millisecond) // the pace of looking: neither moment is told
	}
	Fail(fmt.Sprintf("the witnesses disagree: tether held %t, nonce seen in %v", w.held(), idsOf(members)))
	return nil
}

// leftIDs are the process ids of who is left.
func (w *witness) leftIDs() []int { return idsOf(w.left()) }

func idsOf(members []contain.Member) (pids []int) {
	for _, m := range members {
		pids = append(pids, m.PID)
	}
	return pids
}

// leaders are those who are left and lead a session. A process that is to have one has it a moment after it is there.
func (w *witness) leaders() []int {
	GinkgoHelper()
	return slices.DeleteFunc(w.leftIDs(), func(pid int) bool {
		sid, err := unix.Getsid(pid)
		return err != nil || sid != pid
	})
}

// hunt kills whatever is left, again and again.
func (w *witness) hunt() {
	GinkgoHelper()
	Eventually(func() bool {
		members := w.nonce()
		for _, pid := range idsOf(members) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			bury(pid)
		}
		// One look at /proc may miss a chain that forks and exits: the tether does not.
		return len(members) == 0 && !w.held()
	}).WithTimeout(longEnough).Should(BeTrue())
}

// bury reaps a killed process that made itself our own child. Of all others it only says that they are not ours.
func bury(pid int) { _, _ = syscall.Wait4(pid, nil, 0, nil) }

// mustSee skips the spec where the nonce of these processes cannot be read: that of another user's takes CAP_SYS_PTRACE.
// They are killed here, for nobody will find them later.
func mustSee(pids []int) {
	GinkgoHelper()
	for _, pid := range pids {
		if _, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); errors.Is(err, os.ErrPermission) {
			for _, pid := range pids {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			Skip("this host does not let us look into the processes of another user")
		}
	}
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
