package contain_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/internal/suite"
	. "github.com/boombox-go/boombox/matchers"
)

func init() {
	// owner holds a tree, in a pid namespace of its own if it finds itself to be the first process of one.
	helpers["owner"] = func() error {
		if os.Getpid() == 1 {
			if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
				return err
			}
			if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
				return err
			}
		}
		if err := enterV1(); err != nil {
			return err
		}
		g, err := contain.New(specOptions())
		if err != nil {
			return err
		}
		defer g.Close()
		argv := fixtures.Argv("setsid")
		_, err = g.Start(context.Background(), contain.Spec{
			Path: argv[0], Argv: contain.Seal(argv...), Env: contain.Seal(os.Environ()...), Stdout: os.Stdout,
		})
		if err != nil {
			return err
		}
		untilReleased()
		return nil
	}
	// sweeper makes one group, as any program does that starts something.
	helpers["sweeper"] = func() error {
		if err := enterV1(); err != nil {
			return err
		}
		g, err := contain.New(specOptions())
		if err != nil {
			return err
		}
		say("made")
		return g.Close()
	}
}

// specOptions are those of a helper's group: with a cap on processes if the spec wants one.
func specOptions() contain.Options {
	most, _ := strconv.Atoi(os.Getenv("BOOMBOX_SPEC_PROCESSES"))
	return contain.Options{Mechanism: contain.Cgroup2, Limits: contain.Limits{Processes: most}}
}

// enterV1 puts this helper into the cgroup v1 directory that the spec has made for it, if any.
func enterV1() error {
	dir := os.Getenv("BOOMBOX_SPEC_V1")
	if dir == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0)
}

// specV1 makes a cgroup below our own in the v1 hierarchy of pids, that is removed with the spec.
func specV1() string {
	GinkgoHelper()
	text, err := os.ReadFile("/proc/self/cgroup")
	Expect(err).NotTo(HaveOccurred())
	own, ok := contain.ParseV1Cgroups(text)["pids"]
	if !ok {
		Skip("this host's controllers sit on cgroup v2")
	}
	dir, err := os.MkdirTemp(filepath.Join("/sys/fs/cgroup/pids", own), "boombox-spec-"+itoa(os.Getpid())+"-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(removeAll, dir)
	return dir
}

// within makes a helper a member of a cgroup.
func within(dir string) *syscall.SysProcAttr {
	GinkgoHelper()
	fd, err := syscall.Open(dir, syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(syscall.Close, fd)
	return &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: fd}
}

// dieWithWarden kills the helper, and before it what would clean up behind it.
func (h *helper) dieWithWarden() {
	GinkgoHelper()
	Eventually(helperProcesses).WithArguments(h.cmd.Process.Pid).WithTimeout(longEnough).Should(HaveLen(1))
	killAll(helperProcesses(h.cmd.Process.Pid))
	h.die()
}

var _ = Describe("what a dead owner leaves", func() {
	BeforeEach(func() { requireCgroups() })

	sweep := func() {
		GinkgoHelper()
		Expect(startHelper("sweeper", nil).rest()).To(Equal([]string{"made"}))
	}

	It("is killed and removed by the next process that makes a group", func() {
		// In a cgroup of its own, where no other program of this machine sweeps in between.
		dir := specCgroup()
		in := within(dir)
		sweep := func() {
			GinkgoHelper()
			Expect(startHelper("sweeper", in).rest()).To(Equal([]string{"made"}))
		}
		nonce, find := suite.WithNonce()
		DeferCleanup(reap, find)
		owner := startHelper("owner", in, nonce)
		Expect(owner.line()).To(HavePrefix("ready "))
		bases, err := filepath.Glob(dir + "/boombox-*")
		Expect(err).NotTo(HaveOccurred())
		Expect(bases).To(HaveLen(1))

		sweep()
		Expect(bases[0]).To(BeADirectory(), "a live owner's tree is nobody's business")
		Expect(find()).To(HaveMembers(3))

		owner.dieWithWarden()
		Expect(bases[0]).To(BeADirectory())
		Expect(find()).To(HaveMembers(2), "the control: the tree outlives its owner")

		sweep()
		Expect(bases[0]).NotTo(BeADirectory())
		Expect(find()).NotTo(HaveSurvivors())
	})

	Context("in the hierarchies of cgroup v1", func() {
		// owner holds a capped tree in a cgroup of its own, where no other program of this machine sweeps in between.
		owner := func(v1 string, in *syscall.SysProcAttr) (h *helper, dir string, find func() []contain.Member) {
			GinkgoHelper()
			nonce, find := suite.WithNonce()
			DeferCleanup(reap, find)
			h = startHelper("owner", in, nonce, "BOOMBOX_SPEC_PROCESSES=50", "BOOMBOX_SPEC_V1="+v1)
			Expect(h.line()).To(HavePrefix("ready "))
			dirs, err := filepath.Glob(v1 + "/boombox-*")
			Expect(err).NotTo(HaveOccurred())
			Expect(dirs).To(HaveLen(1))
			Eventually(helperProcesses).WithArguments(h.cmd.Process.Pid).WithTimeout(longEnough).Should(HaveLen(1))
			return h, dirs[0], find
		}

		BeforeEach(func() { suite.Require(contain.CapProcesses) })

		It("is removed by the warden, with the tree", func() {
			h, dir, find := owner(specV1(), within(specCgroup()))
			h.die()
			Eventually(find).WithTimeout(bound).ShouldNot(HaveSurvivors())
			Eventually(dir).WithTimeout(bound).ShouldNot(BeADirectory())
		})

		It("is removed by the next process that makes a group, with caps or without", func() {
			v1, in := specV1(), within(specCgroup())
			h, dir, find := owner(v1, in)
			h.dieWithWarden()
			Consistently(dir).WithTimeout(100*time.Millisecond).Should(BeADirectory(), "the control: it outlives its owner")
			Expect(startHelper("sweeper", in, "BOOMBOX_SPEC_V1="+v1).rest()).To(Equal([]string{"made"}))
			Expect(find()).NotTo(HaveSurvivors())
			Expect(dir).NotTo(BeADirectory())
		})
	})

	It("is left alone if the owner was in another pid namespace", func() {
		if os.Getuid() != 0 {
			Skip("needs root for a pid namespace")
		}
		before := basesOf(1)
		owner := startHelper("owner", &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS})
		Expect(owner.line()).To(HavePrefix("ready "))
		owner.dieWithWarden()
		left := slices.DeleteFunc(basesOf(1), func(base string) bool { return slices.Contains(before, base) })
		Expect(left).To(HaveLen(1), "the owner was process 1 of its namespace")
		DeferCleanup(removeAll, left[0])
		sweep()
		Expect(left[0]).To(BeADirectory())
	})
})
