package contain_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/boombox-go/boombox/contain"
	. "github.com/boombox-go/boombox/matchers"
)

var _ = Describe("a scope of systemd", Label("limits"), func() {
	const patience = 10 * time.Second

	// at is a program below a service manager's cgroups, which has a made-up file system.
	at := func(b *fakeBus) contain.Systemd {
		return contain.Systemd{
			Socket: b.socket, Bound: patience, Own: "/cg/user/app",
			FS: hostAt("/cg/user/app", &fakeDir{kind: "domain"}, "/cg/user", &fakeDir{controllers: all(), kind: "domain"}),
			Find: func(path string) (string, bool) {
				return "/cg" + path, true
			},
		}
	}
	limits := contain.Limits{Memory: 32 << 20, Processes: 20, CPU: 0.5}

	It("is foreseen where the service manager has the controllers, and nowhere else", func() {
		b := (&fakeBus{group: "/user"}).listen()
		s := at(b)
		scoped, refused := s.Predict("memory", "pids")
		Expect(refused).To(BeNil())
		Expect(scoped).To(BeTrue())
		Expect(b.holders()).To(BeEmpty(), "a look makes nothing")

		_, refused = s.Predict("memory", "io")
		Expect(refused).To(HaveField("Reason", contain.LimitNoController))
		s.Find = func(string) (string, bool) { return "", false }
		_, refused = s.Predict("memory")
		Expect(refused).To(HaveField("Reason", contain.LimitNotMounted))
	})

	It("is asked for with the caps and a bound on its life, and its holder is moved out of the way", func() {
		requireCgroups()
		dir := specCgroup()
		b := &fakeBus{group: "/user", result: "done", made: func(name string, pids []uint32) {
			defer GinkgoRecover()
			path := filepath.Join(dir, name)
			Expect(os.Mkdir(path, 0o755)).To(Succeed())
			Expect(pids).To(HaveLen(1))
			Expect(os.WriteFile(filepath.Join(path, "cgroup.procs"), []byte(itoa(int(pids[0]))), 0)).To(Succeed())
		}}
		s := at(b.listen())
		var holder int
		fs := hostAt("/cg/scope", &fakeDir{controllers: all(), kind: "domain"})
		s.FS = fs
		s.Find = func(path string) (string, bool) {
			_, properties := b.only()
			holder = int(properties["PIDs"].([]uint32)[0])
			fs.dirs["/cg/scope"].pids = []int{holder}
			return "/cg/scope", true
		}
		update, end, refused := s.Scope(limits, "memory", "pids", "cpu")
		Expect(refused).To(BeNil())
		name, properties := b.only()
		Expect(name).To(MatchRegexp(`^boombox-\d+-%d-\d+-[0-9a-f]{8}\.scope$`, os.Getpid()))
		Expect(properties).To(And(
			HaveKeyWithValue("Delegate", true), HaveKeyWithValue("CollectMode", "inactive-or-failed"),
			HaveKeyWithValue("MemorySwapMax", uint64(0)), HaveKeyWithValue("RuntimeMaxUSec", uint64(7*24*3600*1e6)),
			HaveKeyWithValue("KillSignal", int32(syscall.SIGKILL)),
			// A little wider, for the holder.
			HaveKeyWithValue("MemoryMax", And(BeNumerically(">", 32<<20), BeNumerically("<", 128<<20))),
			HaveKeyWithValue("TasksMax", And(BeNumerically(">", 20), BeNumerically("<", 100))),
			HaveKeyWithValue("CPUQuotaPerSecUSec", And(BeNumerically(">", 5e5), BeNumerically("<", 6e5))),
		))
		Expect(fs.writes).To(HaveExactElements("cgroup.procs "+itoa(holder), "cgroup.subtree_control +memory",
			"cgroup.subtree_control +pids", "cgroup.subtree_control +cpu"))
		Expect(fs.dirs["/cg/scope"].pids).To(BeEmpty())
		Expect(holder).To(BeRunning())

		Expect(update(contain.Limits{Memory: 16 << 20, Processes: 40, CPU: 0.5})).To(Succeed())
		_, properties = b.only()
		Expect(properties).To(And(
			HaveKeyWithValue("TasksMax", BeNumerically(">", 40)), HaveKeyWithValue("MemoryMax", BeNumerically(">", 32<<20))))
		Expect(end()).To(Succeed())
		Expect(holder).NotTo(BeRunning())
	})

	It("is bounded by the lifetime that its group is given", func() {
		b := (&fakeBus{group: "/user", result: "done"}).listen() // it moves nobody, so the scope is given up
		s := at(b)
		s.Life = 90 * time.Second
		_, _, refused := s.Scope(limits, "memory")
		Expect(refused).NotTo(BeNil())
		_, properties := b.only()
		Expect(properties).To(HaveKeyWithValue("RuntimeMaxUSec", uint64(90*1e6)))
	})

	It("that is not to be seen afterwards is given up", func() {
		b := (&fakeBus{group: "/user", result: "done"}).listen() // it moves nobody
		_, _, refused := at(b).Scope(limits, "memory")
		Expect(refused).To(HaveField("Reason", contain.LimitNotMounted))
		_, properties := b.only()
		Expect(int(properties["PIDs"].([]uint32)[0])).NotTo(BeRunning())
	})

	DescribeTable("is refused with the reason and what would help",
		func(b *fakeBus, reason contain.LimitReason, text string) {
			s := at(b.listen())
			_, refused := s.Predict("memory")
			if refused == nil {
				_, _, refused = s.Scope(limits, "memory")
			}
			Expect(refused).NotTo(BeNil())
			Expect(*refused).To(And(HaveField("Kind", contain.LimitMemory), HaveField("Reason", reason)))
			Expect(refused.Error()).To(And(ContainSubstring(text), ContainSubstring("would help: "), Not(ContainSubstring(b.socket))))
			Expect(refused).To(MatchError(contain.ErrUnsupported))
			for _, pid := range b.holders() {
				Expect(pid).NotTo(BeRunning(), "the holder is gone")
			}
		},
		Entry("nobody is let in", &fakeBus{rejects: true}, contain.LimitSystemdUnavailable, "authentication failed"),
		Entry("no systemd on the bus", &fakeBus{errors: map[string]string{"Get": "org.freedesktop.DBus.Error.ServiceUnknown"}},
			contain.LimitSystemdUnavailable, "there is no systemd on the bus"),
		Entry("it is gone", &fakeBus{errors: map[string]string{"Get": "org.freedesktop.DBus.Error.NoReply"}},
			contain.LimitSystemdUnavailable, "did not answer"),
		Entry("the bus hangs up", &fakeBus{hangUp: "Hello"}, contain.LimitSystemdUnavailable, "cannot be talked to"),
		Entry("the bus hangs up later", &fakeBus{group: "/user", hangUp: "StartTransientUnit"}, contain.LimitSystemdUnavailable, "cannot be talked to"),
		Entry("we may not", &fakeBus{group: "/user", errors: map[string]string{"StartTransientUnit": "org.freedesktop.DBus.Error.AccessDenied"}},
			contain.LimitSystemdRefused, "org.freedesktop.DBus.Error.AccessDenied"),
		Entry("somebody would have to be asked", &fakeBus{group: "/user", errors: map[string]string{"StartTransientUnit": "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired"}},
			contain.LimitSystemdRefused, "InteractiveAuthorizationRequired"),
		Entry("it is too old", &fakeBus{group: "/user", errors: map[string]string{"StartTransientUnit": "org.freedesktop.DBus.Error.PropertyReadOnly"}},
			contain.LimitSystemdRefused, "PropertyReadOnly"),
		Entry("the unit is there", &fakeBus{group: "/user", errors: map[string]string{"StartTransientUnit": "org.freedesktop.systemd1.UnitExists"}},
			contain.LimitSystemdRefused, "UnitExists"),
		Entry("nobody may subscribe", &fakeBus{group: "/user", errors: map[string]string{"Subscribe": "org.freedesktop.DBus.Error.LimitsExceeded"}},
			contain.LimitSystemdRefused, "LimitsExceeded"),
		Entry("no signals", &fakeBus{group: "/user", errors: map[string]string{"AddMatch": "org.freedesktop.DBus.Error.LimitsExceeded"}},
			contain.LimitSystemdRefused, "LimitsExceeded"),
		Entry("the job fails", &fakeBus{group: "/user", result: "failed"}, contain.LimitSystemdRefused, "result failed"),
		Entry("the job times out", &fakeBus{group: "/user", result: "timeout"}, contain.LimitSystemdRefused, "result timeout"),
	)

	DescribeTable("is not waited for without end",
		func(b *fakeBus) {
			s := at(b.listen())
			s.Bound = 300 * time.Millisecond
			began := time.Now()
			_, refused := s.Predict("memory")
			if refused == nil {
				_, _, refused = s.Scope(limits, "memory")
			}
			Expect(refused).To(HaveField("Reason", contain.LimitSystemdUnavailable))
			Expect(refused.Error()).To(ContainSubstring("no answer in time"))
			Expect(time.Since(began)).To(BeNumerically("<", patience))
		},
		Entry("the authentication", &fakeBus{mute: "auth"}),
		Entry("the bus", &fakeBus{mute: "Hello"}),
		Entry("systemd", &fakeBus{mute: "Get"}),
		Entry("the subscription", &fakeBus{group: "/user", mute: "Subscribe"}),
		Entry("the unit", &fakeBus{group: "/user", mute: "StartTransientUnit"}),
		Entry("the job", &fakeBus{group: "/user"}),
	)

	It("is not to be had where nobody listens", func() {
		b := &fakeBus{socket: filepath.Join(GinkgoT().TempDir(), "none")}
		_, refused := at(b).Predict("memory")
		Expect(refused).To(And(HaveField("Reason", contain.LimitSystemdUnavailable), MatchError(syscall.ENOENT)))
	})

	It("is not to be had by a user who is outside of it", func() {
		if os.Geteuid() == 0 {
			Skip("root may put processes anywhere")
		}
		s := at((&fakeBus{group: "/user"}).listen())
		s.Own = "/cg/session"
		_, refused := s.Predict("memory")
		Expect(refused).To(HaveField("Reason", contain.LimitNotDelegated))
	})

	Context("of a systemd that runs here", func() {
		var host contain.Ladder
		var scopes func() []string
		var user string

		BeforeEach(func() {
			user = "--user"
			if os.Geteuid() == 0 {
				user = "--system"
			}
			if exec.Command("systemctl", user, "show-environment").Run() != nil {
				Skip("this host has no systemd that we may ask")
			}
			scopes = func() (names []string) {
				GinkgoHelper()
				out, err := exec.Command("systemctl", user, "list-units", "--all", "--plain", "--no-legend", "boombox-*").Output()
				Expect(err).NotTo(HaveOccurred())
				for line := range strings.Lines(string(out)) {
					if strings.Contains(line, "-"+itoa(os.Getpid())+"-") {
						names = append(names, strings.Fields(line)[0])
					}
				}
				return names
			}
			host = contain.ScopedHost()
			for _, refused := range host.Host().Rungs[0].Refused {
				Skip("no scope can have caps here: " + refused.Error())
			}
		})

		It("enforces every cap, and is gone with its group", func() {
			g, err := host.New(contain.Options{Limits: contain.Limits{Memory: 64 << 20, Processes: 20, CPU: 1}, Require: contain.KillOnOwnerDeath})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(g.Close)
			Expect(scopes()).To(HaveLen(1))
			for _, kind := range []contain.LimitKind{contain.LimitMemory, contain.LimitProcesses, contain.LimitCPU} {
				l := capOf(g, kind)
				Expect(l.Effective).To(Equal(l.Max), "%s: the group's own cap is the tightest", kind)
			}
			for range 20 {
				_, err := startSmall(g)
				Expect(err).NotTo(HaveOccurred())
			}
			_, err = startSmall(g)
			_, full := errors.AsType[*contain.LimitHit](err)
			Expect(full).To(BeTrue(), "%v", err)
			Expect(g.UpdateLimits(contain.Limits{Memory: 256 << 20, Processes: 200, CPU: 2})).To(Succeed())
			Expect(capOf(g, contain.LimitProcesses).Effective).To(Equal(200.0), "the scope's limits are widened, too")
			Expect(capOf(g, contain.LimitMemory).Effective).To(Equal(256.0 * (1 << 20)))
			_, err = startSmall(g)
			Expect(err).NotTo(HaveOccurred())
			Expect(g.Close()).To(Succeed())
			Eventually(scopes).WithTimeout(bound).Should(BeEmpty())
		})

		It("is not needed in a slice of our own: systemd takes nothing back there with the units that come and go", func() {
			slice := filepath.Dir(ownCgroup())
			if !strings.HasSuffix(slice, ".slice") || unix.Access(slice+"/cgroup.procs", unix.W_OK) != nil {
				Skip("we are in no slice that we may write")
			}
			g, err := contain.New(contain.Options{Parent: slice, Limits: limits})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(g.Close)
			for range 3 {
				Expect(exec.Command("systemd-run", user, "--scope", "--quiet", "--slice", filepath.Base(slice), "true").Run()).To(Succeed())
				Expect(exec.Command("systemctl", user, "daemon-reload").Run()).To(Succeed())
			}
			Expect(strings.Fields(must(readFile(slice + "/cgroup.subtree_control")))).To(ContainElements("cpu", "memory", "pids"))
			for range 20 {
				_, err := startSmall(g)
				Expect(err).NotTo(HaveOccurred())
			}
			_, err = startSmall(g)
			Expect(err).To(MatchError(contain.ErrLimit))
		})

		It("ends with its lifetime, if nobody else ends it", func() {
			for _, life := range []time.Duration{0, time.Second} {
				g, err := host.New(contain.Options{Limits: contain.Limits{Processes: 20}, Lifetime: life})
				Expect(err).NotTo(HaveOccurred())
				DeferCleanup(g.Close)
			}
			Eventually(scopes).WithTimeout(longEnough).Should(HaveLen(1))
		})

		It("has one scope for each group, and ends a hog in one alone", func() {
			group := func() *contain.Group {
				GinkgoHelper()
				g, err := host.New(contain.Options{Limits: contain.Limits{Memory: 16 << 20}})
				Expect(err).NotTo(HaveOccurred())
				DeferCleanup(g.Close)
				return g
			}
			other, g := group(), group()
			calm, err := startSmall(other)
			Expect(err).NotTo(HaveOccurred())
			spec, _, find := specOf("hog", "32")
			DeferCleanup(reap, find)
			c, err := g.Start(GinkgoT().Context(), spec)
			Expect(err).NotTo(HaveOccurred())
			Eventually(c.Exited()).WithTimeout(longEnough).Should(BeClosed())
			Expect(g).To(HaveHitLimit(contain.LimitMemory))
			Expect(calm.PID()).To(BeRunning())
			Expect(scopes()).To(HaveLen(2))
			Expect(g.Close()).To(Succeed())
			Eventually(scopes).WithTimeout(longEnough).Should(HaveLen(1))
			Expect(calm.PID()).To(BeRunning())
			Expect(other.Close()).To(Succeed())
			Eventually(scopes).WithTimeout(bound).Should(BeEmpty())
		})
	})
})

func FuzzPlainName(f *testing.F) {
	f.Add("org.freedesktop.DBus.Error.AccessDenied")
	f.Add("a\nb")
	f.Fuzz(func(t *testing.T, name string) {
		if shown := contain.PlainName(name); strings.ContainsFunc(shown, func(r rune) bool { return r < ' ' || r > '~' }) || len(shown) > 100 {
			t.Errorf("%q", shown)
		}
	})
}
