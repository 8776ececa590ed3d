package boombox_test

import (
	"fmt"
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
	after func(b *boxed, left []int)
}

// onlyCgroup is the fate of what leaves its process group; nowhere that of what does not.
var (
	onlyCgroup = map[contain.Mechanism]fate{contain.Cgroup2: dies, contain.ProcessGroup: lives}
	nowhere    = map[contain.Mechanism]fate{contain.Cgroup2: dies, contain.ProcessGroup: dies}
)

var corpus = []escape{
	{child: "setsid", fates: onlyCgroup},
	{child: "setsid", args: []string{"leave"}, fates: onlyCgroup},
	{child: "setpgid", fates: onlyCgroup},
	{child: "setpgid", args: []string{"leave"}, fates: onlyCgroup},
	{child: "doublefork", fates: nowhere},
	{child: "doublefork", args: []string{"leave"}, fates: nowhere},
	{child: "daemonise", fates: onlyCgroup},
	{child: "daemonise", args: []string{"stay"}, fates: onlyCgroup},
	{child: "escapees", fates: onlyCgroup},
	{child: "pipeholder", fates: nowhere},
	{child: "pipeholder", args: []string{"stay"}, fates: nowhere},
	{child: "sigtermignorer", fates: nowhere},
	{child: "stopper", fates: nowhere},
	{child: "spinner", fates: nowhere},
	{child: "threads", fates: nowhere},
	{child: "pidns", fates: nowhere},
	{child: "newuid", fates: onlyCgroup, provoke: func(_ *boxed, left []int) []int {
		mustSee(left)
		return left
	}},
	{child: "cloneparent", fates: onlyCgroup, after: func(_ *boxed, left []int) {
		// It made itself our own child, and a dead child of ours is a zombie until we reap it.
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			bury(pid)
		}
	}},
	{child: "hydra", fates: onlyCgroup, provoke: func(b *boxed, _ []int) []int {
		Expect(b.p.Signal(syscall.SIGTERM)).To(Succeed())
		Eventually(b.out.line(1)).WithTimeout(10 * time.Second).Should(BeClosed())
		return pidsOf(b.out.text(1))
	}},
	{child: "subcgroup", fates: nowhere, after: removeFixtureCgroup},
	{child: "subcgroup", args: []string{"freeze"}, fates: nowhere, after: removeFixtureCgroup},
	// Root, and the owner of the cgroups, may write themselves into another cgroup: kill-tree does not cover it.
	// Three levels are the leaf, the group and the base.
	{child: "climber", args: []string{"3"}, fates: map[contain.Mechanism]fate{contain.Cgroup2: lives}},
}

// removeFixtureCgroup removes the cgroup that the child "subcgroup" made, where the mechanism does not know of it.
func removeFixtureCgroup(b *boxed, _ []int) {
	if b.mechanism == contain.Cgroup2 {
		return
	}
	pid, _ := b.p.PID()
	removeCgroup(filepath.Join(ownCgroup(), fmt.Sprintf("boombox-fixture-%d", pid)))
}

var _ = Describe("what a child leaves behind", Label("live", "escape"), func() {
	for _, mechanism := range []contain.Mechanism{contain.Cgroup2, contain.ProcessGroup} {
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
				b.mechanism = mechanism
				b.start(ctx, runner.Contained{Group: g})
				left := b.ready()
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
					e.after(b, left)
				}
			}, NodeTimeout(40*time.Second))
		}
	}
})
