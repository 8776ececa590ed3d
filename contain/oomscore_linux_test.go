package contain_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/internal/suite"
)

const ownAdjustment = "/proc/self/oom_score_adj"

func init() {
	// spared is a program that the kernel is to spare, and starts others.
	helpers["spared"] = func() error {
		err := os.WriteFile(ownAdjustment, []byte("-1000"), 0)
		say("spared:", err == nil, errors.Is(err, syscall.EACCES))
		if err != nil {
			return nil
		}
		for _, l := range []contain.Limits{{}, {Memory: 32 << 20}} {
			g, err := contain.New(contain.Options{Mechanism: contain.Cgroup2, Limits: l})
			if err != nil {
				return err
			}
			held, spared, err := runHog(g)
			e, _ := g.Evidence().Of(contain.LimitMemory)
			say("capped:", !l.IsZero(), "spared:", spared, "held:", held, "hit:", e.Tripped, err)
			if err := g.Close(); err != nil {
				return err
			}
		}
		return nil
	}
}

// runHog starts one that takes 64 MiB, and says how much it is spared, and whether it came to hold them.
func runHog(g *contain.Group) (held bool, spared string, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return false, "", err
	}
	defer r.Close()
	argv := fixtures.Argv("hog", "64")
	c, err := g.Start(context.Background(), contain.Spec{Path: argv[0], Argv: contain.Seal(argv...), Stdout: w})
	_ = w.Close()
	if err != nil {
		return false, "", err
	}
	text, _ := readFile("/proc/" + itoa(c.PID()) + "/oom_score_adj") // a zombie has it as well
	for lines := bufio.NewScanner(r); lines.Scan() && !held; {
		held = lines.Text() == "held"
	}
	if !held {
		<-c.Exited()
	}
	return held, strings.TrimSpace(text), c.Close()
}

// adjustmentOf is how much a process is spared, or not.
func adjustmentOf(pid int) string {
	GinkgoHelper()
	text, err := readFile("/proc/" + itoa(pid) + "/oom_score_adj")
	Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(text)
}

var _ = Describe("who is to be killed first when memory is short", Label("limits"), func() {
	It("is raised in every member of a tree, and in no other process", func() {
		requireCgroups()
		r := start(newGroup(contain.Cgroup2), "setsid")
		other := start(newGroup(contain.Cgroup2), "sleep")
		Expect(r.left).NotTo(BeEmpty())
		for _, m := range r.find() {
			Expect(adjustmentOf(m.PID)).To(Equal(adjustmentOf(os.Getpid())), "the control: it is inherited")
		}
		Expect(contain.Unspare(r.Child, 300)).To(Succeed())
		for _, pid := range append(r.left, r.PID()) {
			Expect(adjustmentOf(pid)).To(Equal("300"))
		}
		Expect(adjustmentOf(other.PID())).To(Equal(adjustmentOf(os.Getpid())))
		Expect(contain.Unspare(r.Child, 200)).To(Succeed())
		Expect(adjustmentOf(r.PID())).To(Equal("300"), "nobody is made to be spared more")
	})

	It("is a capped child, however much this program is spared", func() {
		suite.Require(contain.CapMemory)
		lines := startHelper("spared", nil).rest()
		Expect(lines).NotTo(BeEmpty())
		if lines[0] == "spared: false true" {
			Skip("only CAP_SYS_RESOURCE lets a program be spared")
		}
		Expect(lines).To(Equal([]string{
			"spared: true false", "capped: false spared: -1000 held: true hit: unknown <nil>", "capped: true spared: 0 held: false hit: yes <nil>",
		}))
	})
})
