package contain_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/boombox-go/boombox/contain"
	. "github.com/boombox-go/boombox/matchers"
)

func init() {
	// readonly makes every cgroup2 mount read-only, in a mount namespace of its own, forbids itself pid namespaces, if the
	// spec says so, and says what it can have then.
	helpers["readonly"] = func() error {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return err
		}
		for _, point := range cgroup2Mounts() {
			if err := unix.Mount("", point, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
				return err
			}
		}
		if os.Getenv("BOOMBOX_SPEC_NAMESPACES") == "none" {
			if err := forbidNamespaces(); err != nil {
				return err
			}
		}
		for _, rung := range contain.Host().Rungs {
			say(rung.Mechanism, rung.Available, rung.Reason, "|", rung.Remedy)
		}
		before, err := os.ReadDir("/proc/self/fd")
		for range 5 {
			contain.Host()
		}
		after, err2 := os.ReadDir("/proc/self/fd")
		say("descriptors left by probes:", len(after)-len(before), errors.Join(err, err2))
		g, err := contain.New(contain.Options{})
		if err != nil {
			return err
		}
		status, err := runExit(g)
		say(g.Mechanism(), g.Guarantees(), status.Code, err)
		if err := g.Close(); err != nil {
			return err
		}
		_, err = contain.New(contain.Options{Require: contain.KillForkBomb})
		say(errors.Is(err, contain.ErrUnsupported), err)
		return nil
	}
}

// forbidNamespaces sets the limits of this process's user namespace, which has to be its own, or they would be
// everybody's.
func forbidNamespaces() error {
	text, err := os.ReadFile("/proc/self/uid_map")
	if err != nil || strings.Fields(string(text))[2] != "65536" {
		return errors.New("not in a user namespace of the spec's making")
	}
	return errors.Join(
		os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0),
		os.WriteFile("/proc/sys/user/max_pid_namespaces", []byte("0"), 0),
	)
}

