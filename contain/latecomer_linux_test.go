package contain_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/internal/suite"
	. "github.com/boombox-go/boombox/matchers"
)

// Who comes late, and who is hard to reach: a group that takes either of them for nobody loses him.

// outrankedGroup holds a tree of which one member has become root, and the line which that one says.
func outrankedGroup(how ...string) (*contain.Group, string, error) {
	g, err := contain.New(contain.Options{Mechanism: contain.Mechanism(os.Getenv("BOOMBOX_SPEC_MECHANISM"))})
	if err != nil {
		return nil, "", err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, "", err
	}
	argv := fixtures.Argv("newuid", append([]string{"0"}, how...)...)
	_, err = g.Start(context.Background(), contain.Spec{
		Path: os.Getenv("BOOMBOX_SPEC_SETUID"), Argv: contain.Seal(argv...), Env: contain.Seal(os.Environ()...), Stdout: w,
	})
	if err != nil {
		return nil, "", err
	}
	_ = w.Close()
	line, err := bufio.NewReader(r).ReadString('\n')
	return g, line, err
}

func init() {
	// outranked holds a tree of which one member has become root, and closes it.
	helpers["outranked"] = func() error {
		g, line, err := outrankedGroup("beside")
		if err != nil {
			return err
		}
		err = contain.CloseWithin(g, 3*time.Second)
		drain, _ := errors.AsType[*contain.DrainError](err)
		switch {
		case err == nil:
			say("gone")
		case drain == nil:
			say(err)
		default:
			for _, m := range drain.Survivors {
				say("left", m.PID)
			}
		}
		say(strings.Replace(line, "ready", "left", 1))
		return nil
	}
	// unthawed freezes a tree and thaws it whenever it is told to.
	helpers["unthawed"] = func() error {
		g, err := contain.New(contain.Options{Mechanism: contain.Cgroup2})
		if err != nil {
			return err
		}
		argv := fixtures.Argv("sleep")
		c, err := g.Start(context.Background(), contain.Spec{Path: argv[0], Argv: contain.Seal(argv...), Env: contain.Seal(os.Environ()...)})
		if err == nil {
			err = g.Freeze(context.Background())
		}
		if err != nil {
			return err
		}
		say(c.PID())
		for told := bufio.NewScanner(os.Stdin); told.Scan(); {
			err := g.Thaw()
			say(errors.Is(err, syscall.EACCES), err == nil)
		}
		return g.Close()
	}
	// narrow writes a number to a file that holds one byte.
	helpers["narrow"] = func() error {
		f, err := os.OpenFile(os.Getenv("BOOMBOX_SPEC_FILE"), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1, Max: 1}); err != nil {
			return err
		}
		say(errors.Is(contain.WriteFd(int(f.Fd()), "4711"), io.ErrShortWrite), contain.WriteFd(int(f.Fd()), ""))
		return nil
	}
}

var _ = Describe("who comes late to a group", func() {
	ctx := context.Background()

	onEvery("is held, although others were asked before, and spared", func(m contain.Mechanism) {
		g := newGroup(m)
		deaf := start(g, "sigtermignorer")
		Expect(g.Ask(ctx, 50*time.Millisecond)).To(HaveField("Spared", true))
		late, adopted, free := start(g, "doublefork"), goAstray("sleep"), goAstray("sleep")
		_, err := g.Adopt(adopted.pid, adopted.start)
		Expect(err).NotTo(HaveOccurred())
		Expect(deaf.find()).To(HaveSurvivors())
		Expect(g.Close()).To(Succeed())
		for _, r := range []*running{deaf, late, adopted.running} {
			Expect(r.find()).NotTo(HaveSurvivors())
		}
		Expect(free.pid).To(BeRunning(), "the control: it was not adopted")
	})

	onEvery("is held, although it comes while others are asked", func(m contain.Mechanism) {
		g := newGroup(m)
		deaf := start(g, "sigtermignorer")
		const many = 8
		finds := []func() []contain.Member{deaf.find}
		var all sync.WaitGroup
		errs := make(chan error, many)
		asking := make(chan struct{})
		all.Go(func() {
			close(asking)
			g.Ask(ctx, 100*time.Millisecond)
		})
		<-asking
		for range many {
			spec, _, find := specOf("sleep")
			finds = append(finds, find)
			all.Go(func() {
				_, err := g.Start(ctx, spec)
				errs <- err
			})
		}
		all.Wait()
		close(errs)
		for err := range errs {
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(deaf.find()).To(HaveSurvivors(), "the control: nobody was killed by asking")
		Expect(g.Close()).To(Succeed())
		for _, find := range finds {
			Expect(find()).NotTo(HaveSurvivors())
		}
	})

	onEvery("is a member from when its start returns, whoever looks meanwhile", func(m contain.Mechanism) {
		g := newGroup(m)
		over := make(chan struct{})
		var looking sync.WaitGroup
		defer looking.Wait()
		defer close(over)
		looking.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					_, _ = g.Members()
				}
			}
		})
		for range 10 {
			spec, _, find := specOf("sleep")
			DeferCleanup(reap, find)
			c, err := g.Start(ctx, spec)
			Expect(err).NotTo(HaveOccurred())
			Expect(pidsOf(must(g.Members()))).To(ContainElement(c.PID()))
			Expect(c.Close()).To(Succeed())
			Expect(pidsOf(must(g.Members()))).NotTo(ContainElement(c.PID()))
		}
	})

	onEvery("may be adopted out of our own process group, and is killed without it", func(m contain.Mechanism) {
		g := newGroup(m)
		ours, other := goAstrayAs(nil, "", "sleep"), goAstrayAs(nil, "", "sleep")
		Expect(must(syscall.Getpgid(ours.pid))).To(Equal(syscall.Getpgrp()))
		_, err := g.Adopt(ours.pid, ours.start)
		Expect(err).NotTo(HaveOccurred())
		Expect(g.Close()).To(Succeed())
		Expect(ours.find()).NotTo(HaveSurvivors())
		Expect(other.pid).To(BeRunning(), "the control: it is in the same process group")
	})
})

