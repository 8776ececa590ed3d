package main_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
)

var _ = Describe("doctor", func() {
	It("says for people what holds a run, what does not, and what boombox is not", func() {
		end := boombox("doctor")
		Expect(end.Status).To(Equal(0))
		Expect(end.Stderr).To(BeEmpty())
		Expect(end.Stdout).To(And(
			ContainSubstring("kill-tree"), ContainSubstring("cap-memory"), ContainSubstring("process-group"),
			ContainSubstring("Not a security sandbox"),
		))
	})

	It("says the same as JSON, and the same as the library", func() {
		end := boombox("doctor", "--json")
		Expect(end.Status).To(Equal(0))
		report := reportOf(end.Stdout)
		best, ok := contain.Host().Best()
		Expect(ok).To(BeTrue())
		names := []any{}
		for _, name := range best.Guarantees.Names() {
			names = append(names, name)
		}
		Expect(report).To(And(HaveLen(6),
			HaveKeyWithValue("mechanism", string(best.Mechanism)),
			HaveKeyWithValue("guarantees", Equal(names)),
			HaveKeyWithValue("missing", HaveLen(len((^contain.Host().Guarantees()).Names()))),
			HaveKeyWithValue("mechanisms", HaveLen(len(contain.Host().Rungs))),
			HaveKey("os"), HaveKey("arch"),
		))
		for _, rung := range report["mechanisms"].([]any) {
			Expect(rung).To(And(HaveLen(7), HaveKey("refused"), HaveKey("mechanism"), HaveKey("available"), HaveKey("on_request"),
				HaveKey("guarantees"), HaveKey("reason"), HaveKey("remedy")))
			if rung := rung.(map[string]any); rung["available"] == false {
				Expect(rung["reason"]).NotTo(BeNil(), "a mechanism that is not to be had says why")
			}
		}
	})

	It("ends with 125 when more is required than there is, and agrees with run", func() {
		end := boombox("doctor", "--require", "kill-tree,cap-memory,resist-same-uid")
		Expect(end.Status).To(Equal(125))
		Expect(end.Stdout).NotTo(BeEmpty())
		Expect(end.Stderr).To(MatchRegexp(`^boombox: this host cannot guarantee [^\n]+\n$`))
		for _, name := range []string{"kill-tree", "kill-fork-bomb"} {
			run := boombox(append([]string{"run", "--require", name, "--"}, fixture("exit")...)...)
			Expect(boombox("doctor", "--require", name).Status).To(Equal(run.Status))
		}
	})
})
