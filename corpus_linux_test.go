package boombox_test

import (
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
)

// fate is what becomes of the processes that a child left, when its run is over or its owner is dead.
type fate int

const (
	dies  fate = iota // nothing is left
	lives             // those that it left live on
	named             // nothing is left, or it is said that something may be
)

func (f fate) String() string { return [...]string{"dies", "lives on", "dies or is named"}[f] }

// fates are those under each mechanism, which is there in the table for what it is documented to do: both directions
// are asserted, so that a mechanism that is documented to lose a child is shown to lose it.
type fates map[contain.Mechanism]fate

// rungs are all mechanisms that a Linux host may have.
var rungs = []contain.Mechanism{
	contain.Cgroup2, contain.Cgroup2PIDNamespace, contain.PIDNamespace, contain.Subreaper, contain.ThrowawayUser, contain.ProcessGroup,
}

// everywhere is one fate on all rungs, but for those that are given.
func everywhere(f fate, but fates) fates {
	all := fates{}
	for _, m := range rungs {
		all[m] = f
	}
	maps.Copy(all, but)
	return all
}

var (
	// held: no mechanism loses it.
	held = everywhere(dies, nil)
	// escapes: it leaves its process group, which is all that the floor holds.
	escapes = everywhere(dies, fates{contain.ProcessGroup: lives})
	// outruns: it is faster than who looks for its members one by one, perhaps.
	outruns = everywhere(dies, fates{contain.Subreaper: named, contain.ProcessGroup: lives})
	// strangers: it is no descendant, and nothing here follows it.
	strangers = everywhere(lives, nil)
	// parricides: it kills its parent. That is we on two rungs, where the warden ends the tree, if there is one; the keeper of
	// a namespace cannot be killed from inside; a subreaper's can, and then it is not known any more who is left.
	parricides = everywhere(dies, fates{contain.Subreaper: named, contain.ProcessGroup: lives})
	// climbs: root, and the owner of the cgroups, may write themselves into another cgroup. What holds by a cgroup alone does
	// not cover that, and what holds by none does not see it.
	climbs = fates{contain.Cgroup2: lives, contain.Cgroup2PIDNamespace: dies}
	// massacres: it kills whoever it may. Out of a namespace that is nobody; on the other rungs it is the keeper and we, and
	// who did it is left. (A user of its own has no cgroups to be held by, and makes nobody another one.)
	massacres = fates{
		contain.Cgroup2PIDNamespace: dies, contain.PIDNamespace: dies, contain.Subreaper: lives, contain.ProcessGroup: lives,
	}
)

// row is one behaviour of the corpus: what a child does to get away or to do harm, and what comes of it on each rung.
//
// Its children bound themselves: by their number and by an alarm (see package fixtures). What becomes of each when nothing
// holds it is in control_linux_test.go, but for those that attack their parent, whose control is the process group. What
// is left is judged by two witnesses that know nothing of the mechanism: see witness.
type row struct {
	number int
	does   string

	// child is the fixture, or script is what a shell runs; a row without either is made by the specs that it names.
	child  string
	args   []string
	script string
	// more makes what the child needs, and adds to its arguments.
	more func(w *witness) []string
	// fates: on a rung that is not there, the row means nothing.
	fates fates

	// provoke makes the child misbehave once it is ready, and returns the processes that it left, which it is given unless
	// the child knows them by other numbers than we do.
	provoke func(b *boxed, left []int) []int
	// after looks at the rest, when the run is over.
	after func(b *boxed, left []int)

	// orphaned: its owner is killed as well, on each rung that promises that nothing outlives it. With BOOMBOX_LONG every
	// row's is that dies there.
	orphaned bool
	// attacks: it turns on its parent, which is therefore another process than we.
	attacks bool

	// proofs are specs elsewhere, each "file: text", that show what this table does not, or not alone.
	proofs []string
	// why says why a row, or a part of it, is not made here.
	why string
}

