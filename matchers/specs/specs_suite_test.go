package specs_test

import (
	"os"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"github.com/boombox-go/boombox/internal/suite"
)

func TestMain(m *testing.M) { suite.Main(m) }

func TestSpecs(t *testing.T) { suite.Run(t, "specs") }

// What the helpers do to a spec is judged from outside: each case is the one container of a run of this test binary in a
// process of its own, chosen by this variable. Several are joined by commas.
const caseVariable = "BOOMBOX_SPECS_CASE"

var _ = func() bool {
	if names := os.Getenv(caseVariable); names != "" {
		for name := range strings.SplitSeq(names, ",") {
			Describe("case", cases[name])
		}
	} else {
		Describe("helpers", judge)
		Describe("docs/testing.md", judgeDocs)
	}
	return true
}()
