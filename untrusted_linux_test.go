package boombox_test

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	"github.com/boombox-go/boombox/internal/require"
	"github.com/boombox-go/boombox/internal/suite"
	. "github.com/boombox-go/boombox/matchers"
)

// untrusted is the command itself, boombox run --untrusted, with a fixture child that it knows nothing of.
type untrusted struct {
	*wild
	report string
}

func runUntrusted(box string, flags []string, child string, args ...string) *untrusted {
	GinkgoHelper()
	u := &untrusted{prepareWild(child, append([]string{"life=2m"}, args...)...), filepath.Join(scratch(), "report")}
	line := append([]string{"run", "--untrusted", "--timeout", "100s", "--env", u.env, "--report", u.report}, flags...)
	u.cmd = exec.Command(box, append(append(line, "--"), u.cmd.Args...)...)
	u.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	u.start()
	end := time.Now().Add(2 * time.Minute) // where each start takes seconds
	Expect(u.stdout.SetDeadline(end)).To(Succeed())
	Expect(u.stderr.SetDeadline(end)).To(Succeed())
	return u
}

// told is the report of a run that is over.
func (u *untrusted) told() (r struct {
	Outcome    string
	Mechanism  *string
	Guarantees []string
	Survivors  *int
	Limits     []struct {
		Kind    string
		Max     float64
		Tripped string
		Events  *int64
	}
},
) {
	GinkgoHelper()
	text, err := os.ReadFile(u.report)
	Expect(err).NotTo(HaveOccurred())
	Expect(json.Unmarshal(text, &r)).To(Succeed(), "%s", text)
	return r
}

// capFiles are the files of each cap, in cgroup v2 and in v1, with the controller that they are of.
var capFiles = map[string][2][]string{
	"memory": {{"memory.max"}, {"memory.limit_in_bytes"}},
	"pids":   {{"pids.max"}, {"pids.max"}},
	"cpu":    {{"cpu.max"}, {"cpu.cfs_quota_us", "cpu.cfs_period_us"}},
}

// capOn reads the nearest cap that the cgroups of a process have, and where, by the files alone.
func capOn(pid int, controller string) (text, dir string) {
	GinkgoHelper()
	membership, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	Expect(err).NotTo(HaveOccurred())
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	Expect(err).NotTo(HaveOccurred())
	for version, files := range capFiles[controller] {
		for line := range strings.Lines(string(membership)) {
			is := strings.SplitN(strings.TrimSpace(line), ":", 3)
			if version == 0 && is[0] != "0" || version == 1 && !slices.Contains(strings.Split(is[1], ","), controller) {
				continue
			}
			for mount := range strings.Lines(string(mounts)) {
				head, tail, _ := strings.Cut(mount, " - ")
				at, fs := strings.Fields(head), strings.Fields(tail)
				if kind := []string{"cgroup2", "cgroup"}[version]; fs[0] != kind ||
					version == 1 && !slices.Contains(strings.Split(fs[2], ","), controller) {
					continue
				}
				dir := filepath.Join(at[4], strings.TrimPrefix(is[2], strings.TrimSuffix(at[3], "/")))
				for ; len(dir) >= len(at[4]); dir = filepath.Dir(dir) {
					var text []byte
					for _, file := range files {
						more, _ := os.ReadFile(filepath.Join(dir, file))
						text = append(text, more...)
					}
					if w := strings.Fields(string(text)); len(w) > 0 && w[0] != "max" && w[0] != "-1" && len(w[0]) < 18 {
						return strings.Join(w, " "), dir
					}
				}
			}
		}
	}
	return "", ""
}

// tasksOf counts the tasks of processes.
func tasksOf(members []contain.Member) (n int) {
	for _, m := range members {
		entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", m.PID))
		n += len(entries)
	}
	return n
}

// What boombox run --help says of --untrusted.
const (
	untrustedNeeds  = contain.KillTree | contain.KillOnOwnerDeath | contain.CapMemory | contain.CapProcesses | contain.CapCPU
	untrustedMemory = 512 << 20
)

