package suite

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"

	"github.com/boombox-go/boombox/fixtures"
)

// Main is the TestMain of a suite: it runs a fixture child if this process was started as one, and the tests
// otherwise.
func Main(m *testing.M) {
	fixtures.Dispatch()
	os.Exit(m.Run())
}

// ran remembers which suites this process ran already. It is the one thing that outlives a suite: Ginkgo itself keeps
// the same in a package variable of its own.
var ran sync.Map

// Run runs the specs of the test binary as the suite called name, and fails t if a spec failed or if anything is left
// behind. It ends with one line "name: N passed, N failed, N skipped".
func Run(t *testing.T, name string) {
	t.Helper()
	if _, again := ran.LoadOrStore(name, true); again {
		repeat(t, name)
		return
	}
	nonce := newNonce()
	t.Setenv(nonce.key, nonce.value)
	before := take(nonce)

	gomega.RegisterFailHandler(ginkgo.Fail)
	var report types.Report
	ginkgo.ReportAfterSuite("counts", func(r ginkgo.Report) {
		report = r
		if config, _ := ginkgo.GinkgoConfiguration(); config.ParallelTotal > 1 {
			// What a process of ginkgo -p prints is not shown; an entry is.
			ginkgo.AddReportEntry("counts", strings.TrimSuffix(count(r).text(name), "\n"))
		}
	})
	undo := once()
	passed := ginkgo.RunSpecs(t, name)
	undo()

	c := count(report)
	leaks := before.leaks()
	for _, leak := range leaks {
		c.failed++
		fmt.Printf("%s: left behind: %s\n", name, leak)
	}
	if len(leaks) > 0 {
		t.Errorf("%s left behind: %s", name, strings.Join(leaks, "; "))
	}
	if !passed && c.failed == 0 {
		c.failed++ // the suite's own nodes, or Ginkgo itself
	}
	fmt.Print(c.text(name))
}

// counts is what a suite did.
type counts struct {
	passed, failed, skipped int
	reasons                 map[string]int
}

func count(report types.Report) counts {
	c := counts{reasons: map[string]int{}}
	for _, spec := range report.SpecReports {
		its := spec.LeafNodeType.Is(types.NodeTypeIt)
		switch {
		case spec.State.Is(types.SpecStateFailureStates):
			c.failed++
		case spec.State.Is(types.SpecStatePassed) && its:
			c.passed++
		case spec.State.Is(types.SpecStateSkipped) && its:
			c.skipped++
			c.reasons[skipReason(spec)]++
		case spec.State.Is(types.SpecStatePending) && its:
			c.skipped++
			c.reasons["pending"]++
		}
	}
	return c
}

func skipReason(spec types.SpecReport) string {
	if spec.Failure.Message == "" {
		return "not selected by focus, skip or label"
	}
	first, _, _ := strings.Cut(spec.Failure.Message, "\n")
	return first
}

// text is a line for each reason of a skip, and the line of numbers.
func (c counts) text(name string) string {
	var b strings.Builder
	for _, reason := range slices.Sorted(maps.Keys(c.reasons)) {
		fmt.Fprintf(&b, "%s: skipped %d: %s\n", name, c.reasons[reason], reason)
	}
	fmt.Fprintf(&b, "%s: %d passed, %d failed, %d skipped\n", name, c.passed, c.failed, c.skipped)
	return b.String()
}
