package contain_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/internal/suite"
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
	Eventually(helperProcesses).WithArguments(h.cmd.Process.Pid).WithTimeout(bound).Should(HaveLen(1))
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
		Expect(find()).To(HaveLen(3))

		owner.dieWithWarden()
		Expect(bases[0]).To(BeADirectory())
		Expect(find()).To(HaveLen(2), "the control: the tree outlives its owner")

		sweep()
		Expect(bases[0]).NotTo(BeADirectory())
		Expect(find()).To(BeEmpty())
	})

	It("is removed from the hierarchies of cgroup v1 too, where caps are there", func() {
		suite.Require(contain.CapProcesses)
		nonce, find := suite.WithNonce()
		DeferCleanup(reap, find)
		owner := startHelper("owner", nil, nonce, "BOOMBOX_SPEC_PROCESSES=50")
		Expect(owner.line()).To(HavePrefix("ready "))
		dirs := v1DirsOf(owner.cmd.Process.Pid)
		if len(dirs) == 0 {
			Skip("this host's controllers sit on cgroup v2")
		}
		owner.die()
		Eventually(find).WithTimeout(bound).Should(BeEmpty()) // the warden's work; it leaves the empty directory
		Expect(startHelper("sweeper", nil, "BOOMBOX_SPEC_PROCESSES=50").rest()).To(Equal([]string{"made"}))
		Expect(dirs[0]).NotTo(BeADirectory())
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
