// Package require skips the specs that a host has no mechanism for, or fails them where the host is known to have one. It
// is behind matchers/specs, for everybody's suites, and internal/suite, for those of the packages below.
package require

import (
	"fmt"
	"os"

	"github.com/onsi/ginkgo/v2"

	"github.com/boombox-go/boombox/contain"
)

// Env is the environment variable that lists guarantees whose absence is to fail a spec instead of skipping it.
const Env = "BOOMBOX_REQUIRE"

// Guarantees skips the current spec, with a reason that reports show, unless one mechanism of this host gives all of want.
// Where [Env] lists a guarantee that is missing, it fails the spec; so it does where Env cannot be read.
func Guarantees(want contain.Guarantee) {
	ginkgo.GinkgoHelper()
	must, err := contain.ParseGuarantees(os.Getenv(Env))
	if err != nil {
		ginkgo.Fail(Env + ": " + err.Error())
	}
	missing := Lacking(contain.Host(), want)
	switch {
	case missing == 0:
	case missing&must != 0:
		ginkgo.Fail(fmt.Sprintf("this host cannot guarantee %s, and %s asks for %s", missing, Env, missing&must))
	default:
		ginkgo.Skip("this host cannot guarantee " + missing.String())
	}
}

// Lacking is what the mechanism that lacks least of want lacks of it; 0 when one has it all.
func Lacking(host contain.HostReport, want contain.Guarantee) contain.Guarantee {
	missing := want
	for _, rung := range host.Rungs {
		if !rung.Offered() {
			continue
		}
		if lacks := want &^ rung.Guarantees; lacks == 0 {
			return 0
		} else if len(lacks.Names()) < len(missing.Names()) {
			missing = lacks
		}
	}
	return missing
}
