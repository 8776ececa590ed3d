package contain_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/internal/suite"
	. "github.com/boombox-go/boombox/matchers"
)

// deathBound is the time within which nothing may be left of a dead owner's trees: it is promised.
const deathBound = 2 * time.Second

func init() {
	// mortal holds trees that die with it, and makes and ends further ones until it is killed.
	helpers["mortal"] = func() error {
		g, err := contain.New(contain.Options{
			Mechanism: contain.Mechanism(os.Getenv("BOOMBOX_SPEC_MECHANISM")), Require: contain.KillOnOwnerDeath,
		})
		if err != nil {
			return err
		}
		say(g.Guarantees())
		argv := fixtures.Argv("escapees", "life=60s")
		spec := contain.Spec{Path: argv[0], Argv: contain.Seal(argv...), Env: contain.Seal(os.Environ()...)}
		for round := 0; ; round++ {
			r, w, err := os.Pipe()
			if err != nil {
				return err
			}
			spec.Stdout = w
			c, err := g.Start(context.Background(), spec)
			if err != nil {
				return err
			}
			_ = w.Close()
			_, err = r.Read(make([]byte, 100)) // it is ready
			_ = r.Close()
			if err != nil {
				return err
			}
			say("round", round)
			if os.Getenv("BOOMBOX_SPEC_STAY") != "" {
				untilReleased()
				return g.Close()
			}
			if round%2 == 0 {
				continue
			}
			if err := c.Close(); err != nil {
				return err
			}
		}
	}
}

// deathly are the mechanisms of this host that let nothing outlive its owner.
func deathly() (list []contain.Mechanism) {
	for _, rung := range contain.Host().Rungs {
		if rung.Offered() && rung.Guarantees.Has(contain.KillOnOwnerDeath) {
			list = append(list, rung.Mechanism)
		}
	}
	return list
}

// helperProcesses are the helper programs that a process has started.
func helperProcesses(owner int) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		pid, parent, _, state, name, _ := contain.StatFields(must(contain.ParseStat(text)))
		if parent == owner && name == "boombox-keeper" && state != 'Z' {
			pids = append(pids, pid)
		}
	}
	return pids
}

// helpersAs are our own helper programs in one role, such as "warden" or "keeper".
func helpersAs(role string) []int {
	return slices.DeleteFunc(helperProcesses(os.Getpid()), func(pid int) bool {
		args, _ := readFile("/proc/" + itoa(pid) + "/cmdline")
		return !strings.Contains(args, "\x00"+role+"\x00")
	})
}

func must[T any](v T, _ error) T { return v }

func killAll(pids []int) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

