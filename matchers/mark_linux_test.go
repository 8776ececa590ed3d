package matchers_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/fixtures"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/matchers/specs"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("HaveEscapees", func() {
	var mark Mark
	BeforeEach(func() {
		mark = NewMark()
		DeferCleanup(func() {
			Eventually(func() ([]contain.Member, error) {
				left, err := mark.Processes()
				return left, errors.Join(err, mark.Kill(left...))
			}).WithTimeout(5 * time.Second).Should(BeEmpty())
		})
	})
	// leaver starts a marked child that leaves its session a child behind, in a group held as opts say, and waits for it.
	leaver := func(ctx context.Context, opts contain.Options, args ...string) (*contain.Group, *runner.Process) {
		GinkgoHelper()
		group := specs.Group(opts)
		argv := fixtures.Argv("setsid", args...)
		p, err := runner.Contained{Group: group}.Start(ctx, mark.Put(runner.Command(argv[0], argv[1:]...)))
		Expect(err).NotTo(HaveOccurred())
		return group, p
	}
	numbers := regexp.MustCompile(`\d+|state [A-Z]`)
	normal := func(text string) string {
		text = regexp.MustCompile("pid \\d+ `.*`").ReplaceAllString(text, "pid N `NAME`")
		text = regexp.MustCompile("run of `.*`").ReplaceAllString(text, "run of `NAME`")
		text = regexp.MustCompile(`took .*`).ReplaceAllString(text, "took TIME")
		return numbers.ReplaceAllString(text, "N")
	}

	It("names who has left a process group, and is the witness that the group itself is not", Label("live"), func(ctx SpecContext) {
		group, p := leaver(ctx, contain.Options{Mechanism: contain.ProcessGroup})
		Eventually(ctx, mark.Processes).Should(HaveLen(2))
		Eventually(ctx, group).Should(HaveEscapees(mark))
		m := HaveEscapees(mark)
		Expect(m.Match(group)).To(BeTrue())
		expectGolden("HaveEscapees", "a group that one has left", normal("(negated) "+m.NegatedFailureMessage(nil)))

		Expect(p.Kill()).To(Succeed())
		res, err := p.Wait(ctx)
		Expect(err).NotTo(HaveOccurred())
		m = HaveEscapees(mark)
		Expect(m.Match(res)).To(BeTrue(), "the control: it lives on")
		expectGolden("HaveEscapees", "a run that one has outlived", normal("(negated) "+m.NegatedFailureMessage(nil)))
		Expect(res.Check()).To(HaveEscapees(mark))
	}, NodeTimeout(time.Minute))

	It("finds none where the whole tree is held", Label("live"), func(ctx SpecContext) {
		specs.Require(contain.KillTree)
		group, p := leaver(ctx, contain.Options{Require: contain.KillTree})
		Eventually(ctx, mark.Processes).Should(HaveLen(2), "the control: both are seen")
		Consistently(ctx, group).ShouldNot(HaveEscapees(mark))
		m := HaveEscapees(mark)
		Expect(m.Match(group)).To(BeFalse())
		text := regexp.MustCompile(`held by \S+`).ReplaceAllString(m.FailureMessage(nil), "held by MECHANISM")
		expectGolden("HaveEscapees", "a group that holds all", normal(text))

		Expect(p.Kill()).To(Succeed())
		Expect(p.Wait(ctx)).NotTo(HaveEscapees(mark))
	}, NodeTimeout(time.Minute))

	It("sees no process that another mark is for, nor ourselves", func() {
		GinkgoT().Setenv(EnvMark, strings.TrimPrefix(string(mark), EnvMark+"="))
		Expect(mark.Processes()).To(BeEmpty())
		Expect(NewMark()).NotTo(Equal(NewMark()))
		Expect(mark.Kill(contain.Member{PID: os.Getpid()})).To(Succeed(), "we were not started with it")
		Expect(tree{mechanism: contain.Cgroup2}).NotTo(HaveEscapees(mark))
	})

	It("has no verdict, in either direction, about what it cannot look at", func() {
		cause := errors.New("no")
		replayed := result(fake.Script{Teardown: held, Replayed: true})
		for _, c := range []struct {
			matcher func() types.GomegaMatcher
			actual  any
			text    string
		}{
			{func() types.GomegaMatcher { return HaveEscapees("") }, tree{}, "takes a Mark that NewMark or specs.Mark has made"},
			{func() types.GomegaMatcher { return HaveEscapees("X=") }, tree{}, "takes a Mark"},
			{func() types.GomegaMatcher { return HaveEscapees(mark) }, replayed, "cannot judge a replay: no process ran"},
			{func() types.GomegaMatcher { return HaveEscapees(mark) }, result(fake.Script{}), "no process ran"},
			{func() types.GomegaMatcher { return HaveEscapees(mark) }, []contain.Member{sleeper}, "cannot judge a []contain.Member; it takes *contain.Group"},
			{func() types.GomegaMatcher { return HaveEscapees(mark) }, (*contain.Group)(nil), "nil *contain.Group"},
			{func() types.GomegaMatcher { return HaveEscapees(mark) }, tree{err: cause}, "cannot list the members: no"},
		} {
			for _, m := range []types.GomegaMatcher{c.matcher(), Not(c.matcher())} {
				_, err := m.Match(c.actual)
				Expect(err).To(MatchError(ContainSubstring(c.text)), fmt.Sprintf("%T", c.actual))
			}
		}
	})
})

func ExampleHaveEscapees() {
	g, _ := example()
	mark := NewMark()
	res, err := runner.Run(ctx, runner.Contained{}, mark.Put(runner.Command("true")))
	if err != nil {
		fmt.Println(err)
		return
	}
	g.Expect(res).NotTo(HaveEscapees(mark))
	// Output:
}
