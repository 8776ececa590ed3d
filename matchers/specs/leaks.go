package specs

import (
	"crypto/rand"
	"errors"
	"os"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/boombox-go/boombox/matchers"
)

// EnvNonce is the environment variable by which [NoLeaks] knows the processes of a spec. It has a new value in each spec.
const EnvNonce = "BOOMBOX_SPEC_NONCE"

// leakPatience is how long what a spec started may take to end after it.
const leakPatience = 3 * time.Second

// NoLeaks fails this spec if a process that it started outlives it, clean-ups included, by more than 3 s. Call it first
// in a BeforeEach: its check is then the last clean-up. What has leaked is named, and killed.
//
// A process is known by an environment variable that it inherited ([EnvNonce]), wherever it went since and whatever
// mechanism held it: this is a witness of its own, which asks no group. Nothing of other specs, other processes of
// ginkgo -p, or servers of the suite is taken for a leak. A child whose environment was cleared is not seen; its group
// is what speaks for it. Nor is anything seen on a system without /proc, where a report entry says so.
// [Mark] is the mark by which it knows them.
func NoLeaks() {
	ginkgo.GinkgoHelper()
	before, set := os.LookupEnv(EnvNonce)
	if err := os.Setenv(EnvNonce, rand.Text()); err != nil {
		ginkgo.Fail(err.Error())
	}
	mark := Mark()
	ginkgo.DeferCleanup(func() {
		if !set {
			_ = os.Unsetenv(EnvNonce)
		} else {
			_ = os.Setenv(EnvNonce, before)
		}
		if _, err := mark.Processes(); errors.Is(err, errors.ErrUnsupported) {
			ginkgo.AddReportEntry("NoLeaks: not checked", "this system has no /proc to find processes in")
			return
		}
		defer func() {
			left, _ := mark.Processes()
			_ = mark.Kill(left...)
		}()
		gomega.Eventually(mark.Processes).WithTimeout(leakPatience).ShouldNot(matchers.HaveLeakedProcesses(), "this spec left processes behind, which are killed now")
	})
}

// Mark is the mark of all that this spec starts, for matchers.HaveEscapees. It fails the spec where [NoLeaks] was not
// called before.
func Mark() matchers.Mark {
	ginkgo.GinkgoHelper()
	nonce := os.Getenv(EnvNonce)
	if nonce == "" {
		ginkgo.Fail("specs.Mark: nothing is marked: call specs.NoLeaks in a BeforeEach")
	}
	return matchers.Mark(EnvNonce + "=" + nonce)
}
