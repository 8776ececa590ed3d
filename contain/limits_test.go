package contain_test

import (
	"errors"
	"math"
	"runtime"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
)

var _ = Describe("limits", func() {
	refusal := func(l contain.Limits) *contain.LimitError {
		GinkgoHelper()
		_, err := contain.New(contain.Options{Limits: l})
		limit, ok := errors.AsType[*contain.LimitError](err)
		Expect(ok).To(BeTrue(), "%v", err)
		return limit
	}

	DescribeTable("that make no sense are invalid, whoever asks",
		func(l contain.Limits, kind contain.LimitKind) {
			g, err := contain.New(contain.Options{})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(g.Close)
			changed, ok := errors.AsType[*contain.LimitError](g.UpdateLimits(l))
			Expect(ok).To(BeTrue())
			for _, err := range []*contain.LimitError{refusal(l), changed} {
				Expect(err.Kind).To(Equal(kind))
				Expect(err.Reason).To(Equal(contain.LimitInvalid))
				Expect(err).NotTo(MatchError(contain.ErrUnsupported), "no host could")
				Expect(err.Error()).To(HavePrefix("contain: " + string(kind) + " limit is invalid: "))
			}
		},
		Entry(nil, contain.Limits{Memory: -1}, contain.LimitMemory),
		Entry(nil, contain.Limits{Memory: 1}, contain.LimitMemory),
		Entry(nil, contain.Limits{Memory: math.MinInt64}, contain.LimitMemory),
		Entry(nil, contain.Limits{Memory: 4095}, contain.LimitMemory),
		Entry(nil, contain.Limits{Memory: 1 << 62}, contain.LimitMemory),
		Entry(nil, contain.Limits{Memory: math.MaxInt64}, contain.LimitMemory),
		Entry(nil, contain.Limits{Processes: -1}, contain.LimitProcesses),
		Entry(nil, contain.Limits{Processes: math.MinInt}, contain.LimitProcesses),
		Entry(nil, contain.Limits{Processes: 1<<22 + 1}, contain.LimitProcesses),
		Entry(nil, contain.Limits{Processes: math.MaxInt}, contain.LimitProcesses),
		Entry(nil, contain.Limits{CPU: -1}, contain.LimitCPU),
		Entry(nil, contain.Limits{CPU: 0.0001}, contain.LimitCPU),
		Entry(nil, contain.Limits{CPU: math.SmallestNonzeroFloat64}, contain.LimitCPU),
		Entry(nil, contain.Limits{CPU: 8193}, contain.LimitCPU),
		Entry(nil, contain.Limits{CPU: math.MaxFloat64}, contain.LimitCPU),
		Entry(nil, contain.Limits{CPU: math.NaN()}, contain.LimitCPU),
		Entry(nil, contain.Limits{CPU: math.Inf(1)}, contain.LimitCPU),
		Entry(nil, contain.Limits{CPU: math.Inf(-1)}, contain.LimitCPU),
		Entry("even beside one that does", contain.Limits{Memory: 1 << 20, CPU: -1}, contain.LimitCPU),
	)

	DescribeTable("that the mechanism cannot enforce are refused, never dropped",
		func(l contain.Limits, kind contain.LimitKind) {
			_, err := contain.New(contain.Options{Limits: l, Mechanism: contain.ProcessGroup})
			if runtime.GOOS == "windows" {
				_, err = contain.New(contain.Options{Limits: l})
			}
			refused, ok := errors.AsType[*contain.LimitError](err)
			Expect(ok).To(BeTrue(), "%v", err)
			Expect(refused.Kind).To(Equal(kind))
			Expect(refused.Reason).To(Equal(contain.LimitUnenforceable))
			Expect(err).To(MatchError(contain.ErrUnsupported))
			Expect(err.Error()).To(HavePrefix("contain: " + string(kind) + " limit cannot be enforced (unenforceable): "))
		},
		Entry(nil, contain.Limits{Memory: 64 << 20}, contain.LimitMemory),
		Entry(nil, contain.Limits{Processes: 64}, contain.LimitProcesses),
		Entry(nil, contain.Limits{CPU: 1.5}, contain.LimitCPU),
	)

	It("are told by kind", func() {
		l := contain.Limits{Memory: 1 << 20, Processes: 2, CPU: 0.5}
		Expect([]float64{l.Of(contain.LimitMemory), l.Of(contain.LimitProcesses), l.Of(contain.LimitCPU), l.Of("")}).To(
			Equal([]float64{1 << 20, 2, 0.5, 0}))
	})
})

var _ = Describe("guarantees", func() {
	It("are written and read by name", func() {
		all := contain.Guarantee(1<<7 - 1)
		Expect(all.String()).To(Equal(
			"kill-tree,kill-fork-bomb,kill-on-owner-death,resist-same-uid,cap-memory,cap-processes,cap-cpu"))
		Expect(contain.ParseGuarantees(all.String())).To(Equal(all))
		Expect(contain.ParseGuarantees(" kill-tree , ,cap-cpu,none")).To(Equal(contain.KillTree | contain.CapCPU))
		Expect(contain.ParseGuarantees(contain.Guarantee(0).String())).To(BeZero())
		_, err := contain.ParseGuarantees("kill-three")
		Expect(err).To(MatchError(And(ContainSubstring("kill-three"), ContainSubstring("kill-tree"))))
	})
})

func FuzzParseGuarantees(f *testing.F) {
	f.Add("kill-tree, cap-cpu,none")
	f.Add(",,x")
	f.Fuzz(func(t *testing.T, list string) {
		g, err := contain.ParseGuarantees(list)
		if err != nil {
			return
		}
		if again, err := contain.ParseGuarantees(g.String()); err != nil || again != g {
			t.Errorf("%q is %v, which is %v (%v)", list, g, again, err)
		}
	})
}
