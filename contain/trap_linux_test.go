package contain_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
)

// runExit starts the fixture that exits with 5 and reports how it ended.
func runExit(g *contain.Group) (contain.ExitStatus, error) {
	argv := fixtures.Argv("exit", "5")
	c, err := g.Start(context.Background(), contain.Spec{Path: argv[0], Argv: contain.Seal(argv...)})
	if err != nil {
		return contain.ExitStatus{}, err
	}
	<-c.Exited()
	status, _ := c.Poll()
	return status, c.Close()
}

func init() {
	// moved enters the cgroup named by the environment, starts something before and after, and says how that went.
	helpers["moved"] = func() error {
		before, err := contain.New(contain.Options{Mechanism: contain.Cgroup2})
		if err != nil {
			return err
		}
		status, err := runExit(before)
		if err != nil {
			return err
		}
		say("before", status.Code)

		dir := os.Getenv("BOOMBOX_SPEC_CGROUP")
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0); err != nil {
			return err
		}
		fresh := filepath.Join(dir, "fresh")
		if err := os.Mkdir(fresh, 0o755); err != nil {
			return err
		}
		say("fresh cgroup kills its children at birth:", errors.Is(contain.CloneInto(fresh), contain.ErrBornDead))

		status, err = runExit(before)
		say("group from before:", status.Code, err)
		if err := before.Close(); err != nil {
			return err
		}
		after, err := contain.New(contain.Options{})
		if err != nil {
			return err
		}
		status, err = runExit(after)
		say("new group:", after.Mechanism(), status.Code, err)
		for _, rung := range contain.Host().Rungs {
			if rung.Reason != "" {
				say(string(rung.Mechanism)+":", rung.Reason)
			}
		}
		return after.Close()
	}
}

var _ = Describe("a cgroup that was killed", func() {
	BeforeEach(func() { requireCgroups() })

	It("kills whatever is cloned into it, while one migrates into it unharmed", func() {
		dir := specCgroup()
		Expect(contain.CloneInto(dir)).To(Succeed())
		killCgroup(dir)
		Expect(contain.CloneInto(dir)).To(MatchError(contain.ErrBornDead), "this is why a leaf is never used twice")
	})

	It("that we ourselves are in does not keep us from cgroups", func() {
		dir := specCgroup()
		for range 3 {
			killCgroup(dir)
		}
		Expect(startHelper("moved", nil, "BOOMBOX_SPEC_CGROUP="+dir).rest()).To(Equal([]string{
			"before 5",
			"fresh cgroup kills its children at birth: true",
			"group from before: 5 <nil>",
			"new group: cgroup2 5 <nil>",
		}))
	})

	It("too often makes us do without, and says so", func() {
		dir := specCgroup()
		for range 200 {
			killCgroup(dir)
		}
		lines := startHelper("moved", nil, "BOOMBOX_SPEC_CGROUP="+dir).rest()
		Expect(len(lines)).To(BeNumerically(">=", 6))
		Expect(lines[2]).To(Equal("group from before: 0 contain: cannot make the tree: the child was killed before it could execute"))
		Expect(lines[3]).To(MatchRegexp("^new group: (pid-namespace|subreaper) 5 <nil>$"))
		Expect(lines[4]).To(Equal("cgroup2: our own cgroup was killed more than 128 times, and the kernel holds that against every child"))
	})
})

// specCgroup makes a cgroup below our own, that is removed with the spec.
func specCgroup() string {
	GinkgoHelper()
	dir, err := os.MkdirTemp(ownCgroup(), "boombox-spec-"+strconv.Itoa(os.Getpid())+"-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(removeAll, dir)
	return dir
}

func killCgroup(dir string) {
	GinkgoHelper()
	Expect(os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)).To(Succeed())
}

// removeAll removes a cgroup of ours and those below it, once nobody is in them.
func removeAll(dir string) {
	GinkgoHelper()
	var dirs []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return nil
	})
	for i := len(dirs) - 1; i >= 0; i-- {
		Eventually(func() error {
			if err := syscall.Rmdir(dirs[i]); !errors.Is(err, syscall.ENOENT) {
				return err
			}
			return nil
		}).WithTimeout(bound).Should(Succeed())
	}
}
