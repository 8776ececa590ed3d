package boombox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/internal/suite"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// ownerVariable makes a process of this test binary the owner of a fixture child, whose command line it has but for that:
// it names the mechanism, and after a plus sign what else is asked for.
const ownerVariable = "BOOMBOX_SPEC_OWNER"

// privateUser is a user whom nobody else on this machine is.
var privateUser = 61000 + os.Getpid()%1000

// The exit codes of an owner, after its group was closed.
const (
	ownerClosed = 0
	ownerUnable = fixtures.ExitRefused // the mechanism is not to be had, or the child is not let
	ownerFailed = 1
	ownerNamed  = 3 // it was said that something may be left
)

func init() { becomeOwner = ownerMain }

// ownerMain is an owner: it starts the child, with its own output, and closes the group when its input ends.
func ownerMain() {
	asked, ok := os.LookupEnv(ownerVariable)
	if !ok {
		return
	}
	_ = os.Unsetenv(ownerVariable)
	err := own(asked)
	code := ownerClosed
	switch {
	case errors.Is(err, contain.ErrDrain):
		code = ownerNamed
	case errors.Is(err, contain.ErrUnsupported):
		code = ownerUnable
	case err != nil:
		fmt.Fprintln(os.Stderr, "owner:", err)
		code = ownerFailed
	}
	os.Exit(code)
}

func own(asked string) error {
	mechanism, more, _ := strings.Cut(asked, "+with:")
	opts := contain.Options{Mechanism: contain.Mechanism(mechanism)}
	for _, rung := range contain.Host().Rungs {
		if rung.Mechanism == opts.Mechanism {
			opts.Require = rung.Guarantees & contain.KillOnOwnerDeath // so that New waits for it
		}
	}
	g, err := contain.New(opts)
	if err != nil {
		return err
	}
	for _, arg := range os.Args {
		if path, ok := strings.CutPrefix(arg, "tether="); ok { // the witnesses see the owner as they see the rest
			if _, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != nil {
				return err
			}
		}
	}
	spec := contain.Spec{
		Path: "/proc/self/exe", Argv: contain.Seal(os.Args...), Env: contain.Seal(os.Environ()...),
		Stdout: os.Stdout, Stderr: os.Stderr, NewSession: more == "session",
	}
	child, err := g.Start(context.Background(), spec)
	if err != nil {
		return errors.Join(err, g.Close())
	}
	over := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(over)
	}()
	select {
	case <-over:
	case <-child.Exited():
		if status, _ := child.Poll(); status.Exited() && status.Code == fixtures.ExitRefused {
			return errors.Join(contain.ErrUnsupported, g.Close())
		}
		<-over
	}
	return g.Close()
}

// owned makes the owner of a row's child, which [wild.start] starts.
func owned(m contain.Mechanism, r row) *wild {
	GinkgoHelper()
	group(m) // or the spec is skipped
	w := &wild{witness: newWitness()}
	argv := r.argv(w.witness)
	w.cmd = exec.Command("/proc/self/exe", argv[1:]...)
	w.cmd.Env = append(os.Environ(), w.env, ownerVariable+"="+string(m))
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return w
}

// ownerBound is the time within which nothing may be left of a dead owner's tree: it is promised.
const ownerBound = 2 * time.Second

// ownerPatience is how long an owner may take to close its group, who may be attacked: no more than any close, and what a
// busy machine makes of it.
const ownerPatience = 2 * contain.KillBound

// emptied waits until nothing is left, and returns how long that took.
func (w *witness) emptied() time.Duration {
	GinkgoHelper()
	began := time.Now()
	Eventually(func() bool { return len(w.nonce()) == 0 && !w.held() }).WithTimeout(ownerBound).WithPolling(time.Millisecond).Should(BeTrue())
	return time.Since(began)
}

