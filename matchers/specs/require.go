package specs

import (
	"fmt"
	"os"

	"github.com/onsi/ginkgo/v2"

	"github.com/boombox-go/boombox/contain"
)

// EnvRequire is the environment variable that lists guarantees, such as "kill-tree,cap-memory", whose absence is to fail
// a spec instead of skipping it. Set it where the host is known: a suite that skips everything passes.
const EnvRequire = "BOOMBOX_REQUIRE"

// Require skips this spec, with a reason that reports show, unless one mechanism of this host gives all of want. Where
// [EnvRequire] lists a guarantee that is missing, it fails the spec.
func Require(want contain.Guarantee) {
	ginkgo.GinkgoHelper()
	must, err := contain.ParseGuarantees(os.Getenv(EnvRequire))
	if err != nil {
		ginkgo.Fail(EnvRequire + ": " + err.Error())
	}
	missing := lacking(contain.Host(), want)
	switch {
	case missing == 0:
	case missing&must != 0:
		ginkgo.Fail(fmt.Sprintf("this host cannot guarantee %s, and %s asks for %s", missing, EnvRequire, missing&must))
	default:
		ginkgo.Skip("this host cannot guarantee " + missing.String())
	}
}

// lacking is what the host's best mechanism lacks of want, 0 when one has it all.
func lacking(host contain.HostReport, want contain.Guarantee) contain.Guarantee {
	missing := want
	for _, rung := range host.Rungs {
		if !rung.Available {
			continue
		}
		if lacks := want &^ rung.Guarantees; len(lacks.Names()) < len(missing.Names()) {
			missing = lacks
		}
	}
	return missing
}
