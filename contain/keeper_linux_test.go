package contain_test

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/suite"
	. "github.com/boombox-go/boombox/matchers"
)

// parentOf is the process that a process is a child of.
func parentOf(pid int) int {
	GinkgoHelper()
	text, err := os.ReadFile("/proc/" + itoa(pid) + "/stat")
	Expect(err).NotTo(HaveOccurred())
	_, parent, _, _, _, _ := contain.StatFields(must(contain.ParseStat(text)))
	return parent
}

// childrenOf lists the children of a process, dead ones too.
func childrenOf(pid int) (children []int) {
	for _, dir := range must(filepath.Glob("/proc/[0-9]*/stat")) {
		text, err := os.ReadFile(dir)
		if err != nil {
			continue // gone meanwhile
		}
		if child, parent, _, _, _, _ := contain.StatFields(must(contain.ParseStat(text))); parent == pid {
			children = append(children, child)
		}
	}
	return children
}

// hears reports whether a process catches SIGCHLD.
func hears(pid int) bool {
	text, _ := readFile("/proc/" + itoa(pid) + "/status")
	_, rest, _ := strings.Cut(text, "SigCgt:\t")
	mask, _ := strconv.ParseUint(rest[:min(16, len(rest))], 16, 64)
	return mask&(1<<(uint(unix.SIGCHLD)-1)) != 0
}