// corpus are all rows. 31 to 35 are the caps': memory, swap, kernel memory, descriptors, zombies.
var corpus = []row{
	{number: 1, does: "calls setsid", child: "setsid", fates: escapes, orphaned: true},
	{number: 1, does: "calls setsid", child: "setsid", args: []string{"leave"}, fates: escapes},
	{number: 2, does: "forks twice", child: "doublefork", fates: held},
	{number: 2, does: "forks twice", child: "doublefork", args: []string{"leave"}, fates: held},
	{number: 2, does: "forks twice and calls setsid", child: "daemonise", args: []string{"stay"}, fates: escapes, orphaned: true},
	{number: 3, does: "calls setpgid", child: "setpgid", fates: escapes},
	{number: 3, does: "calls setpgid", child: "setpgid", args: []string{"leave"}, fates: escapes},
	{number: 3, does: "all three", child: "escapees", fates: escapes, orphaned: true},
	{
		number: 4, does: "daemonises; the first process is over with 0", child: "daemonise", fates: escapes,
		proofs: []string{`contain/escape_linux_test.go: onEveryThat(contain.KillTree, "dies with its group"`},
	},
	{
		number: 5, does: "is a fork bomb, every process in a session of its own", fates: outruns,
		proofs: []string{`forkbomb_linux_test.go: a fork bomb of 200 sessions, killed in the middle of it`},
	},
	{
		number: 6, does: "is twenty chains in which each process starts the next and exits", fates: escapes,
		proofs: []string{`forkbomb_linux_test.go: twenty chains that fork and exit`},
	},
	{number: 7, does: "vforks and never executes", child: "vfork", fates: escapes, orphaned: true},
	{number: 8, does: "makes itself a sibling of the first process", child: "cloneparent", fates: escapes, after: reapOwn},
	{number: 9, does: "forks out of a tracer's sight", child: "untraced", fates: escapes},
	{number: 9, does: "is a crowd of threads", child: "threads", fates: held},
	{number: 10, does: "disarms the signal of its parent's death", child: "unleashed", fates: escapes, orphaned: true},
	{
		number: 11, does: "executes a set-user-ID program", child: "setuid", fates: escapes, orphaned: true,
		more: inScratch, provoke: inSight,
	},
	{number: 12, does: "ignores SIGTERM, SIGINT and SIGHUP", child: "sigtermignorer", fates: held, orphaned: true},
	{number: 13, does: "stops itself and its child", child: "stopper", fates: held, orphaned: true},
	{
		number: 14, does: "forks when it is asked to end", child: "hydra", fates: escapes,
		provoke: func(b *boxed, _ []int) []int {
			Expect(b.p.Signal(syscall.SIGTERM)).To(Succeed())
			Eventually(b.out.line(1)).WithTimeout(longEnough).Should(BeClosed())
			return pidsOf(b.out.text(1))
		},
	},
	{number: 15, does: "kills its parent", child: "attacker", args: []string{"kill"}, fates: parricides, attacks: true},
	{number: 16, does: "stops its parent", child: "attacker", args: []string{"stop"}, fates: escapes, attacks: true},
	{number: 17, does: "traces its parent", child: "attacker", args: []string{"trace"}, fates: escapes, attacks: true},
	{number: 18, does: "kills whoever it may, as a user of its own", child: "attacker", args: []string{"everybody", itoa(privateUser)}, fates: massacres, attacks: true},
	// Three levels are the leaf, the group and the base.
	{number: 19, does: "moves itself into a cgroup above its leaf", child: "climber", args: []string{"3"}, fates: climbs},
	{number: 20, does: "moves itself into the root of all cgroups", child: "climber", args: []string{"root"}, fates: climbs},
	{number: 21, does: "makes a cgroup and moves into it", child: "subcgroup", fates: held, after: removeFixtureCgroups},
	{number: 21, does: "and freezes it", child: "subcgroup", args: []string{"freeze"}, fates: held, after: removeFixtureCgroups},
	{number: 22, does: "removes its own cgroup, or forbids it to everybody", child: "squatter", fates: escapes, orphaned: true},
	{number: 23, does: "is the first process of its own pid namespace", child: "pidns", fates: held},
	{number: 24, does: "mounts over /proc", child: "overproc", fates: escapes, orphaned: true},
	{number: 25, does: "leaves its output to a child in the background", child: "pipeholder", fates: held},
	{number: 25, does: "leaves its output to a child in the background", child: "pipeholder", args: []string{"stay"}, fates: held},
	{
		number: 26, does: "hands its output to a stranger, who keeps it", child: "outsider", fates: held,
		more: stranger("hand"), after: func(b *boxed, _ []int) { Expect(b.settle().PipesHeld()).To(BeTrue()) },
		proofs: []string{`runner/contained_test.go: does not listen to a stranger for ever`},
	},
	{
		number: 27, does: "writes for ever",
		proofs: []string{`runner/contained_test.go: ends the tree when its output passes the cap, and keeps the cap`},
	},
	{
		number: 28, does: "writes for ever and no newline", proofs: []string{
			`control_linux_test.go: flood: a mebibyte and no newline`,
			`runner/contained_test.go: ends the tree when its output passes the cap, and keeps the cap`,
		},
	},
	{
		number: 29, does: "closes its output and runs on", child: "earlyclose", fates: held,
		proofs: []string{`runner/contained_test.go: does not take the end of the streams for the end of the child`},
	},
	{
		number: 30, does: "never reads its input", child: "nostdin", fates: held,
		proofs: []string{`runner/stdin_test.go: does not hold up the end of a child that never reads`},
	},
	{number: 36, does: "keeps every processor busy", child: "spinner", fates: held, orphaned: true},
	{
		number: 37, does: "looks for descriptors of ours",
		proofs: []string{`ending_linux_test.go: its descriptors are 0, 1 and 2, whatever this process was started with`},
	},
	{number: 38, does: "types into our terminal", proofs: []string{`owner_linux_test.go: the terminal of the owner`}},
	{
		number: 39, does: "executes a file that is written to, and removes its own program", child: "vanisher", fates: escapes, orphaned: true,
		more:   inScratch,
		proofs: []string{`contain/lifecycle_unix_test.go: outwaits a program file that is still open for writing`},
	},
	{number: 40, does: "changes its user and forks on", child: "newuid", fates: escapes, orphaned: true, provoke: inSight},
	{number: 41, does: "is a shell with something in the background", script: "sleep 60 & echo ready $!", fates: held},
	{number: 41, does: "is a shell that is deaf to hanging up", script: "trap '' HUP TERM; (sleep 60; true) & echo ready $!; wait", fates: held},
	{number: 41, does: "is nohup", script: "nohup sleep 60 >/dev/null 2>&1 & echo ready $!", fates: held},
	{number: 41, does: "is a pipeline, that no shell replaces itself for", script: "echo ready; sleep 60 | cat; true", fates: held},
	{number: 41, does: "is a shell with a session in the background", script: "setsid sleep 60 & echo ready $!; wait", fates: escapes, provoke: inSession},
	{
		number: 42, does: "sleeps uninterruptibly", proofs: []string{`contain/drain_linux_test.go: a member that cannot be killed`},
		why: "a file system that hangs cannot be had everywhere: the freezer of cgroup v1 makes a process as deaf, and so does vfork (7)",
	},
	{
		number: 43, does: "loses its owner at any moment of its start",
		proofs: []string{`contain/ownerdeath_linux_test.go: ends every tree, whenever it comes`},
	},
	{number: 44, does: "loses the thread of its owner that started it", proofs: []string{`owner_linux_test.go: the thread that started a child`}},
	{
		number: 45, does: "is started while its group is closed",
		proofs: []string{`contain/lifecycle_unix_test.go: lets no start outlive its close`},
	},
	{
		number: 46, does: "is started in a group that was killed", proofs: []string{
			`contain/lifecycle_unix_test.go: starts again after it was killed`,
			`contain/trap_linux_test.go: kills whatever is cloned into it`,
		},
	},
	{
		number: 47, does: "is spared by the kernel's memory killer",
		proofs: []string{`contain/oomscore_linux_test.go: is a capped child, however much this program is spared`},
	},
	{
		number: 48, does: "has a stranger start something for it", child: "outsider", fates: strangers, more: stranger("ask"),
		provoke: func(b *boxed, _ []int) []int { return pidsOf(b.out.text(0)) }, // by our numbers
		why:     "whom a child may talk to is no matter of a process tree: nothing here prevents it, and the documentation says so",
	},
	{
		number: 49, does: "looks for what our environment holds",
		proofs: []string{
			`ending_linux_test.go: its environment has what it is given, and nothing of ours`, `runner/env_test.go: reaches the child as it is, and nothing else does`,
		},
	},
	{
		number: 50, does: "asks for more limits, priority and processors than it was given", child: "raiser", fates: escapes,
		why: "what it gets is a matter of its privileges: a hard limit holds whoever is not root, and affinity holds nobody",
	},
}

