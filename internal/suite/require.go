package suite

import (
	"fmt"
	"os"

	"github.com/onsi/ginkgo/v2"

	"github.com/boombox-go/boombox/contain"
)

// Require skips the spec, with a reason that is counted, when no mechanism of this host gives every guarantee of g; it
// fails the spec instead when BOOMBOX_REQUIRE lists a guarantee that is missing.
func Require(g contain.Guarantee) {
	ginkgo.GinkgoHelper()
	must, err := contain.ParseGuarantees(os.Getenv("BOOMBOX_REQUIRE"))
	if err != nil {
		ginkgo.Fail("BOOMBOX_REQUIRE: " + err.Error())
	}
	missing := g
	for _, rung := range contain.Host().Rungs {
		if !rung.Available {
			continue
		}
		if rung.Guarantees.Has(g) {
			return
		}
		if lacks := g &^ rung.Guarantees; missing == g || len(lacks.Names()) < len(missing.Names()) {
			missing = lacks
		}
	}
	if missing&must != 0 {
		ginkgo.Fail(fmt.Sprintf("this host cannot guarantee %s, and BOOMBOX_REQUIRE asks for %s", missing, missing&must))
	}
	ginkgo.Skip("this host cannot guarantee " + missing.String())
}
