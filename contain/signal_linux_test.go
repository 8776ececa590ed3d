package contain_test

import (
	"errors"
	"os"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/suite"
)

func init() {
	// mixed holds a tree of which one member has become root, and signals it.
	helpers["mixed"] = func() error {
		g, line, err := outrankedGroup()
		if err != nil {
			return err
		}
		err = g.Signal(syscall.SIGCONT)
		say("refused:", errors.Is(err, syscall.EPERM))
		if refused, ok := errors.AsType[*contain.SignalError](err); ok {
			say("sent:", refused.Sent, "refused:", len(refused.Refused))
			say("ready", refused.Refused[0].Member.PID)
			_, _ = os.Stdout.WriteString(line)
		}
		say(err)
		_ = contain.CloseWithin(g, bound/5)
		return nil
	}
}

var _ = Describe("a member that has become another user", func() {
	onEvery("is named when it cannot be sent a signal", func(m contain.Mechanism) {
		requireRoot()
		requireCgroups()
		if m == contain.PIDNamespace || m == contain.Cgroup2PIDNamespace {
			Skip("in a user namespace of nobody's nobody can become root")
		}
		dir := specCgroup()
		delegate(dir)
		program := programFor()
		Expect(os.Chmod(program, 0o755|os.ModeSetuid)).To(Succeed())
		nonce, find := suite.WithNonce()
		DeferCleanup(reap, find)
		lines := asNobody("mixed", dir, nonce, "BOOMBOX_SPEC_SETUID="+program, "BOOMBOX_SPEC_MECHANISM="+string(m)).rest()
		if m == contain.ProcessGroup {
			// One system call for all: it succeeds when it reaches anybody.
			Expect(lines).To(Equal([]string{"refused: false", "<nil>"}))
			return
		}
		Expect(lines).To(HaveLen(5))
		Expect(lines[:2]).To(Equal([]string{"refused: true", "sent: 1 refused: 1"}))
		Expect(lines[2]).To(Equal(lines[3]), "the one that is refused is the one that says so")
		Expect(lines[4]).To(MatchRegexp(`^contain: SIGCONT could not be sent to 1 members \(1 were\): pid \d+ "[^"]+" \(\w\): operation not permitted$`))
	})
})
