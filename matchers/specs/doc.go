// Package specs is the glue between boombox and Ginkgo: groups that end with their spec, cassettes that are found by a
// spec's name and saved only if it passed, leak checks, skips with a reason, and reports that show the process tree.
//
//	var _ = Describe("server", func() {
//		BeforeEach(func() {
//			specs.Require(contain.KillTree) // skips, with a counted reason, where the host cannot
//			specs.NoLeaks()
//		})
//
//		It("answers", func(ctx SpecContext) {
//			group := specs.Group(contain.Options{Require: contain.KillTree})
//			specs.ShowTreeOnTimeout(group)
//			p, err := runner.Contained{Group: group}.Start(ctx, server)
//			Expect(err).NotTo(HaveOccurred())
//			...
//		}, NodeTimeout(time.Minute))
//
//		It("speaks git", func(ctx SpecContext) {
//			git := wrapper{specs.Runner()} // replays testdata/cassettes/server-speaks-git-....cassette
//			...
//		})
//	})
//
// Every helper belongs to the spec that calls it: call it within It, BeforeEach or the like, never while the tree is
// built. What it set up ends with the spec, in Ginkgo's own clean-up, so that it works under ginkgo -p, in random order,
// with retries (each try opens its cassette anew) and when the run is interrupted. Ginkgo skips clean-ups when it is
// interrupted a second time; what is left behind then is ended by the next program that makes a group here ([SweepStale]).
//
// # Habits that help
//
// Pass the SpecContext down: it alone sees a node's timeout. A context handed to Start bounds the starting; the process
// belongs to its group. Give a child no stream of the test's own: Ginkgo waits for whoever holds them. Keep a command's
// Timeout and Grace well below the node's.
//
// Package matchers holds the matchers, and needs no Ginkgo. Plain tests have contain.ForTest, cassette.ForTest and
// fake.New(t).
package specs
