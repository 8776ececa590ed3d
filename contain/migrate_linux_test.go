package contain_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/suite"
)

func init() {
	// migrant asks for a cap where its cgroup, which holds itself, stands in the way, and then is allowed to move.
	helpers["migrant"] = func() error {
		limits := contain.Limits{Processes: 50}
		_, err := contain.New(contain.Options{Limits: limits})
		refused, ok := errors.AsType[*contain.LimitError](err)
		say("not allowed:", ok && refused.Reason == contain.LimitInternalProcesses)
		for range 2 {
			g, err := contain.New(contain.Options{Limits: limits, Migrate: true})
			if err != nil {
				return err
			}
			status, err := runExit(g)
			l, _ := g.Evidence().Of(contain.LimitProcesses)
			say("allowed:", status.Code, err, l.Effective)
			if err := g.Close(); err != nil {
				return err
			}
		}
		text, err := os.ReadFile("/proc/self/cgroup")
		say("moved:", strings.Contains(string(text), "/boombox-home-"), err)
		return nil
	}
	// tenant asks for a cap in a cgroup that others have prepared.
	helpers["tenant"] = func() error {
		g, err := contain.New(contain.Options{Limits: contain.Limits{Processes: 50}, Parent: os.Getenv("BOOMBOX_SPEC_CGROUP")})
		if err != nil {
			return err
		}
		status, err := runExit(g)
		say("given:", status.Code, err, g.Mechanism())
		return g.Close()
	}
}

var _ = Describe("a program below the root of cgroup v2", Label("limits"), func() {
	// below is a cgroup that has the controllers, where those are on cgroup v2.
	below := func() string {
		GinkgoHelper()
		suite.Require(contain.CapProcesses)
		cappedGroup(contain.Limits{Processes: 50}) // enables the controller at the root
		dir := specCgroup()
		text, err := readFile(filepath.Join(dir, "cgroup.controllers"))
		Expect(err).NotTo(HaveOccurred())
		if !strings.Contains(text, "pids") {
			Skip("this host's controllers sit on cgroup v1")
		}
		return dir
	}

	It("moves into a leaf for its caps, if it is allowed to, and once", func() {
		Expect(startHelper("migrant", within(below())).rest()).To(Equal([]string{
			"not allowed: true", "allowed: 5 <nil> 50", "allowed: 5 <nil> 50", "moved: true <nil>",
		}))
	})

	It("has caps in the cgroup that it is given", func() {
		dir := below()
		given := filepath.Join(dir, "given")
		Expect(os.Mkdir(given, 0o755)).To(Succeed())
		Expect(os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+pids"), 0)).To(Succeed())
		lines := startHelper("tenant", &syscall.SysProcAttr{}, "BOOMBOX_SPEC_CGROUP="+given).rest()
		Expect(lines).To(Equal([]string{"given: 5 <nil> cgroup2"}))
		Expect(os.ReadDir(given)).NotTo(ContainElement(HaveField("IsDir()", true)))
	})
})
