package runner_test

import (
	"os"
	"runtime"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("Env", func() {
	BeforeEach(func() {
		GinkgoT().Setenv("BOOMBOX_ONE", "1")
		GinkgoT().Setenv("BOOMBOX_TWO", "2")
	})
	value := func(e runner.Env, key string) any {
		if v, ok := e.Lookup(key); ok {
			return v
		}
		return nil
	}

	// entries are those that were given, without SYSTEMROOT, which is always there on Windows.
	entries := func(e runner.Env) []string {
		return slices.DeleteFunc(e.Reveal(), func(entry string) bool {
			return runtime.GOOS == "windows" && strings.HasPrefix(strings.ToUpper(entry), "SYSTEMROOT=")
		})
	}

	It("inherits what there is when the command starts", func() {
		var e runner.Env
		Expect(value(e, "BOOMBOX_ONE")).To(Equal("1"))
		GinkgoT().Setenv("BOOMBOX_ONE", "later")
		Expect(value(e, "BOOMBOX_ONE")).To(Equal("later"))
		Expect(runner.InheritEnv().Reveal()).To(ContainElement("BOOMBOX_TWO=2"))
	})

	It("is empty when it is clean", func() {
		Expect(entries(runner.CleanEnv())).To(BeEmpty())
		Expect(entries(runner.CleanEnv().Set("A", ""))).To(Equal([]string{"A="}))
	})

	It("allows names, read anew, and lets absent ones be absent", func() {
		names := []string{"BOOMBOX_ONE", "BOOMBOX_NONE"}
		e := runner.AllowEnv(names...)
		names[0] = "BOOMBOX_TWO"
		Expect(entries(e)).To(Equal([]string{"BOOMBOX_ONE=1"}))
		GinkgoT().Setenv("BOOMBOX_NONE", "now")
		Expect(entries(e)).To(Equal([]string{"BOOMBOX_NONE=now", "BOOMBOX_ONE=1"}))
	})

	It("takes the last word on a name", func() {
		e := runner.CleanEnv().Set("A", "1").Set("B", "2").Set("A", "3")
		Expect(entries(e)).To(Equal([]string{"A=3", "B=2"}))
		Expect(entries(e.Remove("A"))).To(Equal([]string{"B=2"}))
		Expect(entries(e.Remove("A").Set("A", "4"))).To(Equal([]string{"A=4", "B=2"}))
		Expect(value(runner.InheritEnv().Remove("BOOMBOX_ONE"), "BOOMBOX_ONE")).To(BeNil())
	})

	It("is a value: a change makes another", func() {
		base := runner.CleanEnv().Set("A", "1")
		one, two := base.Set("B", "one"), base.Set("B", "two")
		Expect(entries(base)).To(Equal([]string{"A=1"}))
		Expect(entries(one)).To(Equal([]string{"A=1", "B=one"}))
		Expect(entries(two)).To(Equal([]string{"A=1", "B=two"}))
	})

	It("lists the names that it overrides, sorted, and no inherited ones", func() {
		e := runner.AllowEnv("PATH").Set("B", "x").Remove("C").Set("A", "y")
		Expect(e.Names()).To(Equal([]string{"A", "B", "C"}))
		Expect(runner.InheritEnv().Names()).To(BeEmpty())
	})

	It("lets a value hold anything but NUL", func(ctx SpecContext) {
		const value = "a=b\nc \xff"
		cmd := shell(`printf %s "$V"`)
		cmd.Env = cmd.Env.Set("V", value)
		Expect(runner.Output(ctx, runner.Contained{}, cmd)).To(Equal(value))
	})

	DescribeTable("refuses names and values that no system can pass on, and shows none of them",
		func(ctx SpecContext, e runner.Env) {
			cmd := fixture("exit")
			cmd.Env = e
			_, err := runner.Contained{}.Start(ctx, cmd)
			Expect(err).To(MatchError(runner.ErrInvalid))
			Expect(err.Error()).NotTo(ContainSubstring("hush"))
			Expect(e.String()).NotTo(ContainSubstring("hush"))
		},
		Entry("no name", runner.CleanEnv().Set("", "hush")),
		Entry("a name with an equals sign", runner.CleanEnv().Set("KEY=hush", "")),
		Entry("a name with NUL", runner.CleanEnv().Set("hush\x00", "")),
		Entry("a value with NUL", runner.CleanEnv().Set("KEY", "hush\x00")),
		Entry("a removed name with an equals sign", runner.InheritEnv().Remove("KEY=hush")),
		Entry("an allowed name with an equals sign", runner.AllowEnv("KEY=hush")),
	)

	It("reaches the child as it is, and nothing else does", func(ctx SpecContext) {
		cmd := fixture("envnames")
		cmd.Env = runner.AllowEnv("BOOMBOX_ONE").Set("BOOMBOX_THREE", "3")
		out, err := runner.Output(ctx, runner.Contained{}, cmd)
		Expect(err).NotTo(HaveOccurred())
		Expect(strings.Fields(out)).To(Equal([]string{"BOOMBOX_ONE", "BOOMBOX_THREE"}))
		Expect(os.Environ()).NotTo(ContainElement("BOOMBOX_THREE=3"))
	})
})
