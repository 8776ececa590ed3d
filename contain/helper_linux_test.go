package contain_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/suite"
)

// helperKey names, in the environment, the helper that a process of this test binary is to be.
const helperKey = "BOOMBOX_CONTAIN_HELPER"

// helpers are the roles that the test binary plays in processes of its own. Each prints lines for the spec to read, and
// ends when its standard input does.
var helpers = map[string]func() error{}

// runHelper runs the helper that this process was started as, if any, and exits.
func runHelper() {
	name, ok := os.LookupEnv(helperKey)
	if !ok {
		return
	}
	// Its children are not helpers.
	_ = os.Unsetenv(helperKey)
	if err := helpers[name](); err != nil {
		say("error", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// helperLife is how long a helper lives at most.
const helperLife = time.Minute

// helper is a running helper.
type helper struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

// startHelper starts the helper name.
func startHelper(name string, attr *syscall.SysProcAttr, env ...string) *helper {
	GinkgoHelper()
	exe, err := os.Executable()
	Expect(err).NotTo(HaveOccurred())
	return startProgram(exe, name, attr, env...)
}

// startProgram starts the helper name from a copy of the test binary.
func startProgram(exe, name string, attr *syscall.SysProcAttr, env ...string) *helper {
	GinkgoHelper()
	cmd := exec.Command(exe)
	cmd.Env = append(append(os.Environ(), helperKey+"="+name), env...)
	cmd.SysProcAttr = attr
	cmd.Stderr = GinkgoWriter
	stdin, err := cmd.StdinPipe()
	Expect(err).NotTo(HaveOccurred())
	stdout, err := cmd.StdoutPipe()
	Expect(err).NotTo(HaveOccurred())
	Expect(cmd.Start()).To(Succeed())
	h := &helper{cmd: cmd, stdin: stdin, lines: bufio.NewScanner(stdout)}
	leash := time.AfterFunc(helperLife, func() { _ = cmd.Process.Kill() })
	DeferCleanup(func() {
		leash.Stop()
		h.end()
	})
	return h
}

// end lets the helper go and waits for it.
func (h *helper) end() {
	_ = h.stdin.Close()
	_ = h.cmd.Wait()
}

// die kills the helper, as the kernel's memory killer or a user in a hurry would.
func (h *helper) die() {
	GinkgoHelper()
	Expect(h.cmd.Process.Kill()).To(Succeed())
	_ = h.cmd.Wait()
}

// rest reads the helper's last lines and waits for it.
func (h *helper) rest() (lines []string) {
	_ = h.stdin.Close()
	for h.lines.Scan() {
		lines = append(lines, h.lines.Text())
	}
	_ = h.cmd.Wait()
	return lines
}

// line reads one line of the helper's output.
func (h *helper) line() string {
	GinkgoHelper()
	Expect(h.lines.Scan()).To(BeTrue(), "the helper ended early")
	Expect(h.lines.Text()).NotTo(HavePrefix("error "))
	return h.lines.Text()
}

// say prints one line for the spec.
func say(words ...any) { fmt.Println(words...) }

// untilReleased waits until the spec lets this helper go.
func untilReleased() { _, _ = io.Copy(io.Discard, os.Stdin) }

// ownCgroup is the directory of our own cgroup, found without the code under test, "" if it is not.
func ownCgroup() string {
	text, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			for _, root := range cgroup2Mounts() {
				if dir := filepath.Join(root, path); path == "/" || isDir(dir) {
					return dir
				}
			}
		}
	}
	return ""
}

// cgroup2Mounts lists where the whole cgroup2 file system is mounted.
func cgroup2Mounts() (points []string) {
	text, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); strings.Contains(line, " - cgroup2 ") && fields[3] == "/" {
			points = append(points, fields[4])
		}
	}
	return points
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// ownBases lists the cgroups that hold this process's groups.
func ownBases() []string { return basesOf(os.Getpid()) }

func basesOf(pid int) []string {
	GinkgoHelper()
	dirs, err := filepath.Glob(ownCgroup() + "/boombox-*-" + itoa(pid) + "-*")
	Expect(err).NotTo(HaveOccurred())
	return slices.DeleteFunc(dirs, func(dir string) bool {
		// Soon after boot, another process may have begun at a tick of the same number.
		return strings.Split(filepath.Base(dir), "-")[2] != itoa(pid)
	})
}

func itoa(n int) string { return strconv.Itoa(n) }

func readFile(path string) (string, error) {
	text, err := os.ReadFile(path)
	return string(text), err
}

// outer translates process ids that a child has told us: in a pid namespace, it knows other ones than we do. Only
// processes that find finds are translated.
func outer(pids []int, find func() []contain.Member) []int {
	if len(pids) == 0 {
		return nil
	}
	ours := map[int]int{}
	for _, m := range find() {
		text, _ := os.ReadFile("/proc/" + itoa(m.PID) + "/status")
		for line := range strings.Lines(string(text)) {
			if ids, ok := strings.CutPrefix(line, "NSpid:"); ok {
				words := strings.Fields(ids)
				inner, _ := strconv.Atoi(words[len(words)-1])
				ours[inner] = m.PID
			}
		}
	}
	var list []int
	for _, pid := range pids {
		if translated, ok := ours[pid]; ok {
			pid = translated
		}
		list = append(list, pid)
	}
	return list
}

// requireCgroups skips the spec where there are no cgroups for us.
func requireCgroups() {
	GinkgoHelper()
	for _, rung := range contain.Host().Rungs {
		if rung.Mechanism == contain.Cgroup2 && !rung.Available {
			suite.Require(rung.Guarantees)
			Skip("this host has no cgroups for us")
		}
	}
}
