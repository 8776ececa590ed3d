package specs

import (
	"github.com/onsi/ginkgo/v2"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/require"
)

// EnvRequire is the environment variable that lists guarantees, such as "kill-tree,cap-memory", whose absence is to fail
// a spec instead of skipping it. Set it where the host is known: a suite that skips everything passes.
const EnvRequire = require.Env

// Require skips this spec, with a reason that reports show, unless one mechanism of this host gives all of want. Where
// [EnvRequire] lists a guarantee that is missing, it fails the spec.
func Require(want contain.Guarantee) {
	ginkgo.GinkgoHelper()
	require.Guarantees(want)
}
