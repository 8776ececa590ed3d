package boombox_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/runner"
)

// fate is what becomes of the processes that a child left, when its run is over.
type fate int

const (
	dies  fate = iota // nothing is left
	lives             // those that it left live on
)

func (f fate) String() string { return [...]string{"dies", "lives on"}[f] }

// escape is one row of the corpus: a child, and the fate of what it leaves under each mechanism. Both directions are
// asserted: where the documentation says that a mechanism loses a child, the child is shown to be lost.
type escape struct {
	child string
	args  []string
	fates map[contain.Mechanism]fate
	// provoke makes the child misbehave once it is ready, and returns the processes that it left.
	provoke func(b *boxed, left []int) []int
	// after looks at what else is left, when the run is over.
	after func(left []int)
}

// rungs are all mechanisms that a Linux host may have.
var rungs = []contain.Mechanism{
	contain.Cgroup2, contain.Cgroup2PIDNamespace, contain.PIDNamespace, contain.Subreaper, contain.ProcessGroup,
}

// everywhere is the fate of what no mechanism loses, but that one may.
func everywhere(but map[contain.Mechanism]fate) map[contain.Mechanism]fate {
	fates := map[contain.Mechanism]fate{}
	for _, m := range rungs {
		fates[m] = dies
	}
	maps.Copy(fates, but)
	return fates
}

var (
	// held: no mechanism loses it.
	held = everywhere(nil)
	// escapes: it leaves its process group, which is all that the floor holds.
	escapes = everywhere(map[contain.Mechanism]fate{contain.ProcessGroup: lives})
)

var corpus = []escape{
	{child: "setsid", fates: escapes},
	{child: "setsid", args: []string{"leave"}, fates: escapes},
	{child: "setpgid", fates: escapes},
	{child: "setpgid", args: []string{"leave"}, fates: escapes},
	{child: "doublefork", fates: held},
	{child: "doublefork", args: []string{"leave"}, fates: held},
	{child: "daemonise", fates: escapes},
	{child: "daemonise", args: []string{"stay"}, fates: escapes},
	{child: "escapees", fates: escapes},
	{child: "pipeholder", fates: held},
	{child: "pipeholder", args: []string{"stay"}, fates: held},
	{child: "sigtermignorer", fates: held},
	{child: "stopper", fates: held},
	{child: "spinner", fates: held},
	{child: "threads", fates: held},
	{child: "pidns", fates: held},
	{child: "newuid", fates: escapes, provoke: func(_ *boxed, left []int) []int {
		mustSee(left)
		return left
	}},
	{child: "cloneparent", fates: escapes, after: func(left []int) {
		// Where nothing stands between us and the child, it made itself our own; and a dead child of ours is a zombie until
		// we reap it.
		for _, pid := range left {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
	}},
	{child: "hydra", fates: escapes, provoke: func(b *boxed, _ []int) []int {
		Expect(b.p.Signal(syscall.SIGTERM)).To(Succeed())
		Eventually(b.out.line(1)).WithTimeout(10 * time.Second).Should(BeClosed())
		return pidsOf(b.out.text(1))
	}},
	{child: "subcgroup", fates: held, after: removeFixtureCgroups},
	{child: "subcgroup", args: []string{"freeze"}, fates: held, after: removeFixtureCgroups},
	// Root, and the owner of the cgroups, may write themselves into another cgroup: what holds by a cgroup alone does not
	// cover it. Three levels are the leaf, the group and the base.
	{child: "climber", args: []string{"3"}, fates: map[contain.Mechanism]fate{contain.Cgroup2: lives, contain.Cgroup2PIDNamespace: dies}},
}

// removeFixtureCgroups removes what the child "subcgroup" made, where the mechanism does not know of it.
func removeFixtureCgroups([]int) {
	left, err := filepath.Glob(filepath.Join(ownCgroup(), "boombox-fixture-*"))
	Expect(err).NotTo(HaveOccurred())
	for _, dir := range left {
		if members, err := os.ReadFile(filepath.Join(dir, "cgroup.procs")); err == nil && len(members) == 0 {
			removeCgroup(dir)
		}
	}
}

var _ = Describe("what a child leaves behind", Label("live", "escape"), func() {
	for _, mechanism := range rungs {
		for _, e := range corpus {
			fate, known := e.fates[mechanism]
			if !known {
				continue
			}
			name := e.child
			for _, a := range e.args {
				name += " " + a
			}
			It(fmt.Sprintf("%s, by %s, %s", mechanism, name, fate), func(ctx SpecContext) {
				g := group(mechanism)
				b := prepareBoxed(e.child, e.args...)
				b.start(ctx, runner.Contained{Group: g})
				left := b.ready()
				if mechanism == contain.PIDNamespace || mechanism == contain.Cgroup2PIDNamespace {
					left = nil // the child sees other numbers than we: these are some strangers'
				}
				if e.provoke != nil {
					left = e.provoke(b, left)
				}
				Expect(b.p.Close()).To(Succeed())
				Expect(g.Close()).To(Succeed())

				if fate == dies {
					Expect(b.left()).To(BeEmpty())
				} else {
					Expect(left).NotTo(BeEmpty())
					Expect(b.left()).To(ConsistOf(left))
				}
				Expect(b.settle().Teardown().Mechanism).To(Equal(mechanism))
				Expect(g.Guarantees().Has(contain.KillTree)).To(Equal(mechanism != contain.ProcessGroup))
				if e.after != nil {
					e.after(left)
				}
			}, NodeTimeout(40*time.Second))
		}
	}
})
