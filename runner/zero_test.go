package runner_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("the zero Result", func() {
	It("answers every question harmlessly, and is no success", func() {
		r := &runner.Result{}
		Expect(r.Outcome()).To(Equal(runner.Outcome{}))
		Expect(r.Outcome().Kind().String()).To(Equal("unsettled"))
		_, exited := r.ExitCode()
		Expect(exited).To(BeFalse())
		_, known := r.Status()
		Expect(known).To(BeFalse())
		Expect(r.Success()).To(BeFalse())
		Expect(r.Program()).To(BeEmpty())
		Expect(r.Stdout()).To(BeEmpty())
		Expect(r.Stderr()).To(BeEmpty())
		Expect(r.StdoutTotal() + r.StderrTotal()).To(BeZero())
		Expect(r.StdoutTruncated() || r.StderrTruncated() || r.PipesHeld() || r.Replayed()).To(BeFalse())
		Expect(r.Duration() + r.SettledAfter() + r.Timeout() + r.IdleTimeout()).To(BeZero())
		Expect(r.Teardown()).To(BeZero())
		Expect(r.StdinErr()).NotTo(HaveOccurred())
		Expect(r.TeeErr()).NotTo(HaveOccurred())
		Expect(r.Check()).To(MatchError(`runner: "" has no outcome`))
		Expect(r.Check()).To(MatchError(runner.ErrUnsuccessful))
		Expect(fmt.Sprint(r, *r)).To(Equal("no result no result"))
	})
})