var _ = Describe("the corpus", func() {
	It("has every row, and each proof that it names is there", func() {
		numbers := map[int]bool{}
		for _, r := range corpus {
			numbers[r.number] = true
			Expect(r.does).NotTo(BeEmpty())
			Expect(len(r.fates) > 0 || len(r.proofs) > 0 || r.why != "").To(BeTrue(), "row %d proves nothing", r.number)
			for _, proof := range r.proofs {
				file, text, _ := strings.Cut(proof, ": ")
				Expect(os.ReadFile(file)).To(ContainSubstring(text), "row %d", r.number)
			}
		}
		for n := 1; n <= 50; n++ {
			Expect(numbers[n]).To(Equal(n < 31 || n > 35), "row %d", n)
		}
	})
})

// inSight skips a row where we cannot see what it left, and returns that otherwise.
func inSight(_ *boxed, left []int) []int {
	GinkgoHelper()
	mustSee(left)
	return left
}

// inSession waits until what a shell started leads a session.
func inSession(_ *boxed, left []int) []int {
	GinkgoHelper()
	for _, pid := range left {
		Eventually(session).WithArguments(pid).WithTimeout(longEnough).Should(Equal(pid))
	}
	return left
}

// inScratch gives the child a directory, whoever it is.
func inScratch(*witness) []string {
	GinkgoHelper()
	dir := scratch()
	Expect(os.Chmod(dir, 0o777)).To(Succeed())
	return []string{dir}
}