var _ = Describe("an attack on the parent", Label("live", "escape"), func() {
	onRungs(func(r row) bool { return r.attacks }, func(m contain.Mechanism, r row, f fate) {
		It(r.text(m, f), func() {
			w := owned(m, r)
			if r.args[0] == "everybody" {
				if os.Getuid() != 0 {
					Skip("needs root to be a user whom nobody else is")
				}
				private := &syscall.Credential{Uid: uint32(privateUser), Gid: uint32(privateUser)}
				sample := prepareWild("sleep")
				sample.cmd.Path, sample.cmd.Dir, sample.cmd.SysProcAttr.Credential = "/proc/self/exe", "/", private
				sample.start()
				sample.ready()
				mustSee([]int{sample.pid()})
				w.cmd.Dir, w.cmd.SysProcAttr.Credential = "/", private
			}
			w.start()
			w.ready()
			said, _ := w.lines.ReadString('\n') // what the kernel said to the attacker, if that lives
			if said == "done operation-not-permitted\n" {
				f = dies // who may not attack does no harm
			}
			Expect(w.stdin.Close()).To(Succeed())
			// An owner that was stopped ends as one that was killed.
			Eventually(func() string {
				state := status(w.pid(), "State")
				if strings.HasPrefix(strings.ToLower(state), "t") {
					_ = w.cmd.Process.Kill()
				}
				return state
			}).WithTimeout(ownerPatience).WithPolling(5 * time.Millisecond).Should(HavePrefix("Z"))
			if f == lives {
				// Before it is waited for, which who traces it may hold up for as long as he lives.
				Expect(w.left()).To(HaveSurvivors())
				w.witness.hunt()
			}
			switch code := w.wait(); f {
			case dies:
				w.emptied()
				Expect(code).To(BeElementOf(ownerClosed, -1))
			case named:
				Expect(code).To(Equal(ownerNamed))
			case lives:
				// Of an owner that is traced one thread alone stands still: it may get to close its group.
				Expect(code).To(BeElementOf(ownerClosed, -1))
			}
		})
	})
})

var _ = Describe("the death of the owner by SIGKILL", Label("live", "ownerdeath"), func() {
	chosen := func(r row) bool {
		return r.orphaned || os.Getenv("BOOMBOX_LONG") != "" && r.script == "" && !r.attacks && r.fates[contain.Cgroup2] == dies &&
			r.provoke == nil && r.more == nil
	}
	onRungs(chosen, func(m contain.Mechanism, r row, f fate) {
		if m == contain.ProcessGroup {
			if r.child == "stopper" {
				return // the kernel may hang up on a stopped group that is orphaned: who adopts it decides whether it is
			}
			f = lives // nobody is left to kill it
		}
		It(r.text(m, f), func() {
			w := owned(m, r)
			w.start()
			left := w.ready()
			if inNamespace(m) {
				left = nil
			}
			mustSee(left)
			Expect(len(w.left())).To(BeNumerically(">", 1), "the owner and its child")
			Expect(w.cmd.Process.Kill()).To(Succeed())
			w.wait()
			if f == dies {
				AddReportEntry("nothing left after", w.emptied().String(), ReportEntryVisibilityFailureOrVerbose)
			} else {
				Expect(w.left()).To(HaveSurvivors())
			}
			if r.after != nil {
				w.hunt()
				r.after(nil, left)
			}
		})
	})
})

// built is where the boombox command is that was built here, "" for none.
var built string

var _ = AfterSuite(func() {
	if built != "" {
		Expect(os.RemoveAll(filepath.Dir(built))).To(Succeed())
	}
})

// program is the boombox command: the one that BOOMBOX_PROGRAM names, or one that is built here, once.
func program() string {
	GinkgoHelper()
	if path := os.Getenv("BOOMBOX_PROGRAM"); path != "" {
		return path
	}
	if _, err := exec.LookPath("go"); err != nil {
		Skip("no boombox command: BOOMBOX_PROGRAM names none, and there is no Go to build one")
	}
	if built == "" {
		dir, err := os.MkdirTemp("", "boombox-spec-")
		Expect(err).NotTo(HaveOccurred())
		built = filepath.Join(dir, "boombox")
		out, err := exec.Command("go", "build", "-o", built, "./cmd/boombox").CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "%s", out)
	}
	return built
}

