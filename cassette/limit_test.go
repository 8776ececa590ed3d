package cassette_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("the caps of a run", func() {
	tape := func(tripped contain.Tripped, events int64) *cassette.Tape {
		GinkgoHelper()
		t, err := cassette.Parse(cassette.File([]cassette.Sample{{
			Argv: []string{"tool"}, Outcome: runner.Exited(0), WithoutTape: true, Evidence: contain.Evidence{Limits: []contain.LimitEvidence{
				{Kind: contain.LimitProcesses, Max: 20, Tripped: tripped, Events: &events},
			}},
		}}))
		Expect(err).NotTo(HaveOccurred())
		return t
	}

	DescribeTable("make another outcome if another was hit, and not if one was hit more often",
		func(old, new *cassette.Tape, class cassette.Class, fields ...string) {
			changes, err := cassette.Compare(old, new)
			Expect(err).NotTo(HaveOccurred())
			Expect(changes).To(HaveExactElements(And(HaveField("Class", class), HaveField("Fields", HaveExactElements(fields)))))
		},
		Entry("more often", tape(contain.HasTripped, 3), tape(contain.HasTripped, 4), cassette.ClassSame),
		Entry("hit", tape(contain.NotTripped, 0), tape(contain.HasTripped, 4), cassette.ClassOutcome, "limits"),
		Entry("nobody counted", tape(contain.TripUnknown, 0), tape(contain.NotTripped, 0), cassette.ClassOutcome, "limits"),
	)
})