// scratch is a directory that every user may enter, and from which programs may be executed.
func scratch() string {
	GinkgoHelper()
	dir, err := os.MkdirTemp("", "boombox-spec-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, dir)
	Expect(os.Chmod(dir, 0o711)).To(Succeed())
	return dir
}

// reapOwn reaps who made itself a child of ours, where nothing stands between us and the first process: a dead child is a
// zombie until its parent reaps it.
func reapOwn(_ *boxed, left []int) {
	for _, pid := range left {
		_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	}
}

// removeFixtureCgroups removes what the child "subcgroup" made, where the mechanism does not know of it.
func removeFixtureCgroups(*boxed, []int) {
	GinkgoHelper()
	left, err := filepath.Glob(filepath.Join(ownCgroup(), "boombox-fixture-*"))
	Expect(err).NotTo(HaveOccurred())
	for _, dir := range left {
		if members, err := os.ReadFile(filepath.Join(dir, "cgroup.procs")); err == nil && len(members) == 0 {
			removeCgroup(dir)
		}
	}
}

// stranger is somebody outside of every tree, at a socket, who keeps what is handed to him and starts a process for who
// asks.
func stranger(wish string) func(w *witness) []string {
	return func(w *witness) []string {
		GinkgoHelper()
		path := filepath.Join(scratch(), "stranger")
		socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(socket.Close)
		Expect(os.Chmod(path, 0o777)).To(Succeed())
		go func() {
			defer GinkgoRecover()
			conn, err := socket.AcceptUnix()
			if err != nil {
				return // the spec is over
			}
			defer conn.Close()
			text, rights := make([]byte, 16), make([]byte, 64)
			_, n, _, _, err := conn.ReadMsgUnix(text, rights)
			Expect(err).NotTo(HaveOccurred())
			answer := "kept"
			if n > 0 {
				messages, err := unix.ParseSocketControlMessage(rights[:n])
				Expect(err).NotTo(HaveOccurred())
				fds, err := unix.ParseUnixRights(&messages[0])
				Expect(err).NotTo(HaveOccurred())
				DeferCleanup(unix.Close, fds[0])
			} else {
				answer = itoa(w.startOutside())
			}
			_, err = fmt.Fprintln(conn, answer)
			Expect(err).NotTo(HaveOccurred())
		}()
		return []string{path, wish}
	}
}

// startOutside starts a process of ours that carries the marks of the witness.
func (w *witness) startOutside() int {
	GinkgoHelper()
	argv := fixtures.Argv("sleep", w.tether(), life, "quiet")
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), w.env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	Expect(cmd.Start()).To(Succeed())
	DeferCleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	Eventually(w.leftIDs).WithTimeout(longEnough).Should(ContainElement(cmd.Process.Pid))
	return cmd.Process.Pid
}

// argv is the command line of a row.
func (r row) argv(w *witness) []string {
	GinkgoHelper()
	if r.script != "" {
		return []string{"/bin/sh", "-c", `exec 9>"$0"; ` + r.script, w.path}
	}
	args := append([]string{w.tether(), life}, r.args...)
	if r.more != nil {
		args = append(args, r.more(w)...)
	}
	return fixtures.Argv(r.child, args...)
}

// onRungs makes specs of the rows that are chosen, on the rungs on which they mean something.
func onRungs(chosen func(row) bool, body func(m contain.Mechanism, r row, f fate)) {
	for _, m := range rungs {
		for _, r := range corpus {
			if f, known := r.fates[m]; known && (r.child != "" || r.script != "") && chosen(r) {
				body(m, r, f)
			}
		}
	}
}

// text is the text of a spec about a row.
func (r row) text(m contain.Mechanism, f fate) string {
	name := r.child
	if r.script != "" {
		name = "sh -c " + strconv.Quote(r.script)
	}
	for _, a := range r.args {
		name += " " + a
	}
	return fmt.Sprintf("%s, by %s, %s", m, name, f)
}

func itoa(n int) string { return strconv.Itoa(n) }