var _ = Describe("boombox run, when it is killed by SIGKILL", Label("live", "ownerdeath"), func() {
	It("leaves nothing, whenever that is", func() {
		suite.Require(contain.KillOnOwnerDeath)
		box := program()
		rounds := 15
		if os.Getenv("BOOMBOX_LONG") != "" {
			rounds = 200
		}
		random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 1))
		var slowest, usual time.Duration
		started := 0
		for round := range rounds {
			w := prepareWild("escapees")
			w.cmd = exec.Command(box, append([]string{"run", "--"}, w.cmd.Args...)...)
			w.cmd.Env = append(os.Environ(), w.env)
			w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			began := time.Now()
			w.start()
			if round%3 == 0 { // when all is there
				w.ready()
				Expect(w.nonce()).To(HaveMembers(5), "boombox, the child and its three escapees")
				usual = max(usual, time.Since(began))
			} else { // at any instant before that, and a little after: none is awaited
				time.Sleep(time.Duration(random.Int64N(int64(usual) * 5 / 4)))
			}
			if len(w.nonce()) > 1 {
				started++
			}
			Expect(w.cmd.Process.Kill()).To(Succeed())
			w.wait()
			slowest = max(slowest, w.emptied())
			w.hunt()
		}
		Expect(started).To(BeNumerically(">=", rounds/3), "the control: there was something to be ended")
		AddReportEntry(fmt.Sprintf("boombox killed %d times: nothing left after at most", rounds), slowest.String())
	})

	It("negative control: a command that only starts it leaves it", func() {
		w := owned(contain.ProcessGroup, row{child: "escapees"})
		w.start()
		w.ready()
		Expect(w.cmd.Process.Kill()).To(Succeed())
		w.wait()
		Expect(w.left()).To(HaveMembers(4))
	})
})

var _ = Describe("the thread that started a child", Label("live"), func() {
	// onDyingThread calls start on a thread that ends with it, and returns when that thread is gone.
	onDyingThread := func(start func()) {
		GinkgoHelper()
		id := make(chan int)
		var once func()
		once = func() {
			defer GinkgoRecover()
			runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
			if unix.Gettid() == os.Getpid() {
				// But for the first thread, which ends with the program.
				other := make(chan struct{})
				go func() { defer close(other); once() }()
				<-other
				runtime.UnlockOSThread()
				return
			}
			defer func() { id <- unix.Gettid() }()
			start()
		}
		go once()
		thread := filepath.Join("/proc/self/task", itoa(<-id))
		Eventually(func() error { _, err := os.Stat(thread); return err }).WithTimeout(longEnough).Should(MatchError(os.ErrNotExist))
	}

	for _, mechanism := range rungs {
		It(fmt.Sprintf("by %s: may end, and the run goes on", mechanism), func(ctx SpecContext) {
			g := group(mechanism)
			b := prepareBoxed("graceful", "7")
			onDyingThread(func() { b.start(ctx, runner.Contained{Group: g}) })
			b.ready()
			Expect(b.left()).To(HaveMembers(1))
			Expect(b.p.Signal(syscall.SIGTERM)).To(Succeed())
			Expect(b.settle()).To(HaveExited(7))
		})
	}

	It("negative control: takes a child along that is to die with its parent, as os/exec has it", func() {
		w := prepareWild("graceful", "7")
		w.cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
		onDyingThread(w.start)
		Expect(w.wait()).To(Equal(-1))
	})
})

var _ = Describe("the terminal of the owner", Label("live"), func() {
	// terminal is a terminal of the spec's own.
	terminal := func() *os.File {
		GinkgoHelper()
		ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			Skip("this host has no terminals to give: " + err.Error())
		}
		DeferCleanup(ours.Close)
		number, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
		Expect(err).NotTo(HaveOccurred())
		Expect(unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0)).To(Succeed())
		theirs, err := os.OpenFile("/dev/pts/"+itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			Skip("this host does not let us open a terminal: " + err.Error())
		}
		DeferCleanup(theirs.Close)
		return theirs
	}
	look := func(m contain.Mechanism, more string) string {
		GinkgoHelper()
		tty := terminal()
		w := owned(m, row{child: "terminal"})
		w.cmd.Env = append(w.cmd.Env, ownerVariable+"="+string(m)+more)
		w.cmd.ExtraFiles = []*os.File{tty}
		w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
		w.start()
		line := w.line()
		Expect(w.stdin.Close()).To(Succeed())
		Expect(w.wait()).To(Equal(ownerClosed))
		return line
	}

	for _, m := range rungs {
		if m == contain.Cgroup2 || m == contain.ProcessGroup {
			It(fmt.Sprintf("by %s: is the child's too, unless it gets a session of its own", m), func() {
				Expect(look(m, "")).To(HavePrefix("terminal=open "), "the control")
				Expect(look(m, "+with:session")).To(Equal("terminal=none"))
			})
		} else {
			It(fmt.Sprintf("by %s: is out of the child's reach", m), func() {
				Expect(look(m, "")).To(Equal("terminal=none"))
			})
		}
	}
})
