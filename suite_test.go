// Package boombox_test is the integration suite: real children, real containers, and an independent look at what is
// left of them. Its labels are live, escape, forkbomb, limits and replay.
package boombox_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/internal/suite"
)

// becomeOwner makes this process what a spec started it as, if it is not to run the tests.
var becomeOwner = func() {}

func TestMain(m *testing.M) {
	becomeOwner()
	suite.Main(m)
}

func TestBoombox(t *testing.T) { suite.Run(t, "boombox") }

// A behaviour that nobody starts is a claim without a proof.
var _ = ReportAfterSuite("every fixture child is used", func(r Report) {
	c := r.SuiteConfig
	selected := len(c.FocusStrings)+len(c.SkipStrings)+len(c.FocusFiles)+len(c.SkipFiles) > 0 || c.LabelFilter != "" ||
		r.SuiteHasProgrammaticFocus
	if selected || !r.SuiteSucceeded {
		return
	}
	// Where the host lacks something, specs are skipped, and the children that they would start.
	var all contain.Guarantee
	for _, rung := range contain.Host().Rungs {
		if !rung.Available && !rung.OnRequest {
			return
		}
		all |= rung.Guarantees
	}
	if !all.Has(contain.CapMemory | contain.CapProcesses | contain.CapCPU) {
		return
	}
	Expect(slices.DeleteFunc(fixtures.Unused(), namedIn(suitesBelow()))).To(BeEmpty(), "children that no spec starts")
})

// suitesBelow is the text of the specs of all other packages.
func suitesBelow() (text string) {
	files, err := filepath.Glob("*/*_test.go")
	Expect(err).NotTo(HaveOccurred())
	Expect(files).NotTo(BeEmpty())
	for _, file := range files {
		data, err := os.ReadFile(file)
		Expect(err).NotTo(HaveOccurred())
		text += string(data)
	}
	return text
}

func namedIn(text string) func(string) bool {
	return func(child string) bool { return strings.Contains(text, strconv.Quote(child)) }
}