var _ = Describe("the host", func() {
	It("has what New obtains", func() {
		best, ok := contain.Host().Best()
		Expect(ok).To(BeTrue())
		g, err := contain.New(contain.Options{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(g.Close)
		Expect(g).To(BeContainedBy(best.Mechanism))
		const caps = contain.CapMemory | contain.CapProcesses | contain.CapCPU
		Eventually(g.Guarantees).WithTimeout(bound).Should(Equal(best.Guarantees&^caps), "of caps it has those that it is asked for")
		required, err := contain.New(contain.Options{Require: best.Guarantees})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(required.Close)
		Expect(required.Guarantees()).To(Equal(best.Guarantees))
	})

	It("has every mechanism's guarantees, reasons and remedies", func() {
		report := contain.Host()
		const tree, bomb, owner, uid = contain.KillTree, contain.KillForkBomb, contain.KillOnOwnerDeath, contain.ResistSameUID
		rung := func(m contain.Mechanism, gives contain.Guarantee) any {
			return And(HaveField("Mechanism", m), WithTransform(func(r contain.Rung) contain.Guarantee {
				return r.Guarantees &^ (contain.CapMemory | contain.CapProcesses | contain.CapCPU)
			}, Equal(gives)))
		}
		Expect(report.Rungs).To(HaveExactElements(
			rung(contain.Cgroup2, tree|bomb|owner),
			rung(contain.Cgroup2PIDNamespace, tree|bomb|owner|uid),
			rung(contain.PIDNamespace, tree|bomb|owner|uid),
			rung(contain.Subreaper, tree|owner),
			rung(contain.ThrowawayUser, tree|bomb|owner|uid),
			rung(contain.ProcessGroup, 0),
		))
		for _, rung := range report.Rungs {
			Expect(rung.Available).To(Equal(rung.Reason == ""))
			Expect(rung.OnRequest).To(Equal(rung.Mechanism == contain.ThrowawayUser))
		}
		has := report.Rungs[0].Guarantees
		for _, refused := range report.Rungs[0].Refused {
			Expect(refused.Detail).NotTo(BeEmpty())
			has |= map[contain.LimitKind]contain.Guarantee{
				contain.LimitMemory: contain.CapMemory, contain.LimitProcesses: contain.CapProcesses, contain.LimitCPU: contain.CapCPU,
			}[refused.Kind]
		}
		Expect(has.Has(contain.CapMemory|contain.CapProcesses|contain.CapCPU)).To(BeTrue(), "it has every cap, or says why not")
		Expect(report.Rungs[5].Available).To(BeTrue())
	})

	It("leaves no trace of a probe", func() {
		Expect(contain.LadderAt("/proc/self/mountinfo", "/proc/self/cgroup").Host().Rungs).To(HaveLen(2))
		Expect(ownBases()).To(BeEmpty())
	})

	It("goes down the ladder where cgroups are read-only and namespaces forbidden, and says why", func() {
		if os.Getuid() != 0 {
			Skip("needs root for a mount namespace")
		}
		requireCgroups()
		const readonly = "no cgroup can be made below our own: read-only file system"
		const writable = " | mount /sys/fs/cgroup writable in the container"
		private := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
		Expect(startHelper("readonly", private).rest()).To(Equal([]string{
			"cgroup2 false " + readonly + writable,
			"cgroup2+pid-namespace false " + readonly + writable,
			"pid-namespace true  | ",
			"subreaper true  | ",
			"throwaway-user true  | ",
			"process-group true  | ",
			"descriptors left by probes: 0 <nil>",
			"pid-namespace kill-tree,kill-fork-bomb,kill-on-owner-death,resist-same-uid 5 <nil>",
			"false <nil>",
		}))

		private.Cloneflags |= syscall.CLONE_NEWUSER
		private.UidMappings = []syscall.SysProcIDMap{{Size: 65536}}
		private.GidMappings = private.UidMappings
		const forbidden = "no pid namespace can be made (no space left on device), and no user namespace to make one in (no space left on device)"
		Expect(startHelper("readonly", private, "BOOMBOX_SPEC_NAMESPACES=none").rest()).To(Equal([]string{
			"cgroup2 false " + readonly + writable,
			"cgroup2+pid-namespace false " + readonly + writable,
			"pid-namespace false " + forbidden + " | raise the sysctl user.max_user_namespaces, or give the program CAP_SYS_ADMIN",
			"subreaper true  | ",
			"throwaway-user true  | ",
			"process-group true  | ",
			"descriptors left by probes: 0 <nil>",
			"subreaper kill-tree,kill-on-owner-death 5 <nil>",
			"true contain: this host cannot guarantee kill-fork-bomb (best mechanism: subreaper); cgroup2: " + readonly +
				"; cgroup2+pid-namespace: " + readonly + "; pid-namespace: " + forbidden +
				"; throwaway-user: it is taken only if Options.Mechanism names it",
		}))
	})

	// ladder is this host, if it had other mounts or if we were in another cgroup.
	ladder := func(mountinfo, membership string) contain.Ladder {
		GinkgoHelper()
		dir := GinkgoT().TempDir()
		files := map[string]string{"mountinfo": mountinfo, "cgroup": membership}
		for name, text := range files {
			Expect(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)).To(Succeed())
		}
		return contain.LadderAt(dir+"/mountinfo", dir+"/cgroup")
	}

	DescribeTable("names what keeps it from cgroups",
		func(mountinfo, membership, reason string) {
			l := ladder(mountinfo, membership)
			Expect(l.Host().Rungs[0]).To(And(HaveField("Available", false), HaveField("Reason", reason)))
			g, err := l.New(contain.Options{})
			Expect(err).NotTo(HaveOccurred())
			Expect(g).To(BeContainedBy(contain.ProcessGroup))
			Expect(g.Close()).To(Succeed())
			_, err = l.New(contain.Options{Require: contain.KillTree})
			Expect(err).To(MatchError(contain.ErrUnsupported))
			Expect(err).To(MatchError(ContainSubstring(reason)))
		},
		Entry("version 1 alone", "36 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n", "8:pids:/\n",
			"this system has no cgroup v2"),
		Entry("not mounted", "36 31 0:36 / /sys rw - sysfs sysfs rw\n", "0::/\n", "this system has no cgroup v2"),
		Entry("mounted elsewhere", "41 31 0:38 /other /mnt rw - cgroup2 cgroup2 rw\n", "0::/own\n",
			"our own cgroup is outside of every mounted cgroup v2 tree"),
		Entry("hidden above a namespace", "41 31 0:38 / /mnt rw - cgroup2 cgroup2 rw\n", "0::/../own\n",
			"our own cgroup is outside of every mounted cgroup v2 tree"),
		Entry("removed", "41 31 0:38 / /mnt rw - cgroup2 cgroup2 rw\n", "0::/own (deleted)\n",
			"no cgroup v2 is to be seen: our own cgroup has been removed"),
		Entry("mounted over", "41 31 0:38 / /tmp rw - cgroup2 cgroup2 rw\n", "0::/\n",
			"another file system is mounted over our own cgroup"),
		Entry("gone", "41 31 0:38 / /nonexistent rw - cgroup2 cgroup2 rw\n", "0::/\n",
			"our own cgroup cannot be reached: no such file or directory"),
	)

	Context("with cgroups", func() {
		var mountinfo, own string

		BeforeEach(func() {
			requireCgroups()
			text, err := os.ReadFile("/proc/self/mountinfo")
			Expect(err).NotTo(HaveOccurred())
			mountinfo = string(text)
			membership, err := os.ReadFile("/proc/self/cgroup")
			Expect(err).NotTo(HaveOccurred())
			own, err = contain.ParseSelfCgroup(membership)
			Expect(err).NotTo(HaveOccurred())
		})

		// below is the ladder of a process in the cgroup dir.
		below := func(dir string) contain.Ladder {
			return ladder(mountinfo, "0::"+filepath.Join(own, filepath.Base(dir))+"\n")
		}

		It("refuses a threaded cgroup, which takes no processes", func() {
			dir := specCgroup()
			Expect(os.WriteFile(filepath.Join(dir, "cgroup.type"), []byte("threaded"), 0)).To(Succeed())
			Expect(below(dir).Host().Rungs[0]).To(And(
				HaveField("Reason", HavePrefix("no process can be cloned into a new cgroup: ")),
				HaveField("Err", syscall.EOPNOTSUPP), HaveField("Remedy", Not(BeEmpty())),
			))
		})

		It("looks again when what it found has gone", func() {
			dir := specCgroup()
			l := below(dir)
			Expect(l.Host().Rungs[0].Available).To(BeTrue())
			Expect(os.Remove(dir)).To(Succeed())
			g, err := l.New(contain.Options{})
			Expect(err).NotTo(HaveOccurred())
			Expect(g).To(BeContainedBy(contain.ProcessGroup))
			Expect(g.Close()).To(Succeed())
			Expect(l.Host().Rungs[0].Available).To(BeFalse())
		})

		It("finds the cgroup through a mount of a part of the tree", func() {
			dir := specCgroup()
			sub := filepath.Join(dir, "sub")
			Expect(os.Mkdir(sub, 0o755)).To(Succeed())
			// As a container sees it: the subtree alone, mounted at its own directory.
			l := ladder("41 31 0:38 "+filepath.Join(own, filepath.Base(dir))+" "+dir+" rw - cgroup2 cgroup2 rw\n",
				"0::"+filepath.Join(own, filepath.Base(dir), "sub")+"\n")
			g, err := l.New(contain.Options{Require: contain.KillTree})
			Expect(err).NotTo(HaveOccurred())
			Expect(os.ReadDir(sub)).To(ContainElement(HaveField("Name()", HavePrefix("boombox-"))))
			r := start(g, "setsid")
			Expect(g.Close()).To(Succeed())
			Expect(r.find()).NotTo(HaveSurvivors())
			Expect(os.ReadDir(sub)).NotTo(ContainElement(HaveField("Name()", HavePrefix("boombox-"))))
		})

		It("uses the one mechanism asked for, or refuses", func() {
			_, err := contain.New(contain.Options{Mechanism: contain.ProcessGroup, Require: contain.KillTree})
			refusal, ok := errors.AsType[*contain.UnsupportedError](err)
			Expect(ok).To(BeTrue())
			Expect(refusal.Missing).To(Equal(contain.KillTree))
			Expect(err).To(MatchError("contain: this host cannot guarantee kill-tree by process-group"))

			_, err = contain.New(contain.Options{Mechanism: contain.JobObject})
			Expect(err).To(MatchError("contain: this host has no job-object"))
			Expect(err).To(MatchError(contain.ErrUnsupported))
		})

		It("says which guarantee no rung has", func() {
			_, err := ladder(mountinfo, "0::"+own+"\n").New(contain.Options{Require: contain.KillTree | contain.ResistSameUID})
			Expect(err).To(MatchError("contain: this host cannot guarantee resist-same-uid (best mechanism: cgroup2)"))
			Expect(strings.Contains(err.Error(), "\n")).To(BeFalse())
		})
	})
})
