package matchers_test

import (
	"os"
	"os/exec"
	"regexp"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/internal/procfs"
	. "github.com/boombox-go/boombox/matchers"
)

var _ = Describe("matchers of one process", func() {
	states := map[string]func() types.GomegaMatcher{"BeRunning": BeRunning, "BeZombie": BeZombie, "BeGone": BeGone}
	// What a process is doing right now is not in the goldens either.
	numbers := regexp.MustCompile(`\d+|state [A-Z]`)
	// exactly asserts that the process is in one state, by id and by identity, and not in the others, and what is said.
	exactly := func(state string, pid int, member contain.Member) {
		GinkgoHelper()
		for name, matcher := range states {
			for _, actual := range []any{pid, member} {
				m := matcher()
				Expect(m.Match(actual)).To(Equal(name == state), "%s of %T", name, actual)
				text := m.FailureMessage(nil)
				if name == state {
					text = "(negated) " + m.NegatedFailureMessage(nil)
				}
				if actual == member {
					text = regexp.MustCompile("`.*`").ReplaceAllString(text, "`NAME`")
					expectGolden("BeRunning", name+" of one that is "+state, numbers.ReplaceAllString(text, "N"))
				}
			}
		}
	}

	It("tell running, zombie and gone apart", func(ctx SpecContext) {
		argv := fixtures.Argv("sleep", "quiet")
		cmd := exec.Command(argv[0], argv[1:]...)
		Expect(cmd.Start()).To(Succeed())
		pid := cmd.Process.Pid
		member, err := procfs.Look(pid)
		Expect(err).NotTo(HaveOccurred())
		exactly("BeRunning", pid, member)
		Consistently(ctx, func() int { return pid }).Should(BeRunning())

		Expect(cmd.Process.Kill()).To(Succeed())
		Eventually(ctx, func() contain.Member { return member }).Should(BeZombie())
		exactly("BeZombie", pid, member)

		_ = cmd.Wait()
		exactly("BeGone", pid, member)
	}, NodeTimeout(time.Minute))

	It("take a later process with the same id for another", func() {
		us, err := procfs.Look(os.Getpid())
		Expect(err).NotTo(HaveOccurred())
		Expect(us).To(BeRunning())
		us.Start--
		Expect(us).To(BeGone())
		Expect(us).NotTo(BeRunning())
	})

	It("end Eventually at once where a process is gone and should not be", func() {
		promptly(func() time.Duration {
			g, failures := failing()
			started := time.Now()
			g.Eventually(contain.Member{PID: 1 << 30, Start: 1}).WithTimeout(30 * time.Second).Should(BeRunning())
			Expect(*failures).To(ConsistOf(ContainSubstring("No future change is possible")))
			return time.Since(started)
		})
	})

	It("refuse other types", func() {
		for _, actual := range []any{nil, "4711", int64(1)} {
			_, err := BeGone().Match(actual)
			Expect(err).To(MatchError(ContainSubstring("it takes a contain.Member or an int")))
		}
	})
})

func ExampleBeRunning() {
	g, _ := example()
	g.Expect(os.Getpid()).To(BeRunning())
	g.Expect(contain.Member{PID: os.Getpid(), Start: 1}).To(BeGone()) // somebody who had our id before us
	g.Expect(os.Getpid()).NotTo(BeZombie())
	// Output:
}
