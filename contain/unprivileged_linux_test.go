package contain_test

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/internal/suite"
)

func init() {
	// user holds trees as whoever it runs as, and says how that went.
	helpers["user"] = func() error {
		rung := contain.Host().Rungs[0]
		say(rung.Mechanism, rung.Available, rung.Reason)
		g, err := contain.New(contain.Options{})
		if err != nil {
			return err
		}
		for _, child := range []string{"setsid", "subcgroup", "squatter", "sigtermignorer"} {
			nonce, find := suite.WithNonce()
			r, w, err := os.Pipe()
			if err != nil {
				return err
			}
			argv := fixtures.Argv(child)
			c, err := g.Start(context.Background(), contain.Spec{
				Path: argv[0], Argv: contain.Seal(argv...), Env: contain.Seal(append(os.Environ(), nonce)...),
				Stdout: w, Stderr: os.Stderr,
			})
			if err != nil {
				return err
			}
			_ = w.Close()
			_, err = bufio.NewReader(r).ReadString('\n')
			_ = r.Close()
			say(child, err == nil)
			err = c.Close()
			left := find()
			say(g.Mechanism(), len(left), err)
			for _, m := range left {
				_ = syscall.Kill(m.PID, syscall.SIGKILL)
			}
		}
		return g.Close()
	}
}

// nobody is a user, and a group, that owns nothing.
const nobody = 65534

// requireRoot skips the spec for who cannot become another user.
func requireRoot() {
	GinkgoHelper()
	if os.Getuid() != 0 {
		Skip("needs root to become another user")
	}
}

// delegate hands a cgroup to nobody.
func delegate(cgroup string) {
	GinkgoHelper()
	for _, name := range []string{"", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"} {
		Expect(os.Chown(filepath.Join(cgroup, name), nobody, nobody)).To(Succeed())
	}
}

// programFor copies the test binary to where everybody may execute it.
func programFor() string {
	GinkgoHelper()
	dir, err := os.MkdirTemp("", "boombox-spec-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, dir)
	Expect(os.Chmod(dir, 0o755)).To(Succeed())
	program := filepath.Join(dir, "helper")
	own, err := os.Executable()
	Expect(err).NotTo(HaveOccurred())
	copyFile(own, program)
	return program
}

// asNobody starts a helper as nobody, in a cgroup.
func asNobody(name, cgroup string, env ...string) *helper {
	GinkgoHelper()
	fd, err := syscall.Open(cgroup, syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	Expect(err).NotTo(HaveOccurred())
	defer syscall.Close(fd)
	return startProgram(programFor(), name, &syscall.SysProcAttr{
		UseCgroupFD: true, CgroupFD: fd, Credential: &syscall.Credential{Uid: nobody, Gid: nobody},
	}, append(env, "HOME=/", "TMPDIR=/tmp")...)
}

var _ = Describe("an unprivileged user", func() {
	BeforeEach(func() {
		requireRoot()
		requireCgroups()
	})

	It("has cgroups where one is delegated", func() {
		dir := specCgroup()
		delegate(dir)
		Expect(asNobody("user", dir).rest()).To(Equal([]string{
			"cgroup2 true ",
			"setsid true", "cgroup2 0 <nil>",
			"subcgroup true", "cgroup2 0 <nil>",
			"squatter true", "cgroup2 0 <nil>",
			"sigtermignorer true", "cgroup2 0 <nil>",
		}))
		Expect(os.ReadDir(dir)).NotTo(ContainElement(HaveField("IsDir()", true)), "nothing is left")
	})

	It("has a namespace or a keeper where none is", func() {
		dir := specCgroup()
		lines := asNobody("user", dir).rest()
		Expect(lines[0]).To(Equal("cgroup2 false no cgroup can be made below our own: permission denied"))
		held := MatchRegexp("^(pid-namespace|subreaper) 0 <nil>$")
		Expect(lines[1:]).To(HaveExactElements(
			Equal("setsid true"), held,
			Equal("subcgroup false"), held, // it is not let
			Equal("squatter true"), held,
			Equal("sigtermignorer true"), held,
		))
	})
})