var _ = Describe("a member that has become root", func() {
	onEvery("is killed, or named as a survivor, and never taken for gone", func(m contain.Mechanism) {
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
		lines := asNobody("outranked", dir, nonce, "BOOMBOX_SPEC_SETUID="+program, "BOOMBOX_SPEC_MECHANISM="+string(m)).rest()
		if m == contain.Cgroup2 {
			Expect(lines[0]).To(Equal("gone"), "the kernel does not ask who kills a cgroup")
			Expect(find()).NotTo(HaveSurvivors())
			return
		}
		Expect(lines[0]).To(Equal(lines[1]))
		Expect(find()).To(HaveMembers(1))
	})
})

var _ = Describe("a thaw that the system refuses", func() {
	It("is told, and the group is still frozen, until another succeeds", func() {
		requireRoot()
		requireCgroups()
		dir := specCgroup()
		delegate(dir)
		h := asNobody("unthawed", dir)
		pid := h.line()
		leaf := strings.TrimSpace(must(readFile("/proc/" + pid + "/cgroup")))
		leaf = leaf[strings.LastIndex(leaf, "/boombox-spec-")+1:]
		_, leaf, _ = strings.Cut(leaf, "/")
		file := filepath.Join(dir, leaf, "cgroup.freeze")
		Expect(readFile(file)).To(Equal("1\n"))
		tell := func(owner int) string {
			GinkgoHelper()
			Expect(os.Chown(file, owner, owner)).To(Succeed())
			_, err := io.WriteString(h.stdin, "thaw\n")
			Expect(err).NotTo(HaveOccurred())
			return h.line()
		}
		Expect(tell(0)).To(Equal("true false"))
		Expect(readFile(file)).To(Equal("1\n"))
		Expect(tell(nobody)).To(Equal("false true"), "the control")
		Expect(readFile(file)).To(Equal("0\n"))
	})
})

var _ = Describe("a number that a file of a cgroup takes only the beginning of", func() {
	It("was not written", func() {
		file := filepath.Join(GinkgoT().TempDir(), "cgroup.procs")
		Expect(os.WriteFile(file, nil, 0o600)).To(Succeed())
		Expect(startHelper("narrow", nil, "BOOMBOX_SPEC_FILE="+file).rest()).To(Equal([]string{"true <nil>"}))
		Expect(readFile(file)).To(Equal("4"), "another number")
	})
})

var _ = Describe("a directory that bears our own name already", func() {
	It("does not keep a group from its cgroup, and is left alone", func() {
		requireCgroups()
		first := newGroup(contain.Cgroup2)
		start(first, "sleep")
		bases := ownBases()
		Expect(bases).NotTo(BeEmpty())
		other := bases[0][:strings.LastIndex(bases[0], "-")] + "-00000000"
		Expect(os.Mkdir(other, 0o755)).To(Succeed())
		DeferCleanup(removeAll, other)
		Expect(first.Close()).To(Succeed())
		second, err := contain.New(contain.Options{})
		Expect(err).NotTo(HaveOccurred())
		Expect(second).To(BeContainedBy(contain.Cgroup2))
		start(second, "sleep")
		Expect(second.Close()).To(Succeed())
		Expect(other).To(BeADirectory())
	})
})