var _ = Describe("the death of the owner", Label("ownerdeath"), func() {
	mortal := func(m contain.Mechanism, env ...string) (*helper, func() []contain.Member) {
		GinkgoHelper()
		nonce, find := suite.WithNonce()
		DeferCleanup(reap, find)
		return startHelper("mortal", nil, append(env, nonce, "BOOMBOX_SPEC_MECHANISM="+string(m))...), find
	}

	for _, m := range deathly() {
		It(fmt.Sprintf("ends every tree, whenever it comes (%s)", m), func() {
			rounds := 20
			if os.Getenv("BOOMBOX_LONG") != "" {
				rounds = 200
			}
			seed := uint64(GinkgoRandomSeed())
			random := rand.New(rand.NewPCG(seed, 0))
			started := 0
			var slowest time.Duration
			for round := range rounds {
				owner, find := mortal(m)
				Expect(strings.Split(owner.line(), ",")).To(ContainElement("kill-on-owner-death"))
				// Some die while their first child starts, the others with a tree that is there.
				instant := time.After(time.Duration(random.Int64N(int64(60 * time.Millisecond))))
				if round%2 == 0 {
					owner.line()
				}
				<-instant
				pid := owner.cmd.Process.Pid
				if len(find()) > 1 {
					started++
				}
				owner.die()
				died := time.Now()
				Eventually(find).WithTimeout(deathBound).WithPolling(time.Millisecond).ShouldNot(HaveSurvivors())
				slowest = max(slowest, time.Since(died))
				if m == contain.Cgroup2 {
					Eventually(basesOf).WithArguments(pid).WithTimeout(deathBound).Should(BeEmpty())
				}
			}
			Expect(started).To(BeNumerically(">=", rounds/2), "the control: there was something to be ended")
			AddReportEntry(fmt.Sprintf("owner killed %d times: nothing left after at most", rounds), slowest.String())
		})

		It(fmt.Sprintf("leaves no helper program behind (%s)", m), func() {
			owner, find := mortal(m, "BOOMBOX_SPEC_STAY=1")
			owner.line()
			owner.line()
			pids := helperProcesses(owner.cmd.Process.Pid)
			Expect(pids).NotTo(BeEmpty())
			Expect(find()).To(HaveMembers(5), "the owner, the child and its three escapees")
			owner.die()
			for _, pid := range pids {
				Eventually(pid).WithTimeout(deathBound).ShouldNot(BeRunning())
			}
			// A namespace's first process is a zombie a moment before its members are dead.
			Eventually(find).WithTimeout(deathBound).ShouldNot(HaveSurvivors())
		})
	}

	Context("with a warden", func() {
		BeforeEach(func() {
			for _, m := range deathly() {
				if m == contain.Cgroup2 {
					return
				}
			}
			Skip("this host has no cgroups that we may use")
		})

		It("is outlived if somebody has killed the warden: the control", func() {
			// In a cgroup of its own, where no other program of this machine sweeps in between.
			dir := specCgroup()
			in := within(dir)
			nonce, find := suite.WithNonce()
			DeferCleanup(reap, find)
			owner := startHelper("mortal", in, nonce, "BOOMBOX_SPEC_STAY=1", "BOOMBOX_SPEC_MECHANISM=cgroup2")
			owner.line()
			owner.line()
			pid := owner.cmd.Process.Pid
			wardens := helperProcesses(pid)
			Expect(wardens).To(HaveLen(1), "one for all groups")
			killAll(wardens)
			owner.die()
			Consistently(func() int { return len(find()) }).WithTimeout(100 * time.Millisecond).Should(Equal(4))
			Expect(startHelper("sweeper", in).rest()).To(Equal([]string{"made"}))
			Expect(find()).NotTo(HaveSurvivors(), "the next program sweeps")
			Expect(os.ReadDir(dir)).NotTo(ContainElement(HaveField("Name()", HavePrefix("boombox-"))))
		})

		It("is guaranteed to a group that did not ask for it once the warden is there", func() {
			g := newGroup(contain.Cgroup2)
			Expect(g.Guarantees().Has(contain.KillTree | contain.KillForkBomb)).To(BeTrue())
			Eventually(g.Guarantees).WithTimeout(bound).Should(Satisfy(func(is contain.Guarantee) bool {
				return is.Has(contain.KillOnOwnerDeath)
			}))
		})

		It("is not guaranteed any more when the warden was killed, and again by the next group that asks", func() {
			has := func(g *contain.Group) bool { return g.Guarantees().Has(contain.KillOnOwnerDeath) }
			ask := func() *contain.Group {
				GinkgoHelper()
				g, err := contain.New(contain.Options{Mechanism: contain.Cgroup2, Require: contain.KillOnOwnerDeath})
				Expect(err).NotTo(HaveOccurred())
				DeferCleanup(g.Close)
				Expect(has(g)).To(BeTrue(), "it waits for the warden")
				return g
			}
			Eventually(helpersAs).WithArguments("warden").WithTimeout(longEnough).Should(BeEmpty(), "one of earlier specs is on its way out")
			g := ask()
			first := helpersAs("warden")
			Expect(first).To(HaveLen(1))
			killAll(first)
			Eventually(has).WithArguments(g).WithTimeout(bound).Should(BeFalse())
			ask()
			Expect(helpersAs("warden")).To(And(HaveLen(1), Not(ContainElement(first[0]))))
		})

		It("is not heard of by a program that was started with the helper's name alone", func() {
			out := must(os.Create(filepath.Join(GinkgoT().TempDir(), "out")))
			defer out.Close()
			p, err := os.StartProcess("/proc/self/exe", []string{"boombox-keeper", "warden", "0"}, &os.ProcAttr{
				Env: []string{helperKey + "=hello"}, Files: []*os.File{nil, out, nil},
			})
			Expect(err).NotTo(HaveOccurred())
			_, err = p.Wait()
			Expect(err).NotTo(HaveOccurred())
			Expect(os.ReadFile(out.Name())).To(BeEquivalentTo("hello " + strconv.Itoa(p.Pid) + "\n"))
		})
	})
})

func init() {
	// hello only says who it is.
	helpers["hello"] = func() error {
		say("hello", os.Getpid())
		return nil
	}
}
