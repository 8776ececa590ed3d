package specs

import (
	"fmt"

	"github.com/onsi/ginkgo/v2"

	"github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// AttachTranscript adds the matchers.Transcript of a run to the report of this spec; it is printed if the spec fails, or
// with -v. It is a text without arguments, environment values, directories and, unless asked for, output. Mind that Ginkgo
// writes every entry, printed or not, into its JSON and JUnit reports: what WithOutput adds is kept there.
func AttachTranscript(r *runner.Result, opts ...matchers.TranscriptOption) {
	ginkgo.GinkgoHelper()
	name := "run"
	if r != nil {
		name = fmt.Sprintf("run of %q", r.Program())
	}
	ginkgo.AddReportEntry(name, matchers.Transcript(r, opts...), ginkgo.ReportEntryVisibilityFailureOrVerbose)
}
