package suite_test

import (
	"os"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/internal/suite"
)

func TestMain(m *testing.M) { suite.Main(m) }

func TestSuite(t *testing.T) { suite.Run(t, "suite") }

// A suite judges itself from outside: each case is the one spec of a run of this test binary in a process of its own,
// chosen by this variable.
const caseVariable = "BOOMBOX_SUITE_CASE"

var _ = func() bool {
	if name := os.Getenv(caseVariable); name != "" {
		It(name, func() { cases[name]() })
	} else {
		Describe("suite", judge)
	}
	return true
}()

var _ = Describe("Alive", func() {
	It("is true of us and false of a process that is not there", func() {
		Expect(suite.Alive(os.Getpid())).To(BeTrue())
		Expect(suite.Alive(1 << 30)).To(BeFalse())
	})
})
