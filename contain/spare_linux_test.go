package contain_test

import (
	"context"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	. "github.com/boombox-go/boombox/matchers"
)

var _ = Describe("the leaf of a start", func() {
	onLeaves := func(text string, body func(m contain.Mechanism)) {
		for _, m := range mechanisms() {
			if m == contain.Cgroup2 || m == contain.Cgroup2PIDNamespace {
				It(text+" ("+string(m)+")", func() { body(m) })
			}
		}
	}
	// places lists the groups of this process, and leaves theirs.
	places := func() []string {
		GinkgoHelper()
		bases := ownBases()
		Expect(bases).To(HaveLen(1))
		return must(filepath.Glob(bases[0] + "/group-*"))
	}
	leaves := func() []string {
		GinkgoHelper()
		places := places()
		Expect(places).To(HaveLen(1))
		return must(filepath.Glob(places[0] + "/leaf-*"))
	}
	run := func(g *contain.Group) {
		GinkgoHelper()
		r := start(g, "sleep")
		Expect(r.Close()).To(Succeed())
		Expect(r.find()).NotTo(HaveSurvivors())
	}

	onLeaves("is made ahead once a group has started twice, and goes with the group", func(m contain.Mechanism) {
		g := newGroup(m)
		// To prove the mechanism takes a start of its own, once.
		for range 2 {
			run(g)
		}
		ahead := leaves()
		Expect(ahead).To(HaveLen(1))
		r := start(g, "sleep")
		Expect(readFile("/proc/" + itoa(r.PID()) + "/cgroup")).To(ContainSubstring("/" + filepath.Base(ahead[0]) + "\n"))
		Expect(leaves()).To(HaveLen(2), "and the next one")
		Expect(r.Close()).To(Succeed())
		Expect(leaves()).To(And(HaveLen(1), Not(ContainElement(ahead[0]))), "none is used again")
		Expect(g.Close()).To(Succeed())
		Expect(ownBases()).To(BeEmpty())
	})

	onLeaves("is another one if somebody has killed the one made ahead", func(m contain.Mechanism) {
		g := newGroup(m)
		for range 2 {
			run(g)
		}
		ahead := leaves()
		Expect(ahead).To(HaveLen(1))
		Expect(os.WriteFile(places()[0]+"/cgroup.kill", []byte("1"), 0)).To(Succeed())
		Expect(contain.CloneInto(ahead[0])).To(MatchError(contain.ErrBornDead), "the control")
		run(g)
		Expect(ahead[0]).NotTo(BeADirectory())
	})

	onLeaves("is removed with whoever has come into the one made ahead", func(m contain.Mechanism) {
		g := newGroup(m)
		for range 2 {
			run(g)
		}
		stranger := start(newGroup(contain.ProcessGroup), "sleep")
		Expect(os.WriteFile(leaves()[0]+"/cgroup.procs", []byte(itoa(stranger.PID())), 0)).To(Succeed())
		Expect(g.Close()).To(Succeed())
		Expect(stranger.PID()).NotTo(BeRunning())
		Expect(ownBases()).To(BeEmpty())
	})

	onLeaves("is not made ahead for a group that starts once", func(m contain.Mechanism) {
		run(newGroup(m)) // whatever proves the mechanism, is behind us
		g := newGroup(m)
		c, err := g.Start(context.Background(), contain.Spec{Path: "/bin/true", Argv: contain.Seal("true")})
		Expect(err).NotTo(HaveOccurred())
		Expect(c.Close()).To(Succeed())
		own := must(filepath.Glob(ownBases()[0] + "/group-*/leaf-*"))
		Expect(own).To(BeEmpty())
	})
})