// stopped reports whether a process is stopped by a signal.
func stopped(pid int) bool {
	text, err := os.ReadFile("/proc/" + itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, _, _, state, _, _ := contain.StatFields(must(contain.ParseStat(text)))
	return state == 'T'
}

// attacker is a shell that has done something to its keeper, and said so in a file.
type attacker struct {
	*running
	out string
}

func (a *attacker) said() string { return must(readFile(a.out)) }

// landlockScopes is why this kernel cannot keep a process from signalling others, 0 if it can.
func landlockScopes() syscall.Errno {
	attr := unix.LandlockRulesetAttr{Scoped: unix.LANDLOCK_SCOPE_SIGNAL}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno == 0 {
		_ = unix.Close(int(fd))
	}
	return errno
}

// onKeepers makes a spec for each mechanism of the host that holds a tree below a keeper.
func onKeepers(text string, body func(m contain.Mechanism)) {
	for _, m := range mechanisms() {
		if m == contain.Cgroup2PIDNamespace || m == contain.PIDNamespace || m == contain.Subreaper {
			It(text+" ("+string(m)+")", func() { body(m) })
		}
	}
}

var _ = Describe("a keeper", func() {
	onKeepers("serves the next start once its tree is empty", func(m contain.Mechanism) {
		g := newGroup(m)
		r := start(g, "escapees")
		keeper := parentOf(r.PID())
		Expect(r.Close()).To(Succeed())
		Expect(r.find()).NotTo(HaveSurvivors())
		for range 3 {
			r = start(g, "daemonise")
			Expect(parentOf(r.PID())).To(Equal(keeper))
			Expect(r.Close()).To(Succeed())
			Expect(r.find()).NotTo(HaveSurvivors())
		}
		a, b := start(g, "sleep"), start(g, "sleep")
		Expect(parentOf(a.PID())).NotTo(Equal(parentOf(b.PID())), "one tree at a time")
	})

	onKeepers("is started ahead, by New: the first start has it", func(m contain.Mechanism) {
		keepers := func() []int { return helpersAs("keeper") }
		Eventually(keepers).WithTimeout(longEnough).Should(BeEmpty(), "those of earlier specs")
		g := newGroup(m)
		there := keepers()
		Expect(there).To(ContainElement(parentOf(start(g, "sleep").PID())))
	})

	onKeepers("is started in its turn, for which a start waits as long as its context lives", func(m contain.Mechanism) {
		g := newGroup(m)
		start(g, "sleep")        // has the keeper that was started ahead
		Eventually(func() bool { // no other is idle: earlier specs' have gone
			return len(helpersAs("keeper")) == 1
		}).WithTimeout(longEnough).Should(BeTrue())
		release := contain.HoldTurns(m)
		spec, _, find := specOf("sleep")
		DeferCleanup(reap, find)
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		_, err := g.Start(ctx, spec)
		release()
		Expect(err).To(MatchError(context.DeadlineExceeded))
		Expect(find()).NotTo(HaveSurvivors())
		start(g, "sleep")
	})

	onKeepers("serves the next start when one has failed", func(m contain.Mechanism) {
		g := newGroup(m)
		var first []int
		for range 3 {
			_, err := g.Start(context.Background(), contain.Spec{Path: "/nonexistent", Argv: contain.Seal("x")})
			Expect(err).To(MatchError(syscall.ENOENT))
			if first == nil {
				first = helperProcesses(os.Getpid())
			}
		}
		Expect(first).To(ContainElement(parentOf(start(g, "sleep").PID())))
	})

	onKeepers("leaves when nobody wants it, with everything that we had of it", func(m contain.Mechanism) {
		g := newGroup(m)
		start(g, "sleep")
		Expect(helperProcesses(os.Getpid())).NotTo(BeEmpty())
		Expect(g.Close()).To(Succeed())
		Eventually(helperProcesses).WithArguments(os.Getpid()).WithTimeout(bound).Should(BeEmpty())
	})

	onKeepers("leaves its child what a child expects: signals, streams, a big argument vector", func(m contain.Mechanism) {
		g := newGroup(m)
		ours, err := os.ReadFile("/proc/self/status")
		Expect(err).NotTo(HaveOccurred())
		ignored := regexp.MustCompile("SigIgn:.*\n").FindString(string(ours)) // here, by nohup, and so there
		r := start(g, "sleep")
		text, err := os.ReadFile("/proc/" + itoa(r.PID()) + "/status")
		Expect(err).NotTo(HaveOccurred())
		Expect(string(text)).To(And(ContainSubstring(ignored), ContainSubstring("SigBlk:\t0000000000000000")))

		cat, err := exec.LookPath("cat")
		if err != nil {
			Skip("no program \"cat\" on PATH")
		}
		in, out := must(os.CreateTemp(GinkgoT().TempDir(), "in")), must(os.CreateTemp(GinkgoT().TempDir(), "out"))
		defer in.Close()
		defer out.Close()
		big := bytes.Repeat([]byte("\xff\x00\n"), 100000)
		Expect(must(in.WriteAt(big, 0))).To(Equal(len(big)))
		c, err := g.Start(context.Background(), contain.Spec{
			Path: cat, Argv: contain.Seal("cat"), Env: contain.Seal("BIG=" + string(bytes.Repeat([]byte("x"), 100000))),
			Stdin: in, Stdout: out,
		})
		Expect(err).NotTo(HaveOccurred())
		Eventually(c.Exited()).WithTimeout(longEnough).Should(BeClosed())
		Expect(statusOf(c).Code).To(Equal(0))
		Expect(os.ReadFile(out.Name())).To(Equal(big))
	})

	// A keeper is somebody's target sooner or later: the memory killer's, or a mistaken script's.
	onKeepers("that is killed takes a namespace with it, and otherwise what is left is said to be unknown", func(m contain.Mechanism) {
		g, err := contain.New(contain.Options{Mechanism: m})
		Expect(err).NotTo(HaveOccurred())
		r := start(g, "setsid")
		killAll([]int{parentOf(r.PID())})
		if m == contain.Subreaper {
			Consistently(func() int { return len(r.find()) }).WithTimeout(50*time.Millisecond).Should(Equal(2), "the control")
		} else {
			Eventually(r.find).WithTimeout(bound).ShouldNot(HaveSurvivors())
			Eventually(r.Exited()).WithTimeout(bound).Should(BeClosed())
			Expect(statusOf(r.Child).Lost).To(BeTrue())
		}
		err = g.Close()
		if m == contain.Subreaper {
			Expect(err).To(MatchError(contain.ErrDrain))
			Expect(err).To(MatchError(ContainSubstring("was killed")))
			Expect(r.PID()).NotTo(BeRunning(), "what is to be found is killed")
		} else {
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(g.Close()).To(Succeed())
		reap(r.find)
		g = newGroup(m)
		start(g, "sleep")
	})

	onKeepers("reaps the orphans of its tree, those of its first moments too", func(m contain.Mechanism) {
		if _, err := os.Stat("/bin/sh"); err != nil {
			Skip("no /bin/sh")
		}
		g := newGroup(m)
		for round := range 6 { // of one keeper, that has heard before, and has not
			signal, ahead, err := os.Pipe()
			Expect(err).NotTo(HaveOccurred())
			spec, stdout, find := specOf("sleep")
			DeferCleanup(reap, find)
			spec.Path, spec.Stdin = "/bin/sh", signal
			// A single one is dead before the keeper hears.
			orphans := "for i in " + []string{"1", "1 2 3 4 5 6 7 8"}[round%2] + "; do (/bin/true &); done; echo; read go; "
			spec.Argv = contain.Seal("sh", "-c", orphans+orphans)
			c, err := g.Start(context.Background(), spec)
			Expect(err).NotTo(HaveOccurred())
			Expect(signal.Close()).To(Succeed())
			Expect(spec.Stdout.Close()).To(Succeed())
			keeper := parentOf(c.PID())
			output := bufio.NewReader(stdout)
			for range 2 {
				Expect(output.ReadString('\n')).To(Equal("\n"), "all of them are on their own")
				// The shell may not have waited for its last subshell.
				Eventually(childrenOf).WithArguments(keeper).WithTimeout(bound).Should(ConsistOf(c.PID()))
				Expect(ahead.WriteString("\n")).To(Equal(1))
			}
			Expect(ahead.Close()).To(Succeed())
			Eventually(c.Exited()).WithTimeout(longEnough).Should(BeClosed())
			Expect(c.Close()).To(Succeed())
			run, err := g.Start(context.Background(), contain.Spec{Path: "/bin/true", Argv: contain.Seal("true")})
			Expect(err).NotTo(HaveOccurred())
			Eventually(run.Exited()).WithTimeout(longEnough).Should(BeClosed())
			Expect(run.Close()).To(Succeed())
		}
	})

	onKeepers("strikes the tree that is meant, and no other", func(m contain.Mechanism) {
		g := newGroup(m)
		before := start(g, "sleep")
		keeper := parentOf(before.PID())
		Expect(before.Close()).To(Succeed())
		r := start(g, "sleep")
		Expect(parentOf(r.PID())).To(Equal(keeper))
		Expect(contain.StrikeOnly(r.Child, -1)).To(BeFalse(), "the one before")
		Expect(r.PID()).To(BeRunning())
		Expect(contain.StrikeOnly(r.Child, 1)).To(BeFalse(), "the one to come")
		Expect(r.PID()).To(BeRunning())
		Eventually(contain.StrikeOnly).WithArguments(r.Child, 0).WithTimeout(bound).Should(BeTrue(), "the control")
		Expect(r.Close()).To(Succeed())

		spec, _, find := specOf("sleep")
		DeferCleanup(reap, find)
		_, err := g.Start(context.Background(), spec)
		Expect(err).To(MatchError(syscall.ECANCELED), "it was struck before it was ordered")
		Expect(find()).NotTo(HaveSurvivors())
		Expect(parentOf(start(g, "sleep").PID())).To(Equal(keeper))
	})

	onKeepers("is what it was when it has killed in a hurry", func(m contain.Mechanism) {
		g := newGroup(m)
		r := start(g, "escapees")
		keeper := parentOf(r.PID())
		look := func() (policy, caught string) {
			GinkgoHelper()
			stat := must(readFile("/proc/" + itoa(keeper) + "/task/" + itoa(keeper) + "/stat"))
			fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:]) // the third field of the line is fields[0]
			return fields[41-3], regexp.MustCompile("SigCgt:.*\n").FindString(must(readFile("/proc/" + itoa(keeper) + "/status")))
		}
		// At first it is deaf.
		Eventually(hears).WithArguments(keeper).WithTimeout(longEnough).Should(BeTrue())
		policy, caught := look()
		Expect(policy).To(Equal("0"), "SCHED_NORMAL")
		Expect(r.Kill()).To(Succeed())
		Expect(r.find()).NotTo(HaveSurvivors())
		again, still := look()
		Expect(again).To(Equal(policy))
		Expect(still).To(Equal(caught), "it hears of children that die")
	})

	onKeepers("that is stopped does not save its tree", func(m contain.Mechanism) {
		g, err := contain.New(contain.Options{Mechanism: m})
		Expect(err).NotTo(HaveOccurred())
		r := start(g, "escapees")
		keeper := parentOf(r.PID())
		Expect(syscall.Kill(keeper, syscall.SIGSTOP)).To(Succeed())
		Eventually(stopped).WithArguments(keeper).WithTimeout(longEnough).Should(BeTrue())
		began := time.Now()
		Expect(g.Close()).To(Succeed())
		Expect(time.Since(began)).To(BeNumerically("<", contain.KillBound/2))
		Expect(r.find()).NotTo(HaveSurvivors())
		Expect(keeper).NotTo(BeRunning())
	})

	Context("against a child of our own user", func() {
		// attack lets a shell, which is the child, do something to the keeper.
		var attackWith func(m contain.Mechanism, script string, change func(*contain.Spec)) (*contain.Group, *attacker, int)
		attack := func(m contain.Mechanism, script string) (*contain.Group, *attacker, int) {
			GinkgoHelper()
			return attackWith(m, script, func(*contain.Spec) {})
		}
		confined := func(s *contain.Spec) { s.NoNewPrivileges = true }
		attackWith = func(m contain.Mechanism, script string, change func(*contain.Spec)) (g *contain.Group, r *attacker, keeper int) {
			GinkgoHelper()
			sh := "/bin/sh"
			if _, err := os.Stat(sh); err != nil {
				Skip("no " + sh)
			}
			g, err := contain.New(contain.Options{Mechanism: m})
			Expect(err).NotTo(HaveOccurred())
			nonce, find := suite.WithNonce()
			DeferCleanup(reap, find)
			out := must(os.CreateTemp(GinkgoT().TempDir(), "out"))
			defer out.Close()
			signal, ahead, err := os.Pipe()
			Expect(err).NotTo(HaveOccurred())
			defer signal.Close()
			spec := contain.Spec{
				Path: sh, Argv: contain.Seal("sh", "-c", "read go; "+script+"; echo done; setsid sleep 20 & sleep 20"),
				Env: contain.Seal(nonce, "PATH="+os.Getenv("PATH")), Stdin: signal, Stdout: out,
			}
			change(&spec)
			c, err := g.Start(context.Background(), spec)
			Expect(err).NotTo(HaveOccurred())
			keeper = parentOf(c.PID())
			Expect(ahead.Close()).To(Succeed())
			Eventually(os.ReadFile).WithArguments(out.Name()).WithTimeout(longEnough).Should(ContainSubstring("done"))
			return g, &attacker{running: &running{Child: c, find: find}, out: out.Name()}, keeper
		}
		onThat := func(resists bool, text string, body func(m contain.Mechanism)) {
			for _, rung := range contain.Host().Rungs {
				if rung.Offered() && rung.Mechanism != contain.Cgroup2 && rung.Guarantees.Has(contain.KillTree) &&
					rung.Guarantees.Has(contain.ResistSameUID) == resists {
					It(text+" ("+string(rung.Mechanism)+")", func() { body(rung.Mechanism) })
				}
			}
		}

		onThat(true, "is out of reach of signals", func(m contain.Mechanism) {
			for _, sig := range []string{"KILL", "STOP", "TERM", "SEGV", "ABRT", "QUIT"} {
				g, r, keeper := attack(m, "kill -"+sig+" $PPID 2>/dev/null; kill -"+sig+" 1 2>/dev/null")
				Expect(keeper).To(BeRunning(), sig)
				Expect(stopped(keeper)).To(BeFalse(), sig)
				Expect(g.Close()).To(Succeed())
				Expect(r.find()).NotTo(HaveSurvivors(), sig)
			}
		})

		onThat(true, "is not killed by one that kills everybody, and neither are we", func(m contain.Mechanism) {
			outside := start(newGroup(contain.ProcessGroup), "sleep")
			g := newGroup(m)
			argv := []string{"sh", "-c", "kill -KILL -1"}
			c, err := g.Start(context.Background(), contain.Spec{Path: "/bin/sh", Argv: contain.Seal(argv...)})
			Expect(err).NotTo(HaveOccurred())
			keeper := parentOf(c.PID())
			Eventually(c.Exited()).WithTimeout(longEnough).Should(BeClosed())
			Expect(keeper).To(BeRunning())
			Expect(outside.PID()).To(BeRunning())
		})

		onThat(false, "that gains no privileges is out of reach of signals, where the kernel has a shield, and claims no more", func(m contain.Mechanism) {
			if errno := landlockScopes(); errno != 0 {
				Skip("this kernel has no shield against signals: " + errno.Error())
			}
			outside := start(newGroup(contain.ProcessGroup), "sleep")
			for _, sig := range []string{"KILL", "STOP", "TERM"} {
				g, r, keeper := attackWith(m, "kill -"+sig+" $PPID "+itoa(outside.PID())+"; sleep 20 & kill -KILL $! && echo own", confined)
				Expect(keeper).To(BeRunning(), sig)
				Expect(outside.PID()).To(BeRunning(), sig)
				Expect(stopped(keeper) || stopped(outside.PID())).To(BeFalse(), sig)
				Expect(r.said()).To(ContainSubstring("own"), "its own tree is in its reach")
				Expect(g.Guarantees().Has(contain.ResistSameUID)).To(BeFalse())
				Expect(g.Close()).To(Succeed(), "the keeper can signal whom it shields itself from")
				Expect(r.find()).NotTo(HaveSurvivors(), sig)
			}
		})

		onThat(false, "that gains no privileges can blind it all the same: this is why it is no guarantee", func(m contain.Mechanism) {
			if _, err := exec.LookPath("prlimit"); err != nil {
				Skip("no program \"prlimit\" on PATH")
			}
			g, r, keeper := attackWith(m, "prlimit --pid $PPID --nofile=3:3", confined)
			Expect(readFile("/proc/" + itoa(keeper) + "/limits")).To(MatchRegexp(`Max open files +3 +3 `))
			_ = g.Close()
			reap(r.find)
			_ = g.Close()
			Expect(parentOf(start(newGroup(m), "sleep").PID())).NotTo(Equal(keeper), "the next tree does not suffer from it")
		})

		onThat(false, "is in reach of signals, and says so", func(m contain.Mechanism) {
			g, _, keeper := attack(m, "kill -KILL $PPID")
			Eventually(keeper).WithTimeout(bound).ShouldNot(BeRunning(), "the control")
			Expect(g.Guarantees().Has(contain.ResistSameUID)).To(BeFalse())
			Expect(g.Close()).To(MatchError(contain.ErrDrain))
			Expect(g.Close()).To(Succeed())
		})
	})
})
