package suite_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/internal/suite"
)

func TestMain(m *testing.M) { suite.Main(m) }

func TestSuite(t *testing.T) { suite.Run(t, "suite") }

var _ = Describe("suite", func() {
	It("knows that we are alive", func() {
		Expect(suite.Alive(1)).To(BeTrue())
	})
	It("skips", func() { Skip("for show") })
})