var _ = Describe("boombox run --untrusted", Label("live", "limits", "forkbomb"), func() {
	var box string
	BeforeEach(func() { box = program() })

	// mayRefuse checks that a refusal is right here, and that it is one.
	mayRefuse := func(u *untrusted) {
		GinkgoHelper()
		Expect(require.Lacking(contain.Host(), untrustedNeeds)).NotTo(BeZero(), "this host has all that it takes")
		must, err := contain.ParseGuarantees(os.Getenv(require.Env))
		Expect(err).NotTo(HaveOccurred())
		Expect(must.Has(untrustedNeeds)).To(BeFalse(), "this host must have all that it takes")
		said, _ := u.lines.ReadString(0)
		Expect(said).To(BeEmpty())
		var why bytes.Buffer
		_, _ = why.ReadFrom(u.stderr)
		Expect(u.wait()).To(Equal(125))
		Expect(why.String()).To(MatchRegexp(`^boombox: (memory|processes|cpu) limit cannot be enforced \([a-z-]+\): [^\n]+; would help: [^\n]+\n$`))
		r := u.told()
		Expect(r.Outcome).To(Equal("start_failed"))
		Expect(r.Mechanism).To(BeNil())
		Expect(u.left()).NotTo(HaveSurvivors())
	}

	// Fewer than the 64 that it allows: each task of the bomb asks for more every millisecond, which a small machine takes hard.
	const most = 20

	It("holds a bomb with every cap, as the kernel has them, or refuses with why and what would help", func() {
		u := runUntrusted(box, []string{"--max-processes", strconv.Itoa(most)}, "taskbomb", "60")
		if line, err := u.lines.ReadString('\n'); err != nil {
			Expect(line).To(BeEmpty())
			mayRefuse(u)
			return
		}
		Expect(u.line()).To(Equal("refused"), "the kernel refused it a task")
		members := u.nonce()
		Expect(len(members)).To(BeNumerically(">", 3), "it is not the bomb that was slow")
		peak := 0
		for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
			peak = max(peak, tasksOf(u.nonce()))
		}
		Expect(peak).To(BeNumerically("<=", most))

		memory, _ := capOn(members[0].PID, "memory")
		cpu, _ := capOn(members[0].PID, "cpu")
		pids, dir := capOn(members[0].PID, "pids")
		Expect([]string{memory, cpu, pids}).To(Equal([]string{strconv.Itoa(untrustedMemory), "100000 100000", strconv.Itoa(most)}))
		events, err := os.ReadFile(filepath.Join(dir, "pids.events"))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(events)).To(MatchRegexp(`(?m)^max [1-9]\d*$`))

		Expect(u.cmd.Process.Signal(syscall.SIGTERM)).To(Succeed())
		Expect(u.wait()).To(Equal(128 + 15))
		Expect(u.left()).NotTo(HaveSurvivors())
		Expect(dir).NotTo(BeADirectory())
		r := u.told()
		Expect(r.Guarantees).To(ContainElements(untrustedNeeds.Names()))
		Expect(r.Survivors).To(HaveValue(BeZero()))
		Expect(r.Limits).To(HaveLen(3))
		for i, kind := range []string{"memory", "processes", "cpu"} {
			l := r.Limits[i]
			Expect(l.Kind).To(Equal(kind))
			Expect(l.Tripped).NotTo(Equal("unknown"), kind)
			Expect(l.Events).NotTo(BeNil(), kind)
		}
		Expect(r.Limits[0].Tripped).To(Equal("no"))
		Expect(r.Limits[1].Tripped).To(Equal("yes"))
		AddReportEntry("the bomb had at most", fmt.Sprintf("%d tasks of %d by %s", peak, most, *r.Mechanism))
	})

	It("ends a hog by its cap on memory, or refuses it", func() {
		u := runUntrusted(box, []string{"--max-memory", "16MiB"}, "hog", "32")
		var said bytes.Buffer
		_, _ = said.ReadFrom(u.lines) // until it is over: it may not come to say that it is ready
		if u.wait() == 125 {
			mayRefuse(u)
			return
		}
		Expect(said.String()).NotTo(ContainSubstring("held"))
		Expect(u.wait()).To(Equal(128 + 9))
		r := u.told()
		Expect(r.Outcome).To(Equal("signalled"))
		Expect(r.Limits[0].Kind).To(Equal("memory"))
		Expect(r.Limits[0].Max).To(BeEquivalentTo(16 << 20))
		Expect(r.Limits[0].Tripped).To(Equal("yes"))
		Expect(r.Limits[0].Events).To(HaveValue(BeNumerically(">", 0)))
		Expect(u.left()).NotTo(HaveSurvivors())
	})

	It("starts the program where it does not refuse, and nothing where it does", func() {
		witness := filepath.Join(scratch(), "witness")
		out, err := exec.Command(box, "run", "--untrusted", "--", "touch", witness).CombinedOutput()
		if require.Lacking(contain.Host(), untrustedNeeds) == 0 {
			Expect(err).NotTo(HaveOccurred(), "%s", out)
			Expect(witness).To(BeAnExistingFile())
			return
		}
		Expect(err).To(HaveOccurred())
		Expect(witness).NotTo(BeAnExistingFile())
		By("which is not for want of a program")
		out, err = exec.Command(box, "run", "--", "touch", witness).CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "%s", out)
		Expect(witness).To(BeAnExistingFile())
	})

	It("is what holds the bomb: without it there are more", func() {
		suite.Require(untrustedNeeds) // where it is refused it holds nothing, and without a cgroup nobody promises to end a bomb in time
		w := prepareWild("taskbomb", "life=2m", "60")
		w.cmd = exec.Command(box, append([]string{"run", "--env", w.env, "--"}, w.cmd.Args...)...)
		w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		w.start()
		Eventually(w.nonce).WithTimeout(2 * time.Minute).Should(HaveMembers(1 + 60))
		Expect(w.cmd.Process.Signal(syscall.SIGTERM)).To(Succeed())
		Expect(w.wait()).To(Equal(128 + 15))
		Expect(w.left()).NotTo(HaveSurvivors())
	})
})
