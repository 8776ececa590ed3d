package boombox_test

import (
	"errors"
	"fmt"
	"io"
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

	"github.com/boombox-go/boombox/fixtures"
	. "github.com/boombox-go/boombox/matchers"
)

// The negative controls of everything that this suite says about containers: each child is started with nothing to hold
// it, and does what it is described to do. A fixture that did not escape would make every container look tight.
var _ = Describe("a child that nothing holds", Label("live"), func() {
	// outlive: what the child left is alive after its whole process group was killed.
	outlive := func(w *wild, left []int) {
		GinkgoHelper()
		Expect(left).NotTo(BeEmpty())
		w.killGroup()
		Expect(w.leftIDs()).To(ConsistOf(left))
	}
	escapes := func(w *wild) {
		GinkgoHelper()
		outlive(w, w.ready())
	}
	// dies: nothing of the child is left after its whole process group was killed.
	dies := func(w *wild) {
		GinkgoHelper()
		w.killGroup()
		Eventually(w.left).WithTimeout(longEnough).ShouldNot(HaveSurvivors())
	}
	// scratchArgument stands for a directory of the spec's.
	const scratchArgument = "SCRATCH"
	// prints: the child ends by itself with code, after exactly that output.
	prints := func(code int, out, err string) func(*wild) {
		return func(w *wild) {
			GinkgoHelper()
			Expect(w.stdin.Close()).To(Succeed())
			Expect(io.ReadAll(w.stdout)).To(BeEquivalentTo(out))
			Expect(io.ReadAll(w.stderr)).To(BeEquivalentTo(err))
			Expect(w.wait()).To(Equal(code))
		}
	}

	DescribeTable("behaves as described",
		func(child string, args []string, check func(*wild)) {
			if slices.Contains(args, scratchArgument) {
				args = []string{scratch()}
			}
			check(startWild(child, args...))
		},

		Entry("setsid: lives on in another session", "setsid", nil, func(w *wild) {
			escapes(w)
			Expect(session(w.leftIDs()[0])).To(Equal(w.leftIDs()[0]))
		}),
		Entry("setsid leave: exits 0 and leaves the child", "setsid", []string{"leave"}, func(w *wild) {
			left := w.ready()
			Expect(w.wait()).To(BeZero())
			Expect(w.leftIDs()).To(Equal(left))
		}),
		Entry("setpgid: lives on in our session", "setpgid", nil, func(w *wild) {
			escapes(w)
			Expect(session(w.leftIDs()[0])).To(Equal(session(os.Getpid())))
		}),
		Entry("doublefork: has lost its parent, and a process group still gets it", "doublefork", nil, func(w *wild) {
			left := w.ready()
			Expect(status(left[0], "PPid")).NotTo(Equal(strconv.Itoa(w.pid())))
			dies(w)
		}),
		Entry("daemonise: the leader is gone, the daemon holds no stream", "daemonise", nil, func(w *wild) {
			left := w.ready()
			Expect(w.wait()).To(BeZero())
			Expect(w.leftIDs()).To(Equal(left))
			Expect(io.ReadAll(w.stdout)).To(BeEmpty(), "end of file although the daemon lives")
			Expect(session(left[0])).NotTo(Equal(session(os.Getpid())))
		}),
		Entry("escapees: three of them", "escapees", nil, func(w *wild) {
			escapes(w)
			Expect(w.left()).To(HaveMembers(3))
		}),
		Entry("pipeholder: the child is gone, its output is not over", "pipeholder", nil, func(w *wild) {
			left := w.ready()
			Expect(w.wait()).To(BeZero())
			Expect(w.leftIDs()).To(Equal(left))
			Expect(w.stdout.SetReadDeadline(time.Now())).To(Succeed())
			_, err := w.stdout.Read(make([]byte, 1))
			Expect(err).To(MatchError(os.ErrDeadlineExceeded))
		}),
		Entry("sigtermignorer: asks in vain", "sigtermignorer", nil, func(w *wild) {
			w.ready()
			ignored, err := strconv.ParseUint(status(w.pid(), "SigIgn"), 16, 64)
			Expect(err).NotTo(HaveOccurred())
			for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
				Expect(ignored&(1<<(sig-1))).NotTo(BeZero(), sig.String())
			}
			dies(w)
		}),
		Entry("graceful: says goodbye", "graceful", []string{"7"}, func(w *wild) {
			w.ready()
			Expect(w.cmd.Process.Signal(syscall.SIGTERM)).To(Succeed())
			Expect(w.line()).To(Equal("bye"))
			Expect(w.wait()).To(Equal(7))
		}),
		Entry("hydra: answers SIGTERM with four escapees", "hydra", nil, func(w *wild) {
			w.ready()
			Expect(w.cmd.Process.Signal(syscall.SIGTERM)).To(Succeed())
			escapes(w)
			Expect(w.left()).To(HaveMembers(4))
		}),
		Entry("stopper: both are stopped, and SIGTERM waits", "stopper", nil, func(w *wild) {
			left := w.ready()
			Eventually(func() string { return status(w.pid(), "State") }).WithTimeout(longEnough).Should(HavePrefix("T"))
			Expect(status(left[0], "State")).To(HavePrefix("T"))
			Expect(syscall.Kill(-w.pid(), syscall.SIGTERM)).To(Succeed())
			Expect(status(w.pid(), "State")).To(HavePrefix("T"))
			dies(w)
		}),
		Entry("stopper: its kernel timer reaches it although it is stopped", "stopper", []string{"life=1s"}, func(w *wild) {
			w.ready()
			Expect(w.wait()).To(Equal(-1))
			Eventually(w.left).WithTimeout(longEnough).ShouldNot(HaveSurvivors())
		}),
		Entry("forkbomb: as many escapees as its cap", "forkbomb", []string{"12"}, func(w *wild) {
			w.ready()
			Expect(w.line()).To(Equal("spent"))
			// Others than the one that spent the last token may still be about to start theirs.
			Eventually(w.leaders).WithTimeout(longEnough).Should(HaveLen(12), "out of the group")
			w.killGroup()
			Eventually(w.left).WithTimeout(longEnough).Should(HaveMembers(12))
		}),
		Entry("hopper: each chain runs on and ends by itself", "hopper", []string{"3", "6"}, func(w *wild) {
			started := w.ready()
			Expect(started).To(HaveLen(3))
			w.killGroup()
			Eventually(func() (atTheEnd int) {
				for _, pid := range w.leftIDs() {
					argv, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
					if strings.HasSuffix(string(argv), "\x000\x00") && slices.Contains(started, session(pid)) {
						atTheEnd++
					}
				}
				return atTheEnd
			}).WithTimeout(longEnough).WithPolling(50 * time.Millisecond).Should(Equal(3))
			Eventually(w.left).WithTimeout(longEnough).Should(HaveMembers(3))
		}),
		Entry("cloneparent: is our own child, and we never started it", "cloneparent", nil, func(w *wild) {
			left := w.ready()
			Expect(status(left[0], "PPid")).To(Equal(strconv.Itoa(os.Getpid())))
			w.killGroup()
			Expect(w.leftIDs()).To(Equal(left))
		}),
		Entry("pidns: is process 1 of its namespace", "pidns", nil, func(w *wild) {
			left := w.ready()
			Expect(strings.Fields(status(left[0], "NSpid"))).To(ContainElement("1"))
			dies(w)
		}),
		Entry("vfork: the thread that made it sleeps uninterruptibly", "vfork", nil, func(w *wild) {
			left := w.ready()
			Eventually(func() (states []string) {
				tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", w.pid()))
				Expect(err).NotTo(HaveOccurred())
				for _, task := range tasks {
					stat, _ := os.ReadFile(task)
					_, after, _ := strings.Cut(string(stat), ") ")
					states = append(states, after[:min(1, len(after))])
				}
				return states
			}).WithTimeout(longEnough).Should(ContainElement("D"))
			Expect(session(left[0])).To(Equal(left[0]))
			outlive(w, left)
		}),
		Entry("untraced: lives on in another session", "untraced", nil, escapes),
		Entry("unleashed: lives on in another session", "unleashed", nil, escapes),
		Entry("setuid: is another user by what it executes", "setuid", []string{scratchArgument}, func(w *wild) {
			left := w.ready()
			mustSee(left)
			Expect(status(left[0], "Uid")).To(MatchRegexp(`^0\s+65534\s`))
			outlive(w, left)
		}),
		Entry("vanisher: has no program any more", "vanisher", []string{scratchArgument}, func(w *wild) {
			left := w.ready()
			Expect(os.Readlink(fmt.Sprintf("/proc/%d/exe", left[0]))).To(HaveSuffix(" (deleted)"))
			outlive(w, left)
		}),
		Entry("overproc: sees no /proc", "overproc", nil, func(w *wild) {
			left := w.ready()
			Expect(left).To(HaveLen(2))
			mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mounts", left[0]))
			Expect(err).NotTo(HaveOccurred())
			Expect(string(mounts)).To(ContainSubstring("none /proc tmpfs "))
			outlive(w, left)
		}),
		Entry("squatter: cannot remove its own cgroup", "squatter", nil, escapes),
		Entry("raiser: says what it got", "raiser", nil, func(w *wild) {
			left := w.ready()
			Expect(w.line()).To(MatchRegexp("^core=(true|false) nice=(true|false) cpus=true$"))
			outlive(w, left)
		}),
		Entry("newuid: is somebody else, in another session", "newuid", nil, func(w *wild) {
			left := w.ready()
			mustSee(left)
			w.killGroup()
			Expect(w.leftIDs()).To(Equal(left))
			Expect(status(left[0], "Uid")).To(HavePrefix("65534"))
		}),
		Entry("subcgroup: is below our cgroup", "subcgroup", nil, func(w *wild) {
			left := w.ready()
			dir := filepath.Join("/proc", strconv.Itoa(left[0]), "cgroup")
			Expect(os.ReadFile(dir)).To(ContainSubstring(fmt.Sprintf("boombox-fixture-%d", w.pid())))
			dies(w)
			removeCgroup(filepath.Join(ownCgroup(), fmt.Sprintf("boombox-fixture-%d", w.pid())))
		}),
		Entry("spinner: uses the processors", "spinner", nil, func(w *wild) {
			w.ready()
			Eventually(func() uint64 {
				stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.pid()))
				Expect(err).NotTo(HaveOccurred())
				fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
				ticks, err := strconv.ParseUint(fields[11], 10, 64)
				Expect(err).NotTo(HaveOccurred())
				return ticks
			}).WithTimeout(longEnough).Should(BeNumerically(">", 10))
			dies(w)
		}),
		Entry("threads: has a crowd of them", "threads", []string{"30"}, func(w *wild) {
			w.ready()
			tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", w.pid()))
			Expect(err).NotTo(HaveOccurred())
			Expect(len(tasks)).To(BeNumerically(">=", 30))
			dies(w)
		}),
		Entry("flood: a mebibyte and no newline", "flood", nil, func(w *wild) {
			b := make([]byte, 1<<20)
			_, err := io.ReadFull(w.stdout, b)
			Expect(err).NotTo(HaveOccurred())
			Expect(strings.ContainsRune(string(b), '\n')).To(BeFalse())
			dies(w)
		}),
		Entry("flood err: on the other stream, to its bound", "flood", []string{"50000", "err"},
			prints(0, "", strings.Repeat("x", 50000))),
		Entry("earlyclose: its output is over and it runs on", "earlyclose", nil, func(w *wild) {
			w.ready()
			Expect(io.ReadAll(w.lines)).To(BeEmpty())
			Expect(io.ReadAll(w.stderr)).To(BeEmpty())
			Expect(w.pid()).To(BeRunning())
			dies(w)
		}),
		Entry("listener: accepts where it is told to", "listener", []string{"tcp:127.0.0.1:0"}, func(w *wild) {
			w.ready()
			Eventually(func() (string, error) {
				b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", w.pid()))
				return string(b), err
			}).WithTimeout(longEnough).Should(ContainSubstring(" 0A ")) // a socket that listens
			dies(w)
		}),
		Entry("nostdin: its input backs up", "nostdin", nil, func(w *wild) {
			w.ready()
			Expect(w.stdin.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))).To(Succeed())
			_, err := w.stdin.Write(make([]byte, 1<<20))
			Expect(err).To(MatchError(os.ErrDeadlineExceeded))
			dies(w)
		}),
		Entry("nostdin close: its input breaks", "nostdin", []string{"close"}, func(w *wild) {
			w.ready()
			_, err := w.stdin.Write([]byte("x"))
			Expect(errors.Is(err, syscall.EPIPE)).To(BeTrue())
			dies(w)
		}),
		Entry("sleep: until its life is over", "sleep", []string{"life=50ms"}, prints(fixtures.ExitAlarm, "ready\n", "")),
		Entry("sleep: for a while", "sleep", []string{"1ms", "quiet"}, prints(0, "", "")),
		Entry("exit: with a code", "exit", []string{"3"}, prints(3, "", "")),
		Entry("signal: by a signal", "signal", []string{"15"}, func(w *wild) {
			w.wait()
			Expect(w.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal()).To(Equal(syscall.SIGTERM))
		}),
		Entry("streams: any bytes on both streams", "streams",
			[]string{fixtures.Out("a\xff\x00"), fixtures.Err("e\r\n"), fixtures.Out("b"), "exit:4"}, prints(4, "a\xff\x00b", "e\r\n")),
		Entry("cat: what it is fed", "cat", nil, func(w *wild) {
			_, err := w.stdin.WriteString("fed")
			Expect(err).NotTo(HaveOccurred())
			prints(0, "fed", "")(w)
		}),
		Entry("lines: a few", "lines", []string{"2", "1ms"}, prints(0, "line 1\nline 2\n", "")),
		Entry("args: as they came", "args", []string{"", "a b", "\xff"}, prints(0, "\"\"\n\"a b\"\n\"\\xff\"\n", "")),
		Entry("cwd: where we are", "cwd", nil, func(w *wild) {
			dir, err := os.Getwd()
			Expect(err).NotTo(HaveOccurred())
			prints(0, dir+"\n", "")(w)
		}),
		Entry("envnames: names and no values", "envnames", nil, func(w *wild) {
			name, value, _ := strings.Cut(w.env, "=")
			out, err := io.ReadAll(w.stdout)
			Expect(err).NotTo(HaveOccurred())
			Expect(strings.Split(string(out), "\n")).To(ContainElements("PATH", name))
			Expect(string(out)).NotTo(ContainSubstring(value))
		}),
		Entry("tool: a verb that it has not", "tool", []string{"frobnicate"},
			prints(128, "", "fatal: no command \"frobnicate\"\n")),
	)

	It("climber: leaves the cgroup that it was started in", func() {
		w := prepareWild("climber")
		dir := makeCgroup(fmt.Sprintf("boombox-control-%d", os.Getpid()))
		fd, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		Expect(err).NotTo(HaveOccurred())
		defer unix.Close(fd)
		w.cmd.SysProcAttr.UseCgroupFD, w.cmd.SysProcAttr.CgroupFD = true, fd
		w.start()
		left := w.ready()
		Expect(os.ReadFile(filepath.Join(dir, "cgroup.procs"))).To(BeEquivalentTo(fmt.Sprintln(w.pid())))
		Expect(left[0]).To(BeRunning())
	})

	It("outsider: what a stranger was given he keeps, and what he starts for it is no descendant", func() {
		w := prepareWild("outsider")
		w.cmd.Args = append(w.cmd.Args, stranger("hand")(w.witness)...)
		w.start()
		w.ready()
		w.killGroup()
		Expect(w.left()).NotTo(HaveSurvivors())
		Expect(w.stdout.SetReadDeadline(time.Now())).To(Succeed())
		_, err := w.lines.ReadByte()
		Expect(err).To(MatchError(os.ErrDeadlineExceeded), "its output is not over")

		w = prepareWild("outsider")
		w.cmd.Args = append(w.cmd.Args, stranger("ask")(w.witness)...)
		w.start()
		left := w.ready()
		Expect(status(left[0], "PPid")).To(Equal(strconv.Itoa(os.Getpid())))
		outlive(w, left)
	})

	It("fds: shows a descriptor that leaked", func() {
		leaked, err := unix.FcntlInt(0, unix.F_DUPFD, 3) // not close-on-exec
		Expect(err).NotTo(HaveOccurred())
		defer unix.Close(leaked)
		w := startWild("fds")
		out, err := io.ReadAll(w.stdout)
		Expect(err).NotTo(HaveOccurred())
		Expect(strings.Fields(string(out))).To(ContainElements("0", "1", "2", strconv.Itoa(leaked)))
	})

	It("inside: tells what it finds around it, a leaked descriptor included", func() {
		leaked, err := unix.FcntlInt(0, unix.F_DUPFD, 3) // not close-on-exec
		Expect(err).NotTo(HaveOccurred())
		defer unix.Close(leaked)
		dir, err := os.Getwd()
		Expect(err).NotTo(HaveOccurred())
		w := startWild("inside")
		name, value, _ := strings.Cut(w.env, "=")
		out, err := io.ReadAll(w.stdout)
		Expect(err).NotTo(HaveOccurred())
		Expect(strings.Split(string(out), "\n")).To(ContainElements("env PATH", "env "+name, "fd 0", fmt.Sprint("fd ", leaked), "stdin pipe", "dir "+dir))
		Expect(string(out)).NotTo(ContainSubstring(value))
	})

	It("tool: keeps a history as git does", func() {
		dir := GinkgoT().TempDir()
		run := func(args ...string) (string, int) {
			GinkgoHelper()
			w := prepareWild("tool", args...)
			w.cmd.Dir = dir
			w.start()
			out, err := io.ReadAll(w.stdout)
			Expect(err).NotTo(HaveOccurred())
			return string(out), w.wait()
		}
		_, code := run("log")
		Expect(code).To(Equal(128), "no repository yet")
		out, code := run("init")
		Expect([]any{out, code}).To(Equal([]any{"Initialized empty repository in .fixture-tool\n", 0}))
		_, code = run("log")
		Expect(code).To(Equal(128), "no commits yet")
		first, code := run("commit", "-m", "first")
		Expect(first).To(MatchRegexp(`^\[main [0-9a-f]{8}\] first\n$`))
		Expect(code).To(BeZero())
		_, code = run("commit", "-m", "second")
		Expect(code).To(BeZero())
		out, code = run("log")
		Expect(out).To(MatchRegexp(`^[0-9a-f]{8} second\n[0-9a-f]{8} first\n$`))
		Expect(code).To(BeZero())
		id, code := run("rev-parse", "HEAD")
		Expect([]any{id, code}).To(Equal([]any{out[:8] + "\n", 0}))
		_, code = run("rev-parse", "no-such-branch")
		Expect(code).To(Equal(128))
		blob, code := run("cat-file", "blob", "HEAD")
		Expect([]any{strings.ContainsAny(blob, "\x00\xff\r"), code}).To(Equal([]any{true, 0}))
	})
})
