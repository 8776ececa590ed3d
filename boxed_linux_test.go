package boombox_test

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/internal/suite"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// group makes a group held by one mechanism, or skips the spec where the host does not have it.
func group(m contain.Mechanism) *contain.Group {
	GinkgoHelper()
	g, err := contain.New(contain.Options{Mechanism: m})
	if errors.Is(err, contain.ErrUnsupported) {
		for _, rung := range contain.Host().Rungs {
			if rung.Mechanism == m {
				suite.Require(rung.Guarantees) // what BOOMBOX_REQUIRE asks for does not skip
			}
		}
		Skip("this host has no " + string(m))
	}
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(g.Close()).To(Succeed()) })
	Expect(g).To(BeContainedBy(m))
	if m == contain.ThrowawayUser {
		mustSeeOthers()
	}
	return g
}

// mustSeeOthers skips the spec where we, root, cannot look into the processes of another user, as a witness does.
func mustSeeOthers() {
	GinkgoHelper()
	other := exec.Command("sleep", "60")
	other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	Expect(other.Start()).To(Succeed())
	defer func() { _, _ = other.Process.Kill(), other.Wait() }()
	mustSee([]int{other.Process.Pid})
}

// nobody is a user, and a group, that owns nothing.
const nobody = 65534

// boxed is a fixture child in a group.
type boxed struct {
	*witness
	cmd *runner.Cmd
	p   *runner.Process
	out *sink
}

// prepareBoxed makes a child that [boxed.start] starts.
func prepareBoxed(child string, args ...string) *boxed {
	GinkgoHelper()
	return prepareRow(row{child: child, args: args})
}

// prepareRow makes the child of a row of the corpus.
func prepareRow(r row) *boxed {
	GinkgoHelper()
	b := &boxed{witness: newWitness(), out: newSink()}
	argv := r.argv(b.witness)
	if argv[0][0] == '/' && r.script == "" {
		argv[0] = "/proc/self/exe" // which whoever is another user can execute, too
	}
	b.cmd = runner.Command(argv[0], argv[1:]...)
	b.carryNonce(b.cmd)
	b.cmd.Output.Stdout.Tee = b.out
	return b
}

// carryNonce gives the nonce to a command.
func (w *witness) carryNonce(cmd *runner.Cmd) {
	key, value, _ := strings.Cut(w.env, "=")
	cmd.Env = cmd.Env.Set(key, value)
}

// start starts the child; nothing of it outlives the spec.
func (b *boxed) start(ctx context.Context, r runner.Runner) {
	GinkgoHelper()
	DeferCleanup(b.hunt)
	var err error
	b.p, err = r.Start(ctx, b.cmd)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(b.p.Close()).To(Succeed()) })
}

// ready waits until the child has done what it is for, and returns the processes that it left. A host that does not let
// it do that skips the spec.
func (b *boxed) ready() []int {
	GinkgoHelper()
	b.await(0)
	return pidsOf(b.out.text(0))
}

// await waits for the i-th line of the child.
func (b *boxed) await(i int) {
	GinkgoHelper()
	select {
	case <-b.out.line(i):
	case <-b.p.Settled():
		// The line may have come with the end.
		if res, _ := b.p.Result(); bytes.Count(res.Stdout(), []byte("\n")) <= i {
			if code, _ := res.ExitCode(); code == fixtures.ExitRefused {
				Skip("this host does not let the child do it: " + strings.TrimSpace(string(res.Stderr())))
			}
			Fail("never ready: " + res.String() + "\n" + string(res.Stderr()))
		}
	case <-time.After(longEnough):
		Fail("not ready in time")
	}
}

// settle waits until the run is over in full.
func (b *boxed) settle() *runner.Result {
	GinkgoHelper()
	Eventually(b.p.Settled()).WithTimeout(longEnough).Should(BeClosed())
	res, ok := b.p.Result()
	Expect(ok).To(BeTrue())
	return res
}

// sink is a tee that tells when each of the first lines has come.
type sink struct {
	mu    sync.Mutex
	held  bytes.Buffer
	lines []chan struct{}
	count int
}

// sinkLines is how many lines a sink tells of.
const sinkLines = 4

func newSink() *sink {
	s := &sink{}
	for range sinkLines {
		s.lines = append(s.lines, make(chan struct{}))
	}
	return s
}

func (s *sink) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count == sinkLines {
		return len(b), nil
	}
	s.held.Write(b)
	for now := bytes.Count(s.held.Bytes(), []byte("\n")); s.count < min(now, sinkLines); s.count++ {
		close(s.lines[s.count])
	}
	return len(b), nil
}

// line is closed when the i-th line is there.
func (s *sink) line(i int) <-chan struct{} { return s.lines[i] }

// text is the i-th line.
func (s *sink) text(i int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Split(s.held.String(), "\n")[i]
}
