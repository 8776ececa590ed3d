package suite

import (
	"github.com/onsi/ginkgo/v2"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/require"
)

// Require skips the spec, with a reason that is counted, when no mechanism of this host gives every guarantee of g; it
// fails the spec instead when BOOMBOX_REQUIRE lists a guarantee that is missing. It is specs.Require of matchers, for
// suites of packages that matchers is built on.
func Require(g contain.Guarantee) {
	ginkgo.GinkgoHelper()
	require.Guarantees(g)
}
