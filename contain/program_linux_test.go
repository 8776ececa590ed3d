package contain_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	. "github.com/boombox-go/boombox/matchers"
)

var _ = Describe("another program as keeper", func() {
	onEvery("holds the group, and it is this program no more", func(m contain.Mechanism) {
		// A copy of this one is another file, and links the package.
		program := programFor()
		g, err := contain.New(contain.Options{Mechanism: m, Keeper: program})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(g.Close)
		// Nobody writes to a program that is being executed, and everybody can see that; whose image a helper is, not everybody.
		executed := func() bool {
			f, err := os.OpenFile(program, os.O_WRONLY, 0)
			if err == nil {
				Expect(f.Close()).To(Succeed())
			}
			return errors.Is(err, syscall.ETXTBSY)
		}
		r := start(g, "setsid")
		if m == contain.ProcessGroup {
			Expect(executed()).To(BeFalse(), "it needs no helper")
			return
		}
		Expect(executed()).To(BeTrue())
		if image, err := os.Readlink("/proc/" + itoa(parentOf(r.PID())) + "/exe"); err == nil && m != contain.Cgroup2 {
			Expect(image).To(Equal(program))
		}
		if m == contain.Cgroup2 {
			Expect(g.Guarantees().Has(contain.KillOnOwnerDeath)).To(BeTrue(), "it was waited for")
		}
		Expect(g.Close()).To(Succeed())
		Expect(r.find()).NotTo(HaveSurvivors())
		Expect(start(newGroup(m), "sleep").PID()).NotTo(BeZero(), "others are held by this one")
		Eventually(executed).WithTimeout(bound).Should(BeFalse())
	})

	onEvery("is refused when it does not serve, whatever else the host has", func(m contain.Mechanism) {
		if m == contain.ProcessGroup {
			Skip("it needs no helper")
		}
		dir := GinkgoT().TempDir()
		write := func(name, text string, mode os.FileMode) string {
			path := filepath.Join(dir, name)
			Expect(os.WriteFile(path, []byte(text), mode)).To(Succeed())
			return path
		}
		before := helperProcesses(os.Getpid())
		for _, c := range []struct {
			program string
			reason  error
		}{
			{"relative-sesame", nil},
			{dir + "/none-sesame", syscall.ENOENT},
			{dir, syscall.EACCES},
			{write("plain-sesame", "#!/bin/sh\n", 0o644), syscall.EACCES},
			{write("garbage-sesame", "\x01\x02", 0o755), syscall.ENOEXEC},
			{write("ends-sesame", "#!/bin/sh\nexit 0\n", 0o755), nil},
		} {
			for _, opts := range []contain.Options{{Mechanism: m}, {Require: contain.KillTree}} {
				opts.Keeper = c.program
				_, err := contain.New(opts)
				Expect(err).To(MatchError(contain.ErrKeeper), c.program)
				_, ok := errors.AsType[*contain.KeeperError](err)
				Expect(ok).To(BeTrue())
				if c.reason != nil {
					Expect(err).To(MatchError(c.reason))
				}
				Expect(err.Error()).NotTo(ContainSubstring("sesame"))
			}
		}
		Eventually(func() int { return len(helperProcesses(os.Getpid())) }).WithTimeout(bound).Should(BeNumerically("<=", len(before)+1))
		Eventually(ownBases).WithTimeout(bound).Should(BeEmpty())
	})

	It("is waited for with patience, but not for ever", func() {
		path := filepath.Join(GinkgoT().TempDir(), "mute")
		Expect(os.WriteFile(path, []byte("#!/bin/sh\nexec sleep 20\n"), 0o755)).To(Succeed())
		Expect(contain.StartKeeper(path, 50*time.Millisecond)).To(MatchError(os.ErrDeadlineExceeded))
		Expect(contain.StartKeeper("/proc/self/exe", time.Minute)).To(Succeed(), "the control")
	})

	It("is refused when it was built from another version", func() {
		Expect(contain.Greet([]byte{0, contain.WireVersion})).To(Succeed())
		Expect(contain.Greet([]byte{byte(syscall.EPERM), contain.WireVersion})).To(MatchError(syscall.EPERM))
		for _, body := range [][]byte{{0, contain.WireVersion + 1}, {byte(syscall.EPERM), contain.WireVersion + 1}, {0}, {}} {
			Expect(contain.Greet(body)).To(MatchError(ContainSubstring("another version")))
		}
	})
})
